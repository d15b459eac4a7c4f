//! Properties that hold for any input: no panic, no invented value, no difference by split.
//! Inputs are seeded, so that a failure can be repeated.

use iba_lab::llm::json;
use iba_lab::llm::openai::StreamDecoder;
use iba_lab::llm::read;
use iba_lab::llm::redact;
use iba_lab::llm::sse::{Event, SseParser};
use iba_lab::llm::{ApiKey, Finish, LlmError, Reply, wait};
use serde_json::{Value, json};

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).expect("a small number")
    }
}

/// Pieces that texts of models are made of, harmful ones included.
const PIECES: [&str; 46] = [
    "{", "}", "[", "]", ":", ",", "\"", "'", "“", "”", "｛", "｝", "［", "］", "：", "，", "```",
    "\n", " ", "\\", "\\u00e9", "\\ud83d", "//", "/*", "*/", "#", "true", "None", "NaN", "null",
    "8", "-1", "1e9", ".5", "id", "score", "verdict", "p1", "<think>", "</think>", "...", "你好",
    "😀", "\u{feff}", "\u{2028}", "r1: yes",
];

fn random_text(random: &mut Random) -> String {
    let length = random.below(40);
    (0..length)
        .map(|_| PIECES[random.below(PIECES.len())])
        .collect()
}

/// A valid text with some characters removed, doubled or replaced.
fn mutated(random: &mut Random, valid: &str) -> String {
    let mut chars: Vec<char> = valid.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len());
        match random.below(4) {
            0 => drop(chars.remove(at)),
            1 => chars.insert(at, chars[at]),
            2 => chars.truncate(at.max(1)),
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
        }
        if chars.is_empty() {
            chars.push(' ');
        }
    }
    chars.into_iter().collect()
}

const VALID: [&str; 4] = [
    r#"{"scores":[{"id":"p1","score":8,"signals":["complaint"]},{"id":"p2","score":3}]}"#,
    r#"Sure: ```json\n{"queries": ["how to", "a } b"]}\n``` done"#,
    r#"<think>hm {"a":1}</think>{"verdicts":[{"id":"r1","verdict":1,"quote":"it's"}]}"#,
    r#"｛“slots”：｛“seat”：“aisle”，“bags”：2｝｝"#,
];

/// Every string and number of a value.
fn leaves(value: &Value, out: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(fields) => fields.values().for_each(|item| leaves(item, out)),
        Value::String(_) | Value::Number(_) => out.push(value.clone()),
        _ => {}
    }
}

/// Letters and digits only: escapes, quotes and number forms aside.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn nothing_invented(text: &str) {
    if text.contains('\\') || text.contains("1e") {
        // Escapes and exponents are written differently when read.
        return;
    }
    let source = bare(text);
    for candidate in json::find(text).candidates {
        let mut found = Vec::new();
        leaves(&candidate.value, &mut found);
        for leaf in found {
            let written = leaf
                .as_str()
                .map_or_else(|| leaf.to_string(), str::to_owned);
            let written = bare(written.trim_end_matches(".0").trim_start_matches("0."));
            assert!(source.contains(&written), "{written:?} is not in {text:?}");
        }
    }
}

#[test]
fn reading_json_never_panics_and_never_invents() {
    let mut random = Random(0x1ba_1ab);
    for round in 0..200_000 {
        let text = match round % 2 {
            0 => random_text(&mut random),
            _ => {
                let valid = VALID[random.below(VALID.len())];
                mutated(&mut random, valid)
            }
        };
        nothing_invented(&text);
    }
}

#[test]
fn readers_never_panic_and_keep_order_and_number() {
    let mut random = Random(42);
    let ids: Vec<String> = ["p1", "p2", "r1"].map(str::to_owned).to_vec();
    for round in 0..10_000 {
        let valid = VALID[random.below(VALID.len())];
        let text = if round % 2 == 0 {
            mutated(&mut random, valid)
        } else {
            random_text(&mut random)
        };
        let finish = if round % 3 == 0 {
            Finish::Length
        } else {
            Finish::Stop
        };
        if let Ok(read) = read::salience(&text, &finish, &ids) {
            assert!(read.value.iter().map(|item| &item.id).eq(&ids), "{text:?}");
        }
        if let Ok(read) = read::verdicts(&text, &finish, &ids) {
            assert!(read.value.iter().map(|item| &item.id).eq(&ids), "{text:?}");
        }
        if let Ok(read) = read::queries(&text, &finish, 3) {
            assert!(read.value.len() <= 3 && read.value.iter().all(|query| !query.is_empty()));
        }
        let _ = read::preferences(&text, &finish, &ids);
        let _ = read::plan(&text, &finish);
        let _ = read::compact(&text, &finish, &ids);
        let _ = wait::in_body(&text);
    }
}

