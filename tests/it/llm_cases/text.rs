//! Cases that are texts of models.

use super::text_of;
use iba_lab::llm::Finish;
use iba_lab::llm::json::find;
use iba_lab::llm::read::{
    ReadError, ReadScore, ReadVerdict, queries, salience, score, verdict, verdicts,
};
use serde_json::{Value, json};

fn ids(count: usize) -> Vec<String> {
    (1..=count).map(|n| n.to_string()).collect()
}

fn first_object(text: &str) -> Option<Value> {
    find(text)
        .first(Value::is_object)
        .map(|found| found.value.clone())
}

pub fn b26(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let text = text_of(case, "text");
        let found = first_object(&text);
        match case["want"].as_str().expect("want") {
            "no JSON (incomplete)" => {
                assert_eq!(found, None, "{text}");
                assert!(find(&text).only_reasoning, "{text}");
            }
            "score 4, note unchanged" => {
                let expected = json!({"note": "the tag <think> is text", "score": 4});
                assert_eq!(found, Some(expected), "{text}");
            }
            want => {
                let expected: Value = serde_json::from_str(want).expect("JSON");
                assert_eq!(found, Some(expected), "{text}");
            }
        }
    }
}

pub fn b27(input: &Value) {
    let text = text_of(input, "text");
    let read = queries(&text, &Finish::Stop, 5).expect("queries");
    assert_eq!(read.value, ["how to use ```bash``` blocks", "a } b"]);
    assert!(!read.truncated);
}

pub fn b28(input: &Value) {
    let text = text_of(input, "text");
    let read = queries(&text, &Finish::Stop, 5).expect("queries");
    assert_eq!(read.value, ["他几岁搬家", "where, when?"]);
    let valid = "{\"a\":\"他说：“好，”\"}";
    assert_eq!(first_object(valid), Some(json!({"a": "他说：“好，”"})));
}

pub fn b30(input: &Value) {
    let text = text_of(input, "text");
    let expected = input["expected_items"]
        .as_u64()
        .and_then(|n| usize::try_from(n).ok());
    let read = salience(&text, &Finish::Length, &ids(expected.expect("a count"))).expect("scores");
    assert!(read.truncated);
    let scores: Vec<&ReadScore> = read.value.iter().map(|item| &item.score).collect();
    let score = ReadScore::Score;
    let missing = ReadScore::Missing;
    assert_eq!(
        scores,
        [&score(8.0), &score(3.0), &score(7.0), &missing, &missing]
    );
    assert!(
        read.problems
            .iter()
            .any(|problem| problem.contains("2 of 5")),
        "{:?}",
        read.problems
    );
}

pub fn b33(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let (written, wanted) = (&case[0], &case[1]);
        match (score(written), wanted.as_f64()) {
            (ReadScore::Score(found), Some(wanted)) => assert_eq!(found, wanted, "{case}"),
            (ReadScore::Invalid(_), None) => {}
            (found, _) => panic!("{case}: {found:?}"),
        }
        // The same within an answer.
        let text = json!({"scores": [{"id": "1", "score": written}, {"id": "2", "score": 3}]});
        let read = salience(&text.to_string(), &Finish::Stop, &ids(2)).expect("scores");
        assert_eq!(read.value[0].score, score(written), "{case}");
        assert_eq!(read.value[1].score, ReadScore::Score(3.0));
        let reported = read
            .problems
            .iter()
            .any(|problem| problem.contains("none of 0 to 10"));
        assert_eq!(reported, wanted == "invalid", "{case}");
    }
    for (written, wanted) in [
        (json!("8 / 10"), Some(8.0)),
        (json!("８／１０"), Some(8.0)),
        (json!("**7**"), Some(7.0)),
        (json!("Score: 6"), Some(6.0)),
        (json!("得分：6"), Some(6.0)),
        (json!("9分/10分"), Some(9.0)),
        (json!("3 out of 10"), Some(3.0)),
        (json!("80%"), None),
        (json!("8/5"), None),
        (json!("10.5"), None),
        (json!("7-8"), None),
        (json!("inf"), None),
        (json!("NaN"), None),
        (json!("0x8"), None),
        (json!([8]), None),
        (json!({}), None),
        (json!(false), None),
    ] {
        let found = match score(&written) {
            ReadScore::Score(found) => Some(found),
            _ => None,
        };
        assert_eq!(found, wanted, "{written}");
    }
}

pub fn b34(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let text = case[0].as_str().expect("a text");
        let read = verdicts(text, &Finish::Stop, &ids(1));
        let found = read.ok().map(|mut read| read.value.remove(0).verdict);
        let wanted = match case[1].as_u64() {
            Some(1) => Some(ReadVerdict::Met),
            Some(0) => Some(ReadVerdict::NotMet),
            _ => None,
        };
        let found = found.filter(|found| !matches!(found, ReadVerdict::Invalid(_)));
        assert_eq!(found, wanted, "{case}");
    }
    assert_eq!(verdict(&json!("partially met")), None);
}

pub fn b35(input: &Value) {
    let text = text_of(input, "text");
    let error = verdicts(&text, &Finish::Stop, &ids(3)).expect_err("a refusal");
    assert!(
        matches!(&error, ReadError::Refused { excerpt } if *excerpt == text),
        "{error}"
    );
    for text in [
        "I cannot assist with that request.",
        "As an AI language model, I can't judge this.",
        "抱歉，我无法评估该内容。",
        "I’m sorry, but no.",
    ] {
        let error = verdicts(text, &Finish::Stop, &ids(2)).expect_err(text);
        assert!(
            matches!(error, ReadError::Refused { .. }),
            "{text}: {error}"
        );
        let single = verdicts(text, &Finish::Stop, &ids(1)).expect_err(text);
        assert!(
            matches!(single, ReadError::Refused { .. }),
            "{text}: {single}"
        );
    }
    // One requirement left out is missing, not failed.
    let partial = r#"{"verdicts":[{"id":"1","verdict":1}]}"#;
    let read = verdicts(partial, &Finish::Stop, &ids(2)).expect("verdicts");
    assert_eq!(read.value[1].verdict, ReadVerdict::Missing);
}

pub fn x19(input: &Value) {
    let text = text_of(input, "text");
    let expected = json!({"city": "Xi'an", "open": true, "note": "line1\nline2", "x": null});
    assert_eq!(first_object(&text), Some(expected));
    let valid = r#"{"a":"it's // ok,}"}"#;
    assert_eq!(first_object(valid), Some(json!({"a": "it's // ok,}"})));
}
