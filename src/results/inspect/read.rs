//! Result files to rows, whoever wrote them. Reads what it understands and says what it did not:
//! a log is walked field by field, so that one odd field never hides the rest.

use super::sample::{FORMAT, VERSION};
use super::{container, lenient};
use crate::judge::VerdictState;
use crate::results::file::{MessageRow, ScoreRow, ScoreValue};
use crate::results::{Notice, ResultFile, ResultsError, SampleRow};
use crate::run::record::RunRecord;
use serde::Deserialize;
use serde_json::{Map, Value, error::Category};
use std::collections::HashMap;
use std::sync::Arc;

/// Fields of a log that are read, or that say nothing a reader would miss.
const KNOWN: [&str; 16] = [
    "version",
    "status",
    "eval",
    "plan",
    "results",
    "stats",
    "error",
    "invalidated",
    "samples",
    "reductions",
    "tags",
    "metadata",
    "location",
    "etag",
    "log_updates",
    "config_updates",
];

/// Reads JSON or gzip'd JSON. `name` is the file's name, for error messages.
pub fn read(bytes: &[u8], name: &str) -> Result<(ResultFile, Vec<Notice>), ResultsError> {
    let text = container::text(bytes, name)?;
    let (text, infinite) = lenient::finite(&text);
    let log = parse(&text, name)?;
    let mut notes = Notes::default();
    if infinite > 0 {
        notes.say(format!(
            "{infinite} infinite numbers were read as \"unscored\"."
        ));
    }
    notes.log(&log);
    let rows = rows(&log, &mut notes);
    let eval = log.get("eval").unwrap_or(&Value::Null);
    let file = ResultFile {
        name: name.to_owned(),
        task: text_of(eval.get("task")),
        model: text_of(eval.get("model")),
        system: text_of(eval.get("solver")),
        dataset: text_of(eval.pointer("/dataset/name")),
        created: text_of(eval.get("created")),
        status: text_of(log.get("status")),
        rows,
    };
    Ok((file, notes.finish()))
}

fn parse(text: &str, name: &str) -> Result<Map<String, Value>, ResultsError> {
    let file = name.to_owned();
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(&error, name))?;
    let refuse = |why: &str| {
        Err(ResultsError::NotALog {
            file,
            why: why.to_owned(),
        })
    };
    match value {
        Value::Object(log) if log.get("eval").is_some_and(Value::is_object) => Ok(log),
        Value::Object(log) if log.contains_key("shards") => {
            refuse("it has shards, as the manifest of a data set has")
        }
        Value::Object(_) => refuse("it has no object `eval`"),
        Value::Array(_) => refuse("it is a list"),
        _ => refuse("it is a single value"),
    }
}

fn not_json(error: &serde_json::Error, name: &str) -> ResultsError {
    let (file, line, column) = (name.to_owned(), error.line(), error.column());
    match error.classify() {
        Category::Eof => ResultsError::Truncated { file, line, column },
        _ => {
            let full = error.to_string();
            let why = full
                .split(" at line ")
                .next()
                .unwrap_or_default()
                .to_owned();
            ResultsError::NotJson {
                file,
                line,
                column,
                why,
            }
        }
    }
}

/// What was odd, each kind once with its count and its first place.
#[derive(Default)]
struct Notes {
    said: Vec<Notice>,
    counted: Vec<(&'static str, usize, String)>,
}

impl Notes {
    fn say(&mut self, text: String) {
        self.said.push(Notice::new(text));
    }

    /// One more case of `what`; the first place is kept as the example.
    fn count(&mut self, what: &'static str, place: &str) {
        match self.counted.iter_mut().find(|(found, ..)| *found == what) {
            Some((_, n, _)) => *n += 1,
            None => self.counted.push((what, 1, place.to_owned())),
        }
    }

    fn finish(mut self) -> Vec<Notice> {
        for (what, n, place) in std::mem::take(&mut self.counted) {
            let samples = if n == 1 { "sample" } else { "samples" };
            self.say(format!("{n} {samples} {what} (first: {place})."));
        }
        self.said
    }