/// A strict value survives any harmless dressing.
#[test]
fn whole_values_are_found_in_any_dressing() {
    let mut random = Random(7);
    for round in 0..4_000 {
        let value = json!({
            "text": PIECES[random.below(PIECES.len())].repeat(random.below(3)),
            "list": [round, PIECES[random.below(PIECES.len())], null, true],
        });
        let before = [
            "",
            "Here: ",
            "```json\n",
            "<think>{\"text\":0}</think>\n",
            "\u{feff}",
        ];
        let after = ["", "\n```", " Hope {this} helps.", "]}", "\n\n"];
        let text = format!(
            "{}{value}{}",
            before[random.below(before.len())],
            after[random.below(after.len())]
        );
        let found = json::find(&text);
        let first = found
            .first(Value::is_object)
            .unwrap_or_else(|| panic!("{text:?}"));
        assert_eq!((&first.value, first.truncated), (&value, false), "{text:?}");
    }
}

/// Whatever prefix of an answer arrives, what is read is in the answer, in its place.
#[test]
fn every_cut_of_an_answer_is_flagged_and_shifts_nothing() {
    let scores = [8.0, 3.0, 7.0, 0.0, 10.0];
    let ids: Vec<String> = (1..=5).map(|n| n.to_string()).collect();
    let whole = r#"{"scores": [8, 3, 7, 0, 10]}"#;
    for end in 0..whole.len() {
        let Ok(read) = read::salience(&whole[..end], &Finish::Length, &ids) else {
            continue;
        };
        // Without the last brace nothing is missing but the end.
        assert!(read.truncated, "{end}");
        for (item, wanted) in read.value.iter().zip(scores) {
            let fits = match item.score {
                read::ReadScore::Score(found) => found == wanted,
                read::ReadScore::Missing => true,
                read::ReadScore::Invalid(_) => false,
            };
            assert!(fits, "{end}: {item:?}");
        }
    }
}

fn sse(parts: &[&[u8]]) -> Vec<Event> {
    let mut parser = SseParser::new();
    let mut events: Vec<Event> = parts.iter().flat_map(|part| parser.push(part)).collect();
    events.extend(parser.finish());
    events
}

#[test]
fn any_split_of_the_bytes_gives_the_same_events() {
    let pieces: [&[u8]; 13] = [
        b"data: a",
        b"data",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"event: x",
        b": note",
        "你😀".as_bytes(),
        b"\xef\xbb\xbf",
        b"\xff",
    ];
    let mut random = Random(99);
    for _ in 0..4_000 {
        let count = random.below(16);
        let stream: Vec<u8> = (0..count)
            .flat_map(|_| pieces[random.below(pieces.len())].to_vec())
            .collect();
        let whole = sse(&[&stream]);
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            assert_eq!(sse(&[head, tail]), whole, "{stream:?} at {at}");
        }
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(sse(&single), whole, "{stream:?}");
    }
}

fn decoded(parts: &[&[u8]]) -> Result<Reply, LlmError> {
    let mut decoder = StreamDecoder::new();
    for part in parts {
        decoder.push(part);
    }
    decoder.finish()
}

/// Deltas of tool calls in random order and form: no panic, and only whole calls come out.
#[test]
fn tool_calls_come_out_whole_or_not_at_all() {
    let mut random = Random(5);
    for _ in 0..8_000 {
        let mut stream = String::new();
        for _ in 0..random.below(6) {
            let mut call = json!({"function": {}});
            if random.below(2) == 0 {
                call["index"] = json!(random.below(2));
            }
            if random.below(2) == 0 {
                call["id"] = json!(["", "a", "b"][random.below(3)]);
            }
            if random.below(2) == 0 {
                call["function"]["name"] = json!(["f", "g", ""][random.below(3)]);
            }
            let arguments = ["", "{", "}", "{}", "{\"x\":", "1}", "null", "\"\""];
            call["function"]["arguments"] = json!(arguments[random.below(arguments.len())]);
            let chunk = json!({"choices": [{"delta": {"tool_calls": [call]}}]});
            stream.push_str(&format!("data: {chunk}\n\n"));
        }
        stream.push_str("data: [DONE]\n\n");
        let whole = decoded(&[stream.as_bytes()]);
        if let Ok(reply) = &whole {
            let mut ids: Vec<&String> = reply.tool_calls.iter().map(|call| &call.id).collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), reply.tool_calls.len(), "{stream}");
            assert!(
                reply
                    .tool_calls
                    .iter()
                    .all(|c| c.arguments.is_object() && !c.name.is_empty())
            );
        }
        let (head, tail) = stream.as_bytes().split_at(random.below(stream.len()));
        assert_eq!(decoded(&[head, tail]), whole, "{stream}");
    }
}

#[test]
fn no_text_gives_a_key_away() {
    let key = ApiKey::new("sk-Ab/cd+Ef==12345").expect("a key");
    let secret = "sk-Ab/cd+Ef==12345";
    let around = [
        "",
        " ",
        "key=",
        "Bearer ",
        "Authorization: ",
        "\"",
        "你",
        "&",
        "%2F",
        "sk-",
        ".",
        "x",
    ];
    let mut random = Random(3);
    for _ in 0..4_000 {
        let mut text = String::new();
        for _ in 0..random.below(6) {
            text.push_str(around[random.below(around.len())]);
            if random.below(2) == 0 {
                text.push_str(secret);
            }
        }
        let clean = redact::scrub(&text, &[&key]);
        assert!(
            !redact::holds_key(&clean, &[&key]),
            "{text:?} became {clean:?}"
        );
    }
}
