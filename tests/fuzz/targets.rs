//! The readers of streams, tool calls and JSON against made-up inputs. What must hold for every
//! input: no panic, the same result for any split of the bytes, no call that is not whole, and no
//! value that the text does not hold. Each input follows from its seed.

use iba_lab::llm::json;
use iba_lab::llm::provider::Provider;
use iba_lab::llm::read::{self, ReadScore};
use iba_lab::llm::sse::SseParser;
use iba_lab::llm::{Finish, LlmError, Reply, ToolCall};
use serde_json::{Value, json};

/// A target: makes an input from a seed and says what is wrong with the outcome.
pub type Target = (&'static str, fn(u64) -> Result<(), String>);

pub const TARGETS: [Target; 3] = [("sse", sse), ("json", json_reading), ("calls", calls)];

/// SplitMix64: any seed is a good one.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Cuts bytes into pieces, some of them empty.
    fn split(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let (mut pieces, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(self.below(rest.len().min(24) + 1));
            pieces.push(piece.to_vec());
            rest = later;
        }
        pieces
    }
}

const LINES: [&str; 22] = [
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"你好 \"}}]}",
    "data: {\"choices\":[{\"delta\":{\"content\":\"<think>a\"},\"finish_reason\":null}]}",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":\"}}]}}]}",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}}]}}]}",
    "data: {\"error\":{\"message\":\"gone\",\"code\":502}}",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"é\"}]},\"finishReason\":\"STOP\"}]}",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"😀\"}}",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}",
    "event: error",
    "event: message_delta",
    "data: [DONE]",
    "data:",
    "data: {\"half",
    ": keep-alive",
    "id: 7",
    "retry: 10",
    "",
    "\u{feff}",
    "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}",
];

fn stream(random: &mut Random) -> Vec<u8> {
    let end = random.of(&["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"]);
    let mut bytes = Vec::new();
    for _ in 0..random.below(14) {
        bytes.extend_from_slice(random.of(&LINES).as_bytes());
        bytes.extend_from_slice(end.as_bytes());
        if random.below(3) > 0 {
            bytes.extend_from_slice(end.as_bytes());
        }
    }
    // Now and then a byte that belongs to nothing.
    if random.below(4) == 0 && !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] = (random.next() & 0xff) as u8;
    }
    bytes
}

/// Any split gives the same events, and the same reply in every dialect; a stream without its end is
/// no success.
fn sse(seed: u64) -> Result<(), String> {
    let mut random = Random(seed);
    let bytes = stream(&mut random);
    let pieces = random.split(&bytes);
    let events = |pieces: &[Vec<u8>]| {
        let mut parser = SseParser::new();
        let mut events: Vec<_> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
        events.extend(parser.finish());
        events
    };
    if events(&pieces) != events(std::slice::from_ref(&bytes)) {
        return Err("the events depend on the split".to_owned());
    }
    let id = random.of(&["openai-compatible", "anthropic", "gemini"]);
    let provider = Provider::by_id(id).ok_or("no such provider")?;
    let decoded = |pieces: &[Vec<u8>]| {
        let mut decoder = provider.stream_decoder();
        for piece in pieces {
            decoder.push(piece);
        }
        shown(decoder.finish())
    };
    let (whole, split) = (decoded(std::slice::from_ref(&bytes)), decoded(&pieces));
    if whole != split {
        return Err(format!(
            "{id}: {whole} in one piece, {split} in {}",
            pieces.len()
        ));
    }
    let text = String::from_utf8_lossy(&bytes);
    // A body in one piece is whole by itself.
    let ends = [
        "{\"choices\":[{\"message\"",
        "[DONE]",
        "finish_reason\":\"",
        "finishReason",
        "stop_reason",
    ];
    let has_end = ends.iter().any(|end| text.contains(end));
    match whole.starts_with("ok") && !has_end {
        true => Err(format!("{id}: a stream without its end became a success")),
        false => Ok(()),
    }
}

