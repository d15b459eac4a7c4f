//! Tests of the module above, in tables.

use super::*;
use crate::bench::taxonomy::{ApiTemplate, Slot};
use crate::llm::Finish;
use serde_json::json;

fn own(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// Scores as numbers, `None` where missing or invalid.
fn scores(text: &str, finish: Finish, ids: &[&str]) -> (Vec<Option<f64>>, bool) {
    let read = salience(text, &finish, &own(ids)).expect(text);
    let number = |item: &SalienceItem| match item.score {
        ReadScore::Score(score) => Some(score),
        _ => None,
    };
    (read.value.iter().map(number).collect(), read.truncated)
}

fn check_scores(text: &str, expected: &[Option<f64>]) {
    let (found, truncated) = scores(text, Finish::Stop, &["p1", "p2", "p3"]);
    assert_eq!((found.as_slice(), truncated), (expected, false), "{text}");
}

#[test]
fn scores_are_matched_by_id_or_not_at_all() {
    let whole = [Some(8.0), Some(3.0), Some(7.0)];
    check_scores(
        r#"{"scores":[{"id":"p1","score":8},{"id":"p2","score":3},{"id":"p3","score":7}]}"#,
        &whole,
    );
    check_scores(
        r#"{"scores":[{"id":"p3","score":7},{"id":"p1","score":"8/10"},{"id":"p2","score":3}]}"#,
        &whole,
    );
    check_scores(r#"{"p1":8,"p2":{"score":3},"p3":7}"#, &whole);
    check_scores(r#"[8,3,7]"#, &whole);
    check_scores("p1: 8\np2: 3\np3: 7", &whole);
    check_scores(
        "{\"id\":1,\"score\":8}\n{\"id\":2,\"score\":3}\n{\"id\":3,\"score\":7}",
        &whole,
    );
    check_scores(
        r#"[{"id":0,"score":8},{"id":1,"score":3},{"id":2,"score":7}]"#,
        &whole,
    );
    check_scores(r#"{"scores":[8,3]}"#, &[None, None, None]);
    check_scores(r#"{"scores":[8,3,7,1]}"#, &[None, None, None]);
    check_scores(r#"{"scores":[8,,7]}"#, &[Some(8.0), None, Some(7.0)]);
    check_scores(
        r#"{"scores":[{"id":"p1","score":8},{"id":"p9","score":3}]}"#,
        &[Some(8.0), None, None],
    );
    check_scores(
        r#"[{"id":"p1","score":8},{"id":"p1","score":2}]"#,
        &[None, None, None],
    );
}

#[test]
fn cut_scores_are_partial() {
    let ids = ["1", "2", "3", "4", "5"];
    let (found, truncated) = scores(r#"{"scores":[8,3,7,"#, Finish::Length, &ids);
    assert_eq!(found, [Some(8.0), Some(3.0), Some(7.0), None, None]);
    assert!(truncated);
}

#[test]
fn signals_are_named_alike() {
    let text = r#"[{"id":"p1","score":8,"signals":["Explicit Revision","complaint"]}]"#;
    let read = salience(text, &Finish::Stop, &own(&["p1"])).expect(text);
    assert_eq!(read.value[0].signals, ["explicit_revision", "complaint"]);
}

fn check_queries(text: &str, expected: &[&str]) {
    let read = queries(text, &Finish::Stop, 5).expect(text);
    assert_eq!(read.value, expected, "{text}");
}

#[test]
fn queries_come_in_many_forms() {
    check_queries(r#"{"queries":["a b","c"]}"#, &["a b", "c"]);
    check_queries(r#"["a b","c","A b"]"#, &["a b", "c"]);
    check_queries(
        r#"{"queries":[{"facet":"style","query":"a"},{"q":"c"}]}"#,
        &["a", "c"],
    );
    check_queries("Here are the queries:\n1. \"a b\"\n2. c", &["a b", "c"]);
    check_queries("- a b\n- c", &["a b", "c"]);
    check_queries("a b\nc", &["a b", "c"]);
    check_queries(r#"See [1]. {"queries":["a"]}"#, &["a"]);
    check_queries(r#"["a","b","c","d","e","f"]"#, &["a", "b", "c", "d", "e"]);
}

#[test]
fn talk_is_no_list_of_queries() {
    let long = "tone ".repeat(50);
    let talk = [
        "Sure! I had a look, and I believe this user would be happy with that.",
        "The user writes short notes.",
        "好的，这是您要的结果：用户喜欢编号。",
        "I would look for his tone. Then for his habits\nGood luck",
        long.as_str(),
    ];
    for text in talk {
        let error = queries(text, &Finish::Stop, 5).expect_err(text);
        assert!(matches!(error, ReadError::Unreadable { .. }), "{text}");
    }
    check_queries(
        "What tone does she like?\nmeals at 7 p.m. on weekdays",
        &["What tone does she like?", "meals at 7 p.m. on weekdays"],
    );
    check_queries(
        "口味 偏好\n用户喜欢编号。",
        &["口味 偏好", "用户喜欢编号。"],
    );
}

#[test]
fn facets_are_kept_where_given() {
    let facets = ["style", "structure", "decision", "correction", "habit"];
    let text = r#"{"q_style":"a","habit":["b","c"],"note":"x"}"#;
    let read = facet_queries(text, &Finish::Stop, &facets, 5).expect(text);
    let found: Vec<(Option<&str>, &str)> = read
        .value
        .iter()
        .map(|q| (q.facet.as_deref(), q.text.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (Some("style"), "a"),
            (Some("habit"), "b"),
            (Some("habit"), "c")
        ]
    );
}

#[test]
fn the_last_line_of_a_cut_list_is_dropped() {
    let read = queries("- a b\n- c\n- half of", &Finish::Length, 5).expect("a list");
    assert_eq!(read.value, ["a b", "c"]);
    assert!(read.truncated);
}

#[test]
fn nothing_readable_is_an_error_that_says_which() {
    let refusal = "I'm sorry, but I can't help with evaluating this content.";
    let ids = own(&["r1", "r2"]);
    let cases = [
        (refusal, Finish::Stop, "declined"),
        ("", Finish::Stop, "nothing"),
        ("<think>hm", Finish::Stop, "reasoned"),
        ("<think>hm", Finish::Length, "cut off"),
        ("{\"verd", Finish::Length, "cut off"),
        ("The weather is fine.", Finish::Stop, "weather"),
    ];
    for (text, finish, word) in cases {
        let error = verdicts(text, &finish, &ids).expect_err(text).to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
    assert!(matches!(
        queries(refusal, &Finish::Stop, 5),
        Err(ReadError::Refused { .. })
    ));
}

fn verdict_states(text: &str, ids: &[&str]) -> Vec<ReadVerdict> {
    let read = verdicts(text, &Finish::Stop, &own(ids)).expect(text);
    read.value.into_iter().map(|item| item.verdict).collect()
}

#[test]
fn verdicts_are_matched_by_id() {
    use ReadVerdict::{Met, Missing, NotMet};
    let text = r#"{"verdicts":[{"id":"r2","verdict":0,"rationale":"no","quote":"x"},{"id":"r1","verdict":"yes"}]}"#;
    assert_eq!(verdict_states(text, &["r1", "r2"]), [Met, NotMet]);
    assert_eq!(
        verdict_states(r#"{"r1":true,"r2":{"met":false}}"#, &["r1", "r2"]),
        [Met, NotMet]
    );
    assert_eq!(
        verdict_states("r1: Yes, it does\n- **r2**: not met", &["r1", "r2"]),
        [Met, NotMet]
    );
    assert_eq!(
        verdict_states("| r1 | 1 |\n| r2 | 0 |", &["r1", "r2"]),
        [Met, NotMet]
    );
    assert_eq!(
        verdict_states(r#"[{"id":"r1","verdict":1}]"#, &["r1", "r2"]),
        [Met, Missing]
    );
    let invalid = verdict_states(r#"[{"id":"r1","verdict":"partly"}]"#, &["r1"]);
    assert!(matches!(invalid[0], ReadVerdict::Invalid(_)));
}

#[test]
fn words_are_verdicts_only_when_nothing_speaks_against_them() {
    let cases = [
        ("Yes, the mail names the price.", Some(true)),
        ("No - it does not.", Some(false)),
        ("The mail names the price.\n\n**Yes**", Some(true)),
        ("**Verdict:** Yes", Some(true)),
        ("Verdict: not met\nReason: none", Some(false)),
        ("Final answer: 1", Some(true)),
        ("是", Some(true)),
        ("不符合。", Some(false)),
        ("TRUE", Some(true)),
        ("Met: no", Some(false)),
        ("Requirement met: **yes**", Some(true)),
        ("The answer is yes.", Some(true)),
        ("结论是：正确", Some(true)),
        ("not-met", Some(false)),
        ("✅", Some(true)),
        ("Correct: the price is named", Some(true)),
        ("部分正确", None),
        ("1.0", Some(true)),
        ("１", Some(true)),
        ("Yes, but it is incorrect.", None),
        ("Yes\nNo", None),
        ("Verdict: yes\nVerdict: no", None),
        ("1. The mail names the price", None),
        ("1/2", None),
        ("2", None),
        ("maybe", None),
        ("There is no mention.", None),
        ("N/A", None),
        ("null", None),
    ];
    for (text, expected) in cases {
        assert_eq!(verdict(&json!(text)), expected, "{text}");
    }
}

#[test]
fn rationale_and_quote_are_kept() {
    let text = r#"{"verdict":1,"reason":"names it","quote":"N/A"}"#;
    let read = verdicts(text, &Finish::Stop, &own(&["r1"])).expect(text);
    assert_eq!(read.value[0].rationale, "names it");
    assert_eq!(read.value[0].quote, None);
}

#[test]
fn preferences_name_passages_that_were_offered() {
    let text = r#"{"preferences":[{"text":"short mails","kind":"Correction","passages":["p1","p9"]},"plain"]}"#;
    let read = preferences(text, &Finish::Stop, &own(&["p1", "p2"])).expect(text);
    let first = PreferenceItem {
        text: "short mails".to_owned(),
        kind: Some("corrected".to_owned()),
        passages: own(&["p1"]),
    };
    assert_eq!(read.value[0], first);
    assert_eq!(read.value[1].text, "plain");
    assert_eq!(read.problems.len(), 1);
    let none = preferences(r#"{"preferences":[]}"#, &Finish::Stop, &[]).expect("an answer");
    assert!(none.value.is_empty());
    let by_kind = preferences(r#"{"asked":["a"],"rejected":["b"]}"#, &Finish::Stop, &[]);
    let kinds: Vec<Option<String>> = by_kind
        .expect("by kind")
        .value
        .into_iter()
        .map(|p| p.kind)
        .collect();
    assert_eq!(
        kinds,
        [Some("asked".to_owned()), Some("rejected".to_owned())]
    );
}

#[test]
fn plans_come_as_lists_or_by_aspect() {
    let listed = r#"{"plan":[{"aspect":"style","text":"brief"},{"aspect":"constraints","text":"cheap","slot":"price"}]}"#;
    let by_aspect = r#"{"style":["brief"],"constraints":[{"text":"cheap","slot":"price"}]}"#;
    for text in [listed, by_aspect] {
        let read = plan(text, &Finish::Stop).expect(text);
        let found: Vec<(&str, &str, Option<&str>)> = read
            .value
            .iter()
            .map(|entry| {
                (
                    entry.aspect.as_str(),
                    entry.text.as_str(),
                    entry.slot.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("style", "brief", None),
                ("constraint", "cheap", Some("price"))
            ]
        );
    }
}

#[test]
fn compacted_passages_may_be_missing() {
    let text = r#"{"items":[{"id":"p2","text":"b"}]}"#;
    let read = compact(text, &Finish::Stop, &own(&["p1", "p2"])).expect(text);
    assert_eq!(read.value[0].text, None);
    assert_eq!(read.value[1].text.as_deref(), Some("b"));
}

fn template() -> ApiTemplate {
    let slot = |name: &str, kind: &str, options: Option<Vec<Value>>, required: bool| Slot {
        name: name.to_owned(),
        kind: kind.to_owned(),
        options,
        required,
        description: String::new(),
    };
    ApiTemplate {
        name: "book".to_owned(),
        method: "POST".to_owned(),
        endpoint: "/book".to_owned(),
        description: String::new(),
        slots: vec![
            slot(
                "seat",
                "string",
                Some(vec![json!("aisle"), json!("window")]),
                true,
            ),
            slot("bags", "integer", None, true),
            slot("quiet", "boolean", None, false),
        ],
    }
}

#[test]
fn slots_are_read_from_any_frame() {
    let cases = [
        r#"{"slots":{"seat":"aisle","bags":2,"quiet":true},"description":"Books it."}"#,
        r#"{"seat":"Aisle","bags":"2","quiet":"true"}"#,
        r#"{"name":"book","arguments":"{\"seat\":\"aisle\",\"bags\":2,\"quiet\":true}"}"#,
        r#"[{"name":"seat","value":"aisle"},{"name":"bags","value":2},{"name":"quiet","value":true}]"#,
        r#"{"slots":{"seat":{"value":"aisle","why":"x"},"bags":2,"quiet":true}}"#,
    ];
    for text in cases {
        let read = slots(text, &Finish::Stop, &template()).expect(text);
        let expected = json!({"seat": "aisle", "bags": 2, "quiet": true});
        assert_eq!(Value::Object(read.value.slots), expected, "{text}");
        assert!(read.problems.is_empty(), "{text}: {:?}", read.problems);
    }
    let read = slots(cases[0], &Finish::Stop, &template()).expect("slots");
    assert_eq!(read.value.description.as_deref(), Some("Books it."));
}

#[test]
fn missing_and_foreign_slots_are_said() {
    let text = r#"{"slots":{"seat":"roof","colour":"red"}}"#;
    let read = slots(text, &Finish::Stop, &template()).expect(text);
    assert_eq!(Value::Object(read.value.slots), json!({"seat": "roof"}));
    let said = read.problems.join("; ");
    for word in ["colour", "bags", "roof"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("quiet"));
}

#[test]
fn wrappings_come_off_and_broken_json_is_no_list_of_lines() {
    let table: [(&str, Option<&[&str]>); 8] = [
        (r#"{"result":{"queries":["a","b"]}}"#, Some(&["a", "b"])),
        (r#"[{"queries":["a"]}]"#, Some(&["a"])),
        (
            r#"<tool_call>{"name":"expand","arguments":"{\"queries\":[\"a\"]}"}</tool_call>"#,
            Some(&["a"]),
        ),
        (r#"{\"queries\": [\"a\"]}"#, Some(&["a"])),
        (
            r#"Example: {"queries":["..."]} Mine: {"queries":["a"]}"#,
            Some(&["a"]),
        ),
        (r#"{"queries":["你好","😀"]}"#, Some(&["你好", "😀"])),
        (r#"{"queries": ["a" "b"]}"#, None),
        ("{'queries': ['it''s', 'b']}", None),
    ];
    for (text, expected) in table {
        let read = queries(text, &Finish::Stop, 5);
        let found = read.as_ref().ok().map(|read| read.value.as_slice());
        let expected: Option<Vec<String>> = expected.map(own);
        assert_eq!(found, expected.as_deref(), "{text}");
    }
}

#[test]
fn plain_lists_count_only_when_there_is_one_for_each_id() {
    let five = own(&["1", "2", "3", "4", "5"]);
    for text in [
        "8, 3, 7, 1, 2",
        "8\n3\n7\n1\n2",
        "1. 8\n2. 3\n3. 7\n4. 1\n5. 2",
    ] {
        let read = salience(text, &Finish::Stop, &five).expect(text);
        let scores: Vec<ReadScore> = read.value.into_iter().map(|item| item.score).collect();
        assert_eq!(
            scores,
            [8.0, 3.0, 7.0, 1.0, 2.0].map(ReadScore::Score),
            "{text}"
        );
    }
    for text in ["8, 3, 7, 1", "8 3 7 1 2 9", "about 8, 3, 7 or so"] {
        assert!(salience(text, &Finish::Stop, &five).is_err(), "{text}");
    }
    let three = &five[..3];
    for text in [
        "1. Yes\n2. No\n3. Yes",
        "Yes\nNo\nYes",
        "1 - yes\n2 - no\n3 - yes",
    ] {
        let read = verdicts(text, &Finish::Stop, three).expect(text);
        let found: Vec<ReadVerdict> = read.value.into_iter().map(|item| item.verdict).collect();
        let expected = [ReadVerdict::Met, ReadVerdict::NotMet, ReadVerdict::Met];
        assert_eq!(found, expected, "{text}");
    }
    assert!(verdicts("Yes\nNo", &Finish::Stop, three).is_err());
}

#[test]
fn verdicts_and_scores_stand_in_sentences_too() {
    let table = [
        ("The requirement is not met.", Some(false)),
        ("It is correct.", Some(true)),
        ("It does not meet the requirement", Some(false)),
        ("我认为不正确", Some(false)),
        ("符合要求。", Some(true)),
        ("并不正确", Some(false)),
        ("Is it met?", None),
        ("正确与否无法判断", None),
        ("not incorrect", None),
        ("partially met", None),
        ("I think it depends", None),
    ];
    for (text, expected) in table {
        assert_eq!(verdict(&json!(text)), expected, "{text}");
    }
    let table = [
        ("八分", Some(8.0)),
        ("七点五", Some(7.5)),
        ("8/10 - relevant", Some(8.0)),
        ("8 (high)", Some(8.0)),
        ("8 (out of 5)", None),
        ("7,5", None),
        ("7-8", None),
    ];
    for (text, expected) in table {
        let found = match score(&json!(text)) {
            ReadScore::Score(found) => Some(found),
            _ => None,
        };
        assert_eq!(found, expected, "{text}");
    }
}
