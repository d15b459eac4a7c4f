//! Tests of the module above, in tables.

use super::*;
use serde_json::json;

/// The first container, and whether it was cut.
fn first(text: &str) -> Option<(Value, bool)> {
    let found = find(text);
    let candidate = found.first(|value| value.is_object() || value.is_array())?;
    Some((candidate.value.clone(), candidate.truncated))
}

fn check(text: &str, expected: Value) {
    assert_eq!(first(text), Some((expected, false)), "{text}");
}

fn check_cut(text: &str, expected: Value) {
    assert_eq!(first(text), Some((expected, true)), "{text}");
}

fn check_none(text: &str) {
    assert_eq!(first(text), None, "{text}");
}

#[test]
fn valid_json_is_never_altered() {
    check(r#"{"a":"it's // ok,}"}"#, json!({"a": "it's // ok,}"}));
    check(
        r#"Yes: {"a":"x } y","b":[1,2]},"#,
        json!({"a": "x } y", "b": [1, 2]}),
    );
    check(r#"{"a":"他说：“好，”"}"#, json!({"a": "他说：“好，”"}));
    check(
        r#"{"note":"<think>","s":4}"#,
        json!({"note": "<think>", "s": 4}),
    );
    check(r#""{\"s\": 9}""#, json!({"s": 9}));
}

#[test]
fn reasoning_is_left_out() {
    check(
        r#"<think>maybe {"s": 2}? no</think> {"s": 9}"#,
        json!({"s": 9}),
    );
    check(r#"so {"s": 2}</think>{"s": 9}"#, json!({"s": 9}));
    check(r#"<thought>x {1}</thought>{"s":5}"#, json!({"s": 5}));
    check(r#"Sure. <think>{"s": 2}</think> {"s": 9}"#, json!({"s": 9}));
    check(
        r#"Here: {'note': 'the tag <think> is text', 's': 4}"#,
        json!({"note": "the tag <think> is text", "s": 4}),
    );
    check(r#"I used no <think> tag. {"s": 9}"#, json!({"s": 9}));
    check(
        r#"<|channel|>analysis<|message|>{"s": 2}<|channel|>final<|message|>{"s": 9}"#,
        json!({"s": 9}),
    );
    check_none(r#"<think>still thinking {"s": 2}"#);
    check_none("Well.\n<think>still {\"s\": 2}");
    assert!(find(r#"<think>still {"s": 2}"#).only_reasoning);
}

#[test]
fn form_is_forgiven() {
    check(
        "{'a': 'Xi\\'an', 'b': True, 'c': None, // end\n}",
        json!({"a": "Xi'an", "b": true, "c": null}),
    );
    check(
        "{a: 1, b_2: [.5, +1, 5.,],}",
        json!({"a": 1, "b_2": [0.5, 1, 5]}),
    );
    check("{1: 8, 2: 3}", json!({"1": 8, "2": 3}));
    check(
        "{'a': \"\"\"x \"y\" z\"\"\", 'b': 1}",
        json!({"a": "x \"y\" z", "b": 1}),
    );
    check("{\"a\": \"line1\nline2\"}", json!({"a": "line1\nline2"}));
    check(
        "{\"a\": 1 /* x */, # y\n \"b\": 2}",
        json!({"a": 1, "b": 2}),
    );
    check("{\"a\": 1\n \"b\": 2}", json!({"a": 1, "b": 2}));
    check("[\"a\"\n\"b\"]", json!(["a", "b"]));
    check(r#"{"s": [8, 3, 7}"#, json!({"s": [8, 3, 7]}));
    check(r#"[{"a": 1}, {"a": 2]"#, json!([{"a": 1}, {"a": 2}]));
    check(r#"{"p": "\d+ \(x\)"}"#, json!({"p": r"\d+ \(x\)"}));
    check(r#"{"s": 8/10, v: yes}"#, json!({"s": "8/10", "v": "yes"}));
    check(r#"{'e': '\ud83d\ude00 \u4f60'}"#, json!({"e": "😀 你"}));
}

#[test]
fn full_width_marks_are_structure_only_outside_strings() {
    check(
        "｛“queries”：［“他几岁搬家”，“where, when?”］｝",
        json!({"queries": ["他几岁搬家", "where, when?"]}),
    );
    check("｛“a”：“他说：“好，””｝", json!({"a": "他说：“好，”"}));
    check(r#"{"a"："x，y"，"b"：1}"#, json!({"a": "x，y", "b": 1}));
    check("【“a”，“b”】", json!(["a", "b"]));
    check("{‘a’: ‘b’}", json!({"a": "b"}));
    check(r#"{“a": “b"，"c”："d”}"#, json!({"a": "b", "c": "d"}));
    check(
        r#"{"a":"他说“好”，然后走",}"#,
        json!({"a": "他说“好”，然后走"}),
    );
    check(
        "｛“a”：“他说：“好”，然后走”｝",
        json!({"a": "他说：“好”，然后走"}),
    );
    check(
        r#"｛“a”：“他说"好"，然后走”｝"#,
        json!({"a": "他说\"好\"，然后走"}),
    );
    check(r#"["a"、"b",]"#, json!(["a", "b"]));
}

#[test]
fn quotations_inside_strings_are_kept_when_certain() {
    check(
        r#"{"a": "he said "hi" to me"}"#,
        json!({"a": r#"he said "hi" to me"#}),
    );
    check(r#"{"a": "he said "hi""}"#, json!({"a": r#"he said "hi""#}));
    check(
        r#"{'a': 'it's fine', 'b': 'the users' choice'}"#,
        json!({"a": "it's fine", "b": "the users' choice"}),
    );
    check(r#"{"a": "他说"好"了"}"#, json!({"a": r#"他说"好"了"#}));
}

#[test]
fn what_can_be_read_in_two_ways_is_not_read() {
    for text in [
        r#"["he said "hi", "bye" to"]"#,
        r#"["a" "b", "c"]"#,
        r#"{"t": "5" wide", "u": "6" tall"}"#,
        r#"{"t": "x, "u": "y"}"#,
        r#"['he said 'yes', 'no' and left']"#,
        r#"{this}"#,
        r#"[the list]"#,
        r#"{"a": not met}"#,
        r#"{"price": 1,000}"#,
        "[1,000, 5]",
    ] {
        check_none(text);
    }
}

#[test]
fn holes_keep_their_place() {
    check("[8,,7]", json!([8, null, 7]));
    check("[8, NaN, 7]", json!([8, null, 7]));
}

#[test]
fn what_is_cut_is_dropped_and_flagged() {
    check_cut(r#"{"scores":[8,3,7,"#, json!({"scores": [8, 3, 7]}));
    check_cut(r#"{"scores":[8,3,7"#, json!({"scores": [8, 3]}));
    check_cut(r#"{"a":"whole","b":"ha"#, json!({"a": "whole"}));
    check_cut(r#"{"a":1,"b":tru"#, json!({"a": 1}));
    check_cut(r#"{"a":1,"b":"#, json!({"a": 1}));
    check_cut(r#"{"a":1,"b"#, json!({"a": 1}));
    check_cut(
        r#"[{"id":1,"s":7},{"id":2,"s"#,
        json!([{"id": 1, "s": 7}, {"id": 2}]),
    );
    check_cut("```json\n{\"a\": [1, 2,\n```\nDone.", json!({"a": [1, 2]}));
    check_cut("[1, 2, ...]", json!([1, 2]));
    check_cut(r#"{"a": [1, 2, …], "b": 3}"#, json!({"a": [1, 2], "b": 3}));
}

#[test]
fn what_is_inside_a_cut_value_counts_as_cut() {
    let found = find(r#"{"v":[{"id":"a","s":1},{"id""#);
    let inner = found.first(|value| value.get("s").is_some());
    assert!(inner.expect("the inner object").truncated);
}

#[test]
fn braces_in_prose_do_not_spoil_what_follows() {
    check(r#"Use {'x notation. {"s": 8}"#, json!({"s": 8}));
    check(r#"Open { and go. {"s": 8}"#, json!({"s": 8}));
}

#[test]
fn fences_inside_values_are_text() {
    let text = "Sure! Here is [the list]:\n```json\n{\"queries\": [\"how to use ```bash``` \
                blocks\", \"a } b\"]}\n```\nHope {this} helps.";
    check(
        text,
        json!({"queries": ["how to use ```bash``` blocks", "a } b"]}),
    );
}

#[test]
fn hostile_texts_end_soon() {
    for text in [
        "[".repeat(100_000),
        r#"{"a":"#.repeat(50_000),
        r#"["a"#.repeat(50_000),
        "{'".repeat(50_000),
        "[1,".repeat(50_000),
        "“".repeat(100_000),
    ] {
        find(&text);
    }
}