fn shown(outcome: Result<Reply, LlmError>) -> String {
    match outcome {
        Ok(reply) => format!("ok {}", json!(reply)),
        Err(error) => format!("error {}", error.to_json()),
    }
}

const PIECES: [&str; 40] = [
    "{", "}", "[", "]", ":", ",", "\"", "'", "“", "”", "｛", "｝", "：", "，", "```", "\n", " ",
    "\\", "\\u00e9", "//", "/*", "*/", "#", "true", "None", "NaN", "null", "8", "-1", ".5", "id",
    "score", "verdict", "p1", "<think>", "</think>", "...", "你好", "😀", "1. Yes",
];

fn text(random: &mut Random) -> String {
    let valid = [
        r#"{"scores":[{"id":"p1","score":8},{"id":"p2","score":3},{"id":"p3","score":0}]}"#,
        r#"Sure: ```json {"queries": ["how to", "a } b"]}``` done"#,
        r#"<think>hm {"a":1}</think>{"verdicts":[{"id":"p1","verdict":1,"quote":"it's"}]}"#,
        r#"｛“slots”：｛“seat”：“aisle”，“bags”：2｝｝"#,
        "{'city': 'Xi\\'an', 'open': True, 'x': None, // end\n}",
        "p1: 7\np2: 8/10\np3: none",
        "[8, 3, 7]",
    ];
    if random.below(3) == 0 {
        return (0..random.below(40)).map(|_| random.of(&PIECES)).collect();
    }
    let mut chars: Vec<char> = random.of(&valid).chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len());
        match random.below(4) {
            0 if chars.len() > 1 => drop(chars.remove(at)),
            1 => chars.insert(at, chars[at]),
            2 => chars.truncate(at.max(1)),
            _ => drop(chars.splice(at..at, random.of(&PIECES).chars())),
        }
    }
    chars.into_iter().collect()
}

/// Every leaf of a value that is read stands in the text; readers give one item for each id, in order.
fn json_reading(seed: u64) -> Result<(), String> {
    let mut random = Random(seed);
    let text = text(&mut random);
    let found = json::find(&text);
    // Reasoning may have been taken out of the middle of a text.
    let plain = format!("{} {}", bare(&text), bare(&found.answer));
    for candidate in found.candidates {
        let mut leaves = Vec::new();
        collect(&candidate.value, &mut leaves);
        // What an escape stands for is written otherwise.
        let escaped = |leaf: &String| {
            leaf.chars()
                .any(|c| c.is_control() || !c.is_ascii() && !text.contains(c))
        };
        leaves.retain(|leaf| !escaped(leaf));
        if let Some(made_up) = leaves.iter().find(|leaf| !plain.contains(&bare(leaf))) {
            return Err(format!("{made_up:?} is not in {text:?}"));
        }
    }
    let finish = match random.below(2) {
        0 => Finish::Stop,
        _ => Finish::Length,
    };
    let ids = ["p1", "p2", "p3"].map(str::to_owned);
    if let Ok(read) = read::salience(&text, &finish, &ids) {
        let own = read.value.iter().map(|item| item.id.as_str());
        if !own.eq(["p1", "p2", "p3"]) {
            return Err(format!("salience lost the order of ids on {text:?}"));
        }
        let outside = read.value.iter().any(
            |item| matches!(item.score, ReadScore::Score(score) if !(0.0..=10.0).contains(&score)),
        );
        if outside {
            return Err(format!("a score outside of 0 to 10 from {text:?}"));
        }
    }
    if let Ok(read) = read::verdicts(&text, &finish, &ids)
        && read.value.len() != 3
    {
        return Err(format!(
            "{} verdicts for 3 requirements from {text:?}",
            read.value.len()
        ));
    }
    if let Ok(read) = read::queries(&text, &finish, 5)
        && read.value.len() > 5
    {
        return Err(format!("more queries than asked for from {text:?}"));
    }
    let _ = read::preferences(&text, &finish, &ids);
    Ok(())
}

