//! Compacted passages and the preferences found in them.

use super::body::Body;
use super::entries::{self, Given};
use super::fields::{self, as_text, snake};
use super::ids::Ids;
use super::{CompactText, PreferenceItem, Read, ReadError};
use crate::llm::Finish;
use serde_json::{Map, Value};

const PREFERENCE_LISTS: [&str; 5] = [
    "preferences",
    "user_preferences",
    "extracted_preferences",
    "items",
    "results",
];
const PREFERENCE_NAMES: [&str; 7] = [
    "text",
    "preference",
    "statement",
    "description",
    "content",
    "summary",
    "value",
];
const KIND_NAMES: [&str; 4] = ["kind", "type", "category", "signal"];
const PASSAGE_NAMES: [&str; 8] = [
    "passages",
    "passage_ids",
    "passage",
    "evidence",
    "sources",
    "source",
    "ids",
    "support",
];
const TEXT_NAMES: [&str; 6] = ["text", "summary", "content", "compact", "note", "evidence"];

/// Notes on passages. Shape: `{"items": [{"id": "p1", "text": "…"}]}`, one for each of `ids`, in
/// their order.
pub fn compact(
    text: &str,
    finish: &Finish,
    ids: &[String],
) -> Result<Read<Vec<CompactText>>, ReadError> {
    texts(Body::new(text, finish, "compacted passages")?, ids)
}

/// Answers to questions, in the shape of [`compact`].
pub fn answers(
    text: &str,
    finish: &Finish,
    ids: &[String],
) -> Result<Read<Vec<CompactText>>, ReadError> {
    texts(Body::new(text, finish, "answers")?, ids)
}

fn texts(body: Body, ids: &[String]) -> Result<Read<Vec<CompactText>>, ReadError> {
    let carries = |value: &Value| compact_text(value).is_some();
    let found = entries::read(&body, ids, carries).ok_or_else(|| body.unreadable())?;
    let item = |(id, given): (&String, &Given)| CompactText {
        id: id.clone(),
        text: match given {
            Given::One(value) => compact_text(value),
            _ => None,
        },
    };
    Ok(Read {
        value: ids.iter().zip(&found.given).map(item).collect(),
        truncated: found.truncated,
        problems: found.problems,
    })
}

fn compact_text(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) => fields::text(object, &TEXT_NAMES),
        Value::String(_) => as_text(value),
        _ => None,
    }
}

/// Preferences found; an empty list is an answer. Shape:
/// `{"preferences": [{"text": "…", "kind": "corrected", "passages": ["p1"]}]}`.
pub fn preferences(
    text: &str,
    finish: &Finish,
    ids: &[String],
) -> Result<Read<Vec<PreferenceItem>>, ReadError> {
    let body = Body::new(text, finish, "preferences")?;
    let found = body.first(preference_list);
    let (found, truncated) = match found {
        Some(found) => found,
        None => {
            let lines = body.lines(false).ok_or_else(|| body.unreadable())?;
            let plain = |text| RawPreference {
                text,
                ..RawPreference::default()
            };
            (lines.into_iter().map(plain).collect(), body.cut)
        }
    };
    let mut problems = Vec::new();
    let value = found
        .into_iter()
        .map(|raw| raw.checked(ids, &mut problems))
        .collect();
    Ok(Read {
        value,
        truncated,
        problems,
    })
}

#[derive(Default)]
struct RawPreference {
    text: String,
    kind: Option<String>,
    passages: Vec<String>,
}

impl RawPreference {
    /// Passages that were not offered are left out and said.
    fn checked(self, ids: &[String], problems: &mut Vec<String>) -> PreferenceItem {
        let places = Ids::new(ids, &self.passages);
        let mut passages: Vec<String> = Vec::new();
        for passage in &self.passages {
            match places.place(passage) {
                Some(at) if !passages.contains(&ids[at]) => passages.push(ids[at].clone()),
                Some(_) => {}
                None => problems.push(format!("the unknown passage {passage:?} was left out")),
            }
        }
        PreferenceItem {
            text: self.text,
            kind: self.kind,
            passages,
        }
    }
}

fn preference_list(value: &Value) -> Option<Vec<RawPreference>> {
    match value {
        Value::Array(items) => {
            let all: Vec<RawPreference> = items.iter().filter_map(preference).collect();
            (all.len() * 2 > items.len() || items.is_empty()).then_some(all)
        }
        Value::Object(object) => match fields::field(object, &PREFERENCE_LISTS) {
            Some(inner @ (Value::Array(_) | Value::Object(_))) => preference_list(inner),
            Some(one @ Value::String(_)) => preference(one).map(|one| vec![one]),
            _ => preferences_by_kind(object).or_else(|| preference(value).map(|one| vec![one])),
        },
        _ => None,
    }
}

fn preference(item: &Value) -> Option<RawPreference> {
    match item {
        Value::Object(object) => Some(RawPreference {
            text: fields::text(object, &PREFERENCE_NAMES)?,
            kind: fields::text(object, &KIND_NAMES).and_then(|kind| preference_kind(&kind)),
            passages: fields::texts(object, &PASSAGE_NAMES),
        }),
        Value::String(_) => Some(RawPreference {
            text: as_text(item)?,
            ..RawPreference::default()
        }),
        _ => None,
    }
}

/// `{"asked": ["…"], "rejected": ["…"]}`.
fn preferences_by_kind(object: &Map<String, Value>) -> Option<Vec<RawPreference>> {
    let kinds = object
        .iter()
        .filter(|(name, value)| value.is_array() && preference_kind(name).is_some());
    let mut all = Vec::new();
    let mut any = false;
    for (name, items) in kinds {
        any = true;
        for mut one in items
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(preference)
        {
            one.kind = preference_kind(name);
            all.push(one);
        }
    }
    any.then_some(all)
}

/// The five things extraction looks for (`method.json`), by the words models use for them.
fn preference_kind(word: &str) -> Option<String> {
    let word = snake(word);
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    let kind = match () {
        () if has(&["correct", "revis", "complain"]) => "corrected",
        () if has(&["reject", "dislike", "avoid"]) => "rejected",
        () if has(&["repeat", "habit", "pattern", "chosen", "chose", "implicit"]) => "repeated",
        () if has(&["updat", "recent", "changed", "latest"]) => "updated",
        () if has(&["ask", "request", "stated", "direct", "explicit"]) => "asked",
        () => return None,
    };
    Some(kind.to_owned())
}
