//! The collected cases of other people's trouble with providers and models
//! (`tests/data/llm/cases.jsonl`): each one that needs no browser and no model is asserted here by its id,
//! the others where the table says.

mod files;
mod http;
mod scenario;
mod stream;
mod text;

use crate::support;
use serde_json::Value;

/// Cases that need a browser or a model: what they concern and where they are tested.
const ELSEWHERE: [(&str, &str); 9] = [
    ("B45", "tests/e2e/browsers.test.mjs"),
    ("B48", "tests/engine/model.rs"),
    ("X26", "tests/e2e/browsers.test.mjs"),
    ("X27", "tests/e2e/browsers.test.mjs"),
    ("X29", "tests/e2e/browsers.test.mjs"),
    ("X31", "tests/e2e/bad_input.test.mjs"),
    ("X35", "tests/engine/model.rs"),
    ("X38", "LoCoMo is not read"),
    ("X42", "tests/e2e/browsers.test.mjs"),
];

fn cases() -> Vec<Value> {
    let path = support::path("tests/data/llm/cases.jsonl");
    let text = std::fs::read_to_string(path).expect("the case file");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect()
}

/// Runs the arm of a case; false when there is none.
fn run(id: &str, input: &Value) -> bool {
    match id {
        "B01" => http::b01(input),
        "B02" => scenario::b02(input),
        "B03" => scenario::b03(input),
        "B05" => scenario::b05(input),
        "B07" => stream::b07(input),
        "B08" => stream::b08(input),
        "B09" => stream::b09(input),
        "B10" => stream::b10(input),
        "B11" => stream::b11(input),
        "B14" => stream::b14(input),
        "B15" => stream::b15(input),
        "B17" => stream::b17(input),
        "B20" => stream::b20(input),
        "B21" => scenario::b21(input),
        "B22" => scenario::b22(input),
        "B23" => stream::b23(input),
        "B24" => http::b24(input),
        "B26" => text::b26(input),
        "B27" => text::b27(input),
        "B28" => text::b28(input),
        "B30" => text::b30(input),
        "B33" => text::b33(input),
        "B34" => text::b34(input),
        "B35" => text::b35(input),
        "B37" => http::b37(input),
        "B38" => http::b38(input),
        "B42" => http::b42(input),
        "B46" => files::b46(input),
        "B50" => files::b50(input),
        "B52" => files::b52(input),
        "X02" => http::x02(input),
        "X05" => scenario::x05(input),
        "X09" => stream::x09(input),
        "X12" => scenario::x12(input),
        "X14" => http::x14(input),
        "X17" => http::x17(input),
        "X19" => text::x19(input),
        "X22" => http::x22(input),
        "X23" => http::x23(input),
        "X24" => stream::x24(input),
        "X34" => files::x34(input),
        "X37" => files::x37(input),
        _ => return false,
    }
    true
}

#[test]
fn every_case_has_its_arm_or_its_module() {
    for case in cases() {
        let id = case["id"].as_str().expect("an id");
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| *other == id);
        println!("case {id}");
        assert!(run(id, &case["input"]) != elsewhere, "{id} has no arm");
    }
}

fn text_of(input: &Value, name: &str) -> String {
    input[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} in {input}"))
        .to_owned()
}
