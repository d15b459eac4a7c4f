//! Files as real hosts, editors and tools spoil them: each is read anyway or refused in a sentence.

use flate2::Compression;
use flate2::write::GzEncoder;
use iba_lab::bench::error::DataError;
use iba_lab::bench::hash;
use iba_lab::bench::limits::{self, FileKind};
use iba_lab::bench::manifest::{self, FileRef, Manifest};
use iba_lab::bench::shard::{self, Shard, ShardReader};
use iba_lab::bench::unpack;
use serde_json::{Value, json};
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn file(path: &str) -> Value {
    json!({"path": path, "bytes": 1, "sha256": "0".repeat(64)})
}

fn manifest_json() -> Value {
    json!({
        "format": "iba-dataset", "version": 1, "name": "tiny", "title": "Tiny", "description": "", "licence": "CC0",
        "seed": 1,
        "domains": [{"id": "work", "name": "Work", "label": "Work"}],
        "scenarios": [{"id": "memo", "domain": "work", "name": "Memo", "action": "generate_text", "dynamic": false}],
        "index": file("index.jsonl.gz"), "dimensions": file("dimensions.jsonl.gz"),
        "shards": [{"id": "p1", "persona": "p1", "file": file("shards/p1.jsonl.gz"), "sessions": 1, "turns": 2, "instances": 1}]
    })
}

fn manifest() -> Manifest {
    manifest::parse(manifest_json().to_string().as_bytes(), "manifest.json")
        .unwrap()
        .0
}