    fn log(&mut self, log: &Map<String, Value>) {
        match log.get("version").and_then(Value::as_u64) {
            Some(2) => {}
            Some(other) => self.say(format!(
                "The log has version {other}; this page knows version 2 and shows what it understands."
            )),
            None => self.say("The log names no version; it was read as version 2.".to_owned()),
        }
        if log.get("invalidated") == Some(&Value::Bool(true)) {
            self.say("Its author marked this log as invalid.".to_owned());
        }
        if let Some(message) = log.get("error").and_then(|error| error.get("message")) {
            self.say(format!(
                "The run ended with an error: {}",
                text_of(Some(message))
            ));
        }
        let unknown: Vec<&str> = log
            .keys()
            .map(String::as_str)
            .filter(|key| !KNOWN.contains(key))
            .collect();
        if !unknown.is_empty() {
            self.say(format!(
                "Unknown fields were ignored: {}.",
                unknown.join(", ")
            ));
        }
    }
}

fn rows(log: &Map<String, Value>, notes: &mut Notes) -> Vec<SampleRow> {
    let Some(samples) = log.get("samples").and_then(Value::as_array) else {
        notes.say("The log holds no samples, only its summary.".to_owned());
        return Vec::new();
    };
    let mut rows: Vec<SampleRow> = Vec::new();
    let mut places: HashMap<(String, u32), usize> = HashMap::new();
    for (position, sample) in samples.iter().enumerate() {
        let Some(sample) = sample.as_object() else {
            notes.count(
                "are no objects and were ignored",
                &format!("number {}", position + 1),
            );
            continue;
        };
        let row = row(sample, position, notes);
        // Inspect's rule for a sample that was run again: the last entry counts.
        match places.entry((row.instance.clone(), row.epoch)) {
            std::collections::hash_map::Entry::Occupied(place) => {
                notes.count("occur again and replace their first entry", &row.instance);
                rows[*place.get()] = row;
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(rows.len());
                rows.push(row);
            }
        }
    }
    rows
}

fn row(sample: &Map<String, Value>, position: usize, notes: &mut Notes) -> SampleRow {
    let attached = Attachments(sample.get("attachments"));
    let instance = match sample.get("id") {
        Some(Value::String(id)) if !id.is_empty() => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => {
            let name = format!("sample {}", position + 1);
            notes.count("have no id and are named by their position", &name);
            name
        }
    };
    let metadata = sample.get("metadata").unwrap_or(&Value::Null);
    let record = record(metadata, &instance, notes);
    if record.is_none() {
        ignored(sample, &instance, notes);
    }
    SampleRow {
        epoch: sample.get("epoch").and_then(Value::as_u64).unwrap_or(1) as u32,
        domain: metadata
            .get("domain")
            .and_then(Value::as_str)
            .map(str::to_owned),
        input: input(sample.get("input"), &attached),
        output: output(sample, &attached),
        messages: messages(sample.get("messages"), &attached),
        scores: scores(sample.get("scores"), &attached),
        error: sample
            .get("error")
            .filter(|e| !e.is_null())
            .map(|e| text_of(e.get("message"))),
        record,
        instance,
    }
}

/// Our own record, if the sample has one that this version can read.
fn record(metadata: &Value, instance: &str, notes: &mut Notes) -> Option<Arc<RunRecord>> {
    let iba = metadata
        .get("iba")
        .filter(|iba| iba.get("format") == Some(&FORMAT.into()))?;
    if iba.get("version").and_then(Value::as_u64) != Some(VERSION) {
        notes.count(
            "have a record of another version of IBA Lab and show without trace",
            instance,
        );
        return None;
    }
    match RunRecord::deserialize(iba.get("record").unwrap_or(&Value::Null)) {
        Ok(record) => Some(Arc::new(record)),
        Err(error) => {
            let place = format!("{instance}: {error}");
            notes.count("have a damaged record and show without trace", &place);
            None
        }
    }
}

/// Says what a sample has that only Inspect's own viewer shows.
fn ignored(sample: &Map<String, Value>, instance: &str, notes: &mut Notes) {
    let filled = |key: &str| match sample.get(key) {
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        _ => false,
    };
    if filled("events") {
        notes.count(
            "were written by another program: their events are not shown",
            instance,
        );
    }
    if filled("store") {
        notes.count("have a store that is not shown", instance);
    }
}

/// Long texts that Inspect keeps aside and refers to as `attachment://<hash>`.
struct Attachments<'a>(Option<&'a Value>);

