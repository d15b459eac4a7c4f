//! Cases that are bytes of files, and cells of tables.

use super::text_of;
use iba_lab::bench::error::DataError;
use iba_lab::bench::lines::{Lines, opening};
use iba_lab::bench::unpack::unpack;
use iba_lab::llm::Finish;
use iba_lab::llm::read::salience;
use iba_lab::results::csv;
use serde_json::Value;

const LIMIT: u64 = 1 << 20;

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16);
    pairs.map(|pair| byte(pair).expect("hex")).collect()
}

/// The records of a JSON Lines file that comes in pieces of `piece` bytes.
fn records(bytes: &[u8], piece: usize) -> Result<Vec<Value>, DataError> {
    let mut found = Vec::new();
    let mut each = |_, line: &str| found.push(serde_json::from_str(line).expect(line));
    let mut lines = Lines::new("a file");
    for piece in bytes.chunks(piece) {
        lines.push(piece, &mut each)?;
    }
    lines.finish(&mut each)?;
    Ok(found)
}

pub fn b46(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let name = text_of(case, "name");
        let packed = bytes_of(&text_of(case, "hex"));
        let bytes = unpack(&name, &packed, LIMIT).expect("unpacked");
        assert_eq!(records(&bytes, 3).expect("lines").len(), 1, "{name}");
        let bomb = unpack(&name, &packed, 4);
        assert!(
            matches!(bomb, Err(DataError::Bomb { .. })),
            "{name}: {bomb:?}"
        );
    }
}

pub fn b50(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let name = text_of(case, "name");
        let bytes = bytes_of(&text_of(case, "hex"));
        match case["want"].as_str().expect("want") {
            "2 records" => {
                for piece in 1..=bytes.len() {
                    assert_eq!(records(&bytes, piece).expect("lines").len(), 2, "{name}");
                }
            }
            "1 record" => {
                let text = opening(&name, &bytes).expect("text");
                let list: Vec<Value> = serde_json::from_str(text).expect("JSON");
                assert_eq!(list.len(), 1, "{name}");
            }
            "column question found" => {
                let text = opening(&name, &bytes).expect("text");
                assert!(text.starts_with("question,"), "{name}: {text:?}");
            }
            want => {
                assert!(want.contains("UTF-16"), "{want}");
                let error = opening(&name, &bytes).expect_err("refused").to_string();
                assert!(error.contains("UTF-16") && error.contains(&name), "{error}");
            }
        }
    }
}

pub fn b52(input: &Value) {
    let cells = input["cells"].as_array().expect("cells");
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| cell.as_str().expect("a cell").to_owned())
        .collect();
    let written = csv::write(std::slice::from_ref(&cells));
    let body = written.strip_prefix('\u{feff}').expect("a byte-order mark");
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(body.as_bytes());
    let row = reader.records().next().expect("a row").expect("valid CSV");
    let expected = cells.iter().map(|cell| match cell.as_str() {
        "-3" => "-3".to_owned(),
        cell if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{cell}"),
        cell => cell.to_owned(),
    });
    assert_eq!(row.iter().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

pub fn x34(input: &Value) {
    // The case has the text in a sentence: preview(…) of '…'.
    let text = text_of(input, "text");
    let text = text.split('\'').nth(1).expect("a quoted text");
    assert!(text.chars().any(|c| c.len_utf8() > 1), "{text}");
    let long = text.repeat(200);
    let error = salience(&long, &Finish::Stop, &["1".to_owned()]).expect_err("no scores");
    let said = error.to_string();
    let start: String = text.chars().take(5).collect();
    assert!(said.contains(&start) && said.contains('…'), "{said}");
    assert!(said.len() < long.len(), "{said}");
}

pub fn x37(input: &Value) {
    let text = text_of(input, "text");
    let expected: Vec<Value> = text
        .split('\n')
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    assert_eq!(expected.len(), 2);
    for piece in 1..=text.len() {
        assert_eq!(records(text.as_bytes(), piece).expect("lines"), expected);
    }
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(records(crlf.as_bytes(), 5).expect("lines"), expected);
}
