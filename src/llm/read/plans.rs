//! Alignment plans.

use super::body::Body;
use super::fields::{self, as_text, snake};
use super::{PlanEntry, Read, ReadError};
use crate::llm::Finish;
use serde_json::{Map, Value};

const PLAN_LISTS: [&str; 6] = [
    "plan",
    "alignment_plan",
    "items",
    "steps",
    "instructions",
    "results",
];
const PLAN_NAMES: [&str; 8] = [
    "text",
    "instruction",
    "guideline",
    "item",
    "description",
    "action",
    "content",
    "value",
];
const ASPECT_NAMES: [&str; 4] = ["aspect", "type", "kind", "category"];
const SLOT_NAMES: [&str; 3] = ["slot", "parameter", "param"];

/// The alignment plan. Shape: `{"plan": [{"aspect": "style", "text": "…", "slot": "…"}]}`, or lists
/// under the aspects' names.
pub fn plan(text: &str, finish: &Finish) -> Result<Read<Vec<PlanEntry>>, ReadError> {
    let body = Body::new(text, finish, "plan")?;
    let found = body.first(|value| plan_list(value, ""));
    let (value, truncated) = match found {
        Some(found) => found,
        None => {
            let lines = body.lines(false).ok_or_else(|| body.unreadable())?;
            let plain = |text| PlanEntry {
                aspect: String::new(),
                text,
                slot: None,
            };
            (lines.into_iter().map(plain).collect(), body.cut)
        }
    };
    Ok(Read {
        value,
        truncated,
        problems: Vec::new(),
    })
}

fn plan_list(value: &Value, aspect: &str) -> Option<Vec<PlanEntry>> {
    match value {
        Value::Array(items) => {
            let all: Vec<PlanEntry> = items
                .iter()
                .filter_map(|item| plan_entry(item, aspect))
                .collect();
            (all.len() * 2 > items.len() || items.is_empty()).then_some(all)
        }
        Value::Object(object) => {
            let inner = fields::field(object, &PLAN_LISTS);
            match inner.filter(|inner| inner.is_array() || inner.is_object()) {
                Some(inner) => plan_list(inner, aspect),
                None => plan_by_aspect(object)
                    .or_else(|| plan_entry(value, aspect).map(|entry| vec![entry])),
            }
        }
        _ => None,
    }
}

fn plan_entry(item: &Value, aspect: &str) -> Option<PlanEntry> {
    match item {
        Value::Object(object) => {
            let own = fields::text(object, &ASPECT_NAMES).map(|own| aspect_name(&own));
            Some(PlanEntry {
                aspect: own.unwrap_or_else(|| aspect.to_owned()),
                text: fields::text(object, &PLAN_NAMES)?,
                slot: fields::text(object, &SLOT_NAMES),
            })
        }
        _ => Some(PlanEntry {
            aspect: aspect.to_owned(),
            text: item.as_str().and(as_text(item))?,
            slot: None,
        }),
    }
}

/// `{"style": ["…"], "constraints": [{"slot": "…", "text": "…"}]}`.
fn plan_by_aspect(object: &Map<String, Value>) -> Option<Vec<PlanEntry>> {
    let known = |name: &str| {
        [
            "style",
            "structure",
            "constraint",
            "priority",
            "content",
            "tone",
            "format",
        ]
        .contains(&aspect_name(name).as_str())
    };
    if !object
        .iter()
        .any(|(name, value)| known(name) && !value.is_null())
    {
        return None;
    }
    // A single entry has an aspect field and a text; it is no map of aspects.
    if fields::field(object, &ASPECT_NAMES).is_some_and(Value::is_string) {
        return None;
    }
    let mut all = Vec::new();
    for (name, value) in object {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let aspect = aspect_name(name);
        all.extend(items.iter().filter_map(|item| plan_entry(item, &aspect)));
    }
    Some(all)
}

fn aspect_name(word: &str) -> String {
    match snake(word).as_str() {
        "constraints" | "constraint" => "constraint".to_owned(),
        "priorities" | "priority" => "priority".to_owned(),
        "styles" | "style" => "style".to_owned(),
        "structures" | "structure" => "structure".to_owned(),
        other => other.to_owned(),
    }
}