/// Five records: head, persona, session, instance, hidden half.
fn records() -> Vec<Value> {
    vec![
        json!({"shard": {"id": "p1", "persona": "p1"}}),
        json!({"persona": {"id": "p1", "name": "Ada", "age": 40, "gender": "female", "background": {}, "traits": [], "states": [], "roles": [], "summary": ""}}),
        json!({"session": {"id": "s0001", "date": "2025-01-02T09:00:00", "turns": [
            {"role": "user", "text": "Write a memo.\u{2028}Soon."}, {"role": "assistant", "text": "Here."}]}}),
        json!({"instance": {"id": "memo-a", "persona": "p1", "scenario": "memo", "scenario_name": "Memo", "action": "generate_text",
            "task": {"instruction": "Write a memo."}}}),
        json!({"hidden": {"id": "memo-a",
            "preferences": [{"id": "q1", "dimension": "length", "value": "short", "text": "Short", "kind": "static"}],
            "evidence": [{"id": "e1", "session": "s0001", "signal": "complaint", "reveals": ["q1"]}],
            "requirements": [{"id": "r1", "preference": "q1", "text": "At most 50 words"}]}}),
    ]
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn read(bytes: &[u8]) -> Result<Shard, DataError> {
    shard::read("shards/p1.jsonl.gz", &manifest(), bytes).map(|(shard, _)| shard)
}

/// The file is refused, the sentence names the place and says what is wrong and what to do.
fn refused(result: Result<impl std::fmt::Debug, DataError>, place: &str, wanted: &[&str]) {
    let error = result.expect_err("a bad file was accepted");
    let sentence = error.sentence();
    assert!(sentence.starts_with(place), "{sentence}");
    for part in wanted {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    assert!(!error.hint().is_empty());
}

const SHARD: &str = "shards/p1.jsonl.gz";

#[test]
fn packed_unpacked_and_repacked_shards_are_the_same() {
    let text = lines(&records());
    let plain = read(text.as_bytes()).unwrap();
    assert_eq!(
        plain.history.sessions[0].turns[0].text,
        "Write a memo.\u{2028}Soon."
    );
    let (left, right) = text.as_bytes().split_at(700);
    let mut padded = gzip(text.as_bytes());
    padded.extend([0; 512]);
    for (what, bytes) in [
        ("gzip", gzip(text.as_bytes())),
        ("gzip within gzip", gzip(&gzip(text.as_bytes()))),
        (
            "several members",
            [gzip(left), gzip(b""), gzip(right)].concat(),
        ),
        ("zero padding", padded),
        ("byte-order mark", format!("\u{feff}{text}").into_bytes()),
        (
            "CRLF and blank lines",
            text.replace('\n', "\r\n\r\n").into_bytes(),
        ),
        ("no final newline", text.trim_end().as_bytes().to_vec()),
    ] {
        assert_eq!(
            read(&bytes).unwrap_or_else(|error| panic!("{what}: {error}")),
            plain,
            "{what}"
        );
        // The pieces in which bytes arrive change nothing.
        for size in [1, 7, 64] {
            let manifest = manifest();
            let mut reader = ShardReader::new(SHARD, &manifest);
            bytes
                .chunks(size)
                .for_each(|piece| reader.push(piece).unwrap());
            assert_eq!(
                reader.finish().unwrap().0,
                plain,
                "{what} in pieces of {size}"
            );
        }
    }
}

/// Bytes of reported cases: a host that unpacked, one that packed, one that packed twice.
#[test]
fn reported_bytes_unpack() {
    for hex in [
        "7b2261223a317d0a",
        "1f8b0800000000000203ab564a54b232ace5020046a3e87408000000",
        "1f8b080000000000020393efe660000126e6d5615e219b8cd6b032ac5f231dc60e1402007bad05a81b000000",
    ] {
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        let plain = unpack::unpack("d.jsonl.gz", &bytes, 1000).unwrap();
        assert_eq!(plain.trim_ascii_end(), b"{\"a\":1}", "{hex}");
    }
}

#[test]
fn spoiled_gzip_is_named() {
    let packed = gzip(lines(&records()).as_bytes());
    for cut in [5, 12, packed.len() / 2, packed.len() - 9, packed.len() - 1] {
        refused(
            read(&packed[..cut]),
            SHARD,
            &["ends too early", "Load it again"],
        );
    }
    let mut flipped = packed.clone();
    let middle = flipped.len() - 6;
    flipped[middle] ^= 0xff;
    refused(read(&flipped), SHARD, &["damaged"]);
    refused(
        read(&[packed.clone(), b"<p>ad</p>".to_vec()].concat()),
        SHARD,
        &["no gzip member follows", "binary mode"],
    );
    let thrice = gzip(&gzip(&packed));
    refused(read(&thrice), SHARD, &["more than 2 times"]);
}

#[test]
fn a_bomb_is_stopped_at_the_limit() {
    let bomb = gzip(&vec![b' '; 1 << 20]);
    assert!(bomb.len() < 2000);
    refused(
        unpack::unpack("b.gz", &bomb, 1 << 16).map(|_| ()),
        "b.gz",
        &["unpacks to more than 65536 bytes"],
    );
    refused(
        unpack::unpack("b.gz", &gzip(&bomb), 1 << 16).map(|_| ()),
        "b.gz",
        &["unpacks to more than 65536 bytes"],
    );
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    for kind in [
        FileKind::Manifest,
        FileKind::Index,
        FileKind::Dimensions,
        FileKind::Shard,
        FileKind::Vectors,
    ] {
        refused(
            limits::check(kind, "big", 2 << 30),
            "big",
            &["2147483648 bytes is more than", kind.name()],
        );
        assert_eq!(limits::check(kind, "small", 1000), Ok(()));
    }
}

#[test]
fn other_files_in_the_place_of_data_are_named() {
    let page = b"\n<!DOCTYPE html><html><title>404</title></html>";
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("[{}]".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let without_mark: Vec<u8> = "{\"a\":1}"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    for (bytes, wanted) in [
        (page.to_vec(), "is a web page (HTML)"),
        (gzip(b"<html>"), "is a web page (HTML)"),
        (utf16, "is UTF-16"),
        (without_mark, "is UTF-16"),
        (Vec::new(), "is empty"),
    ] {
        refused(read(&bytes), SHARD, &[wanted]);
        refused(
            manifest::parse(&bytes, "manifest.json"),
            "manifest.json",
            &[wanted],
        );
    }
    let latin1 = lines(&records())
        .replace("Ada", "X")
        .into_bytes()
        .iter()
        .map(|byte| if *byte == b'X' { 0xe9 } else { *byte })
        .collect::<Vec<_>>();
    refused(
        read(&latin1),
        SHARD,
        &["line 2 is not UTF-8", "Save the file as UTF-8"],
    );
    let hint = manifest::parse(page, "manifest.json").unwrap_err().hint();
    assert!(hint.contains("not found"), "{hint}");
}

#[test]
fn a_manifest_says_what_is_wrong_with_it() {
    refused(
        manifest::parse(b"{\"format\": ", "m"),
        "m",
        &["is not JSON", "line 1"],
    );
    refused(
        manifest::parse(b"[1]", "m"),
        "m",
        &["without a format field", "iba-dataset"],
    );
    refused(
        manifest::parse(b"{\"format\":\"other\"}", "m"),
        "m",
        &["of the format \"other\""],
    );
    for (field, value, wanted) in [
        (
            "version",
            json!(2),
            "has version 2 of the format; this program reads version 1",
        ),
        ("version", json!("1"), "has version \"1\""),
        ("shards", json!(7), "shards: does not fit"),
        (
            "index",
            json!({"path": "../secret", "bytes": 1, "sha256": "0".repeat(64)}),
            "\"../secret\" is not a relative path",
        ),
        (
            "index",
            json!({"path": "https://x.example/i", "bytes": 1, "sha256": "0".repeat(64)}),
            "is not a relative path",
        ),
        (
            "index",
            json!({"path": "i", "bytes": 1, "sha256": "abc"}),
            "is not 64 lower-case hex digits",
        ),
        (
            "scenarios",
            json!([{"id": "memo", "domain": "play", "name": "", "action": "call_api", "dynamic": false}]),
            "unknown domain \"play\"",
        ),
    ] {
        let mut value_of = manifest_json();
        value_of[field] = value;
        refused(
            manifest::parse(value_of.to_string().as_bytes(), "m"),
            "m",
            &[wanted],
        );
    }
    let mut twice = manifest_json();
    let shard = twice["shards"][0].clone();
    twice["shards"].as_array_mut().unwrap().push(shard);
    refused(
        manifest::parse(twice.to_string().as_bytes(), "m"),
        "m",
        &["shards: \"p1\" stands there twice"],
    );
}

#[test]
fn unknown_fields_and_lone_surrogates_are_warnings() {
    let mut more = manifest_json();
    more["colour"] = json!("blue");
    let (_, warnings) = manifest::parse(more.to_string().as_bytes(), "m").unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0]
            .to_string()
            .contains("the field `colour` is unknown"),
        "{}",
        warnings[0]
    );

    let text = lines(&records()).replace("Here.", "Here \\ud800.");
    let (shard, warnings) = shard::read(SHARD, &manifest(), text.as_bytes()).unwrap();
    assert_eq!(shard.history.sessions[0].turns[1].text, "Here \u{fffd}.");
    assert!(
        warnings[0].to_string().contains("line 3"),
        "{}",
        warnings[0]
    );
}

#[test]
fn faults_of_a_shard_are_reported_together() {
    let mut bad = records();
    bad[3]["instance"]["persona"] = json!("p9");
    bad[3]["instance"]["scenario"] = json!("poem");
    bad[4]["hidden"]["evidence"][0]["session"] = json!("s0099");
    bad[4]["hidden"]["requirements"][0]["preference"] = json!("q9");
    bad.push(bad[2].clone());
    let text = lines(&bad);
    refused(
        read(text.as_bytes()),
        SHARD,
        &[
            "line 4: instance.persona: names the unknown persona \"p9\"",
            "line 4: instance.scenario: names the unknown scenario \"poem\"",
            "line 5: hidden.evidence[0].session: names the unknown session \"s0099\"",
            "names the unknown preference \"q9\"",
            "line 6: session.id: \"s0001\" stands there twice",
            "holds 2 sessions, but the manifest says 1",
            "lab dataset validate",
        ],
    );
}

#[test]
fn a_bad_line_is_named_with_its_field() {
    let text = lines(&records());
    refused(
        read(text.replace("\"age\":40", "\"age\":\"old\"").as_bytes()),
        SHARD,
        &["line 2: persona.age: does not fit", "invalid type"],
    );
    refused(
        read(text.replace("\"turns\":[", "\"turns\":[,").as_bytes()),
        SHARD,
        &["line 3", "is not JSON"],
    );
    let mut twice = records();
    twice.push(twice[3].clone());
    twice.push(twice[4].clone());
    refused(
        read(lines(&twice).as_bytes()),
        SHARD,
        &[
            "instance.id: \"memo-a\" stands there twice",
            "hidden.id: \"memo-a\" stands there twice",
        ],
    );
    // A file that a host unpacked and cut at a line end has no gzip checksum to betray it.
    let cut: String = text
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    refused(
        read(cut.as_bytes()),
        SHARD,
        &["holds 0 sessions, but the manifest says 1"],
    );
}

#[test]
fn a_faulty_file_leaves_the_manifest_as_it_was() {
    let manifest = manifest();
    let before = manifest.clone();
    assert!(shard::read(SHARD, &manifest, b"nonsense").is_err());
    assert_eq!(manifest, before);
}

#[test]
fn a_hash_says_what_was_expected_and_found() {
    let plain = lines(&records()).into_bytes();
    let stored = gzip(&plain);
    let file = FileRef {
        path: SHARD.to_owned(),
        bytes: stored.len() as u64,
        sha256: hash::sha256_hex(&stored),
        unpacked: Some(plain.len() as u64),
        unpacked_sha256: Some(hash::sha256_hex(&plain)),
    };
    for same in [stored.clone(), plain.clone(), gzip(&stored)] {
        assert_eq!(hash::check(FileKind::Shard, &file, &same), Ok(()));
    }
    let other = gzip(b"other");
    refused(
        hash::check(FileKind::Shard, &file, &other),
        SHARD,
        &[
            &file.sha256,
            &hash::sha256_hex(&other),
            "not of the same build",
        ],
    );
    refused(
        hash::check(FileKind::Shard, &file, b"<html>404</html>"),
        SHARD,
        &["is a web page"],
    );
    refused(
        hash::check(FileKind::Shard, &file, &stored[..40]),
        SHARD,
        &["ends too early"],
    );
}