impl Attachments<'_> {
    fn resolve(&self, text: &str) -> String {
        let found = text
            .strip_prefix("attachment://")
            .and_then(|hash| self.0?.get(hash)?.as_str());
        found.unwrap_or(text).to_owned()
    }
}

fn input(input: Option<&Value>, attached: &Attachments) -> String {
    match input {
        Some(Value::Array(_)) => {
            let said = messages(input, attached);
            said.iter()
                .map(|m| m.text.as_str())
                .collect::<Vec<_>>()
                .join("\n\n")
        }
        other => attached.resolve(&text_of(other)),
    }
}

fn output(sample: &Map<String, Value>, attached: &Attachments) -> String {
    let output = sample.get("output").unwrap_or(&Value::Null);
    let completion = attached.resolve(&text_of(output.get("completion")));
    if completion.is_empty() {
        content(output.pointer("/choices/0/message/content"), attached)
    } else {
        completion
    }
}

fn messages(messages: Option<&Value>, attached: &Attachments) -> Vec<MessageRow> {
    let list = messages
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let row = |message: &Value| MessageRow {
        role: text_of(message.get("role")),
        text: content(message.get("content"), attached),
    };
    list.iter().map(row).collect()
}

/// Text of a message: as it is, or the text parts of a list.
fn content(content: Option<&Value>, attached: &Attachments) -> String {
    let part = |part: &Value| match part.get("type").and_then(Value::as_str) {
        Some("text") => attached.resolve(&text_of(part.get("text"))),
        Some("reasoning") => String::new(),
        Some(kind) => format!("[{kind}]"),
        None => attached.resolve(&text_of(Some(part))),
    };
    match content {
        Some(Value::Array(parts)) => {
            let texts = parts.iter().map(part).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => attached.resolve(&text_of(other)),
    }
}

fn scores(scores: Option<&Value>, attached: &Attachments) -> Vec<ScoreRow> {
    let Some(scores) = scores.and_then(Value::as_object) else {
        return Vec::new();
    };
    let row = |(scorer, score): (&String, &Value)| ScoreRow {
        scorer: scorer.clone(),
        value: value(score.get("value").unwrap_or(&Value::Null)),
        explanation: attached.resolve(&text_of(score.get("explanation"))),
    };
    scores.iter().map(row).collect()
}

fn value(value: &Value) -> ScoreValue {
    match value {
        Value::Null => ScoreValue::Unscored,
        Value::Bool(true) => ScoreValue::Number(1.0),
        Value::Bool(false) => ScoreValue::Number(0.0),
        Value::Number(n) => n.as_f64().map_or(ScoreValue::Unscored, ScoreValue::Number),
        Value::String(text) => ScoreValue::Text(text.clone()),
        Value::Object(map) => match map.iter().map(verdict).collect() {
            Some(verdicts) => ScoreValue::Verdicts(verdicts),
            None => ScoreValue::Other(value.to_string()),
        },
        Value::Array(_) => ScoreValue::Other(value.to_string()),
    }
}

fn verdict((key, value): (&String, &Value)) -> Option<(String, VerdictState)> {
    let state = match value {
        Value::String(text) if text == "C" => VerdictState::Met,
        Value::String(text) if text == "I" => VerdictState::NotMet,
        Value::Null => VerdictState::Unscored,
        _ => return None,
    };
    Some((key.clone(), state))
}

/// Text as it is, nothing as nothing, and any other value as JSON.
fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
