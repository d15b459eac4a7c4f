//! `lab decode` and `lab read`, as others call them.

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

fn lab(arguments: &[&str], input: &str) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("lab starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("lab reads");
    drop(stdin);
    let output = child.wait_with_output().expect("lab ends");
    assert!(output.status.success(), "{arguments:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn decode_prints_replies_and_errors() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let reply = lab(&["decode", "--provider", "deepseek", "--stream"], stream);
    assert_eq!(reply, json!({"reply": {"text": "hi", "finish": "stop"}}));
    let arguments = ["decode", "--status", "429", "--header", "retry-after: 7"];
    let error = lab(&arguments, "{\"error\":{\"message\":\"slow down\"}}");
    assert_eq!(error["error"]["kind"], "rate_limited");
    assert_eq!(
        error["next"],
        json!({"do": "retry", "after_seconds": 7.0, "note": null})
    );
}

#[test]
fn read_prints_values_and_what_is_missing() {
    let arguments = [
        "read", "--as", "salience", "--expect", "3", "--finish", "length",
    ];
    let read = lab(&arguments, "{\"scores\":[8,\"high\",");
    let states: Vec<&Value> = read["value"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["state"])
        .collect();
    assert_eq!(states, ["score", "invalid", "missing"]);
    assert_eq!(read["truncated"], true);
    let verdicts = lab(
        &["read", "--as", "verdicts", "--ids", "a,b"],
        "{\"a\":true,\"b\":\"no\"}",
    );
    assert_eq!(verdicts["value"][0]["verdict"], 1);
    assert_eq!(verdicts["value"][1]["verdict"], 0);
    let slots = lab(&["read", "--as", "slots"], "{'slots': {'seat': 'aisle'}}");
    assert_eq!(slots["value"]["slots"], json!({"seat": "aisle"}));
    let refused = lab(
        &["read", "--as", "queries"],
        "I'm sorry, but I can't help with that.",
    );
    assert_eq!(refused["error"]["kind"], "refused");
}