/// Letters and digits only: escapes and marks may be written in other ways.
fn bare(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Texts and names; numbers as they are written may take another form.
fn collect(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, out)),
        _ => {}
    }
}

/// Calls torn into fragments in one of the ways servers do it come out whole, in order, or not at
/// all.
fn calls(seed: u64) -> Result<(), String> {
    let mut random = Random(seed);
    let wanted: Vec<(String, String, Value)> = (0..=random.below(4))
        .map(|n| {
            let arguments = match random.below(4) {
                0 => json!({}),
                1 => json!({"q": random.of(&["x", "你好", "a\"b", "}{", "\\"])}),
                2 => json!({"n": random.below(100), "list": [1, {"k": null}]}),
                _ => json!({"text": "half of the ".repeat(random.below(4))}),
            };
            (
                format!("id{n}"),
                random.of(&["search", "get", "save"]).to_owned(),
                arguments,
            )
        })
        .collect();
    let style = random.below(4);
    let events = fragments(&mut random, &wanted, style);
    let cut = random.below(3) == 0;
    let kept = if cut {
        random.below(events.len() + 1)
    } else {
        events.len()
    };
    let mut bytes = String::new();
    for event in &events[..kept] {
        bytes.push_str(&format!("data: {event}\n\n"));
    }
    let reason = if cut { "length" } else { "tool_calls" };
    bytes.push_str(&format!(
        "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
    ));
    let provider = Provider::by_id("openai-compatible").ok_or("no such provider")?;
    let mut decoder = provider.stream_decoder();
    for piece in random.split(bytes.as_bytes()) {
        decoder.push(&piece);
    }
    let reply = match decoder.finish() {
        Ok(reply) => reply,
        Err(_) if cut => return Ok(()),
        Err(error) => return Err(format!("style {style}: whole calls became {error}")),
    };
    let same = |(call, (_, name, arguments)): (&ToolCall, &(String, String, Value))| {
        call.name == *name && call.arguments == *arguments
    };
    let found = reply.tool_calls.len();
    let all = found == wanted.len() || cut && found <= wanted.len();
    match all && reply.tool_calls.iter().zip(&wanted).all(same) {
        true => Ok(()),
        false => Err(format!(
            "style {style}: {:?} from {bytes}",
            reply.tool_calls
        )),
    }
}

/// Chunks that carry the calls: with index and id, with id only, all with index 0, or interleaved.
fn fragments(random: &mut Random, wanted: &[(String, String, Value)], style: usize) -> Vec<Value> {
    let mut queues: Vec<Vec<Value>> = Vec::new();
    for (n, (id, name, arguments)) in wanted.iter().enumerate() {
        let text = match arguments.as_object().is_some_and(serde_json::Map::is_empty) {
            true => random.of(&["{}", "", " "]).to_owned(),
            false => arguments.to_string(),
        };
        let chars: Vec<char> = text.chars().collect();
        let at = random.below(chars.len() + 1);
        let pieces = [&chars[..at], &chars[at..]].map(|piece| piece.iter().collect::<String>());
        let entry = |first: bool, piece: &str| {
            let mut entry = json!({"function": {"arguments": piece}});
            if style != 1 {
                entry["index"] = json!(if style == 2 { 0 } else { n });
            }
            if first {
                entry["id"] = json!(id);
                entry["function"]["name"] = json!(name);
            }
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]})
        };
        queues.push(vec![entry(true, &pieces[0]), entry(false, &pieces[1])]);
    }
    if style != 3 {
        return queues.concat();
    }
    // All openings first, in order; then the rest in any order.
    let mut events: Vec<Value> = queues.iter().map(|queue| queue[0].clone()).collect();
    let mut rest: Vec<Value> = queues
        .into_iter()
        .map(|mut queue| queue.remove(1))
        .collect();
    while !rest.is_empty() {
        events.push(rest.remove(random.below(rest.len())));
    }
    events
}
