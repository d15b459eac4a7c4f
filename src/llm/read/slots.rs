//! Slots of an API template.

use super::body::Body;
use super::fields::{self, snake};
use super::{Read, ReadError, Slots};
use crate::bench::taxonomy::{ApiTemplate, Slot};
use crate::llm::Finish;
use serde_json::{Map, Value};

const CONTAINERS: [&str; 7] = [
    "slots",
    "arguments",
    "parameters",
    "params",
    "args",
    "input",
    "body",
];
const DESCRIPTION_NAMES: [&str; 4] = ["description", "summary", "explanation", "rationale"];

/// Slots of a template. Shape: `{"slots": {"name": value}, "description": "…"}`; also flat, or as the
/// arguments of a call.
pub fn slots(
    text: &str,
    finish: &Finish,
    template: &ApiTemplate,
) -> Result<Read<Slots>, ReadError> {
    let body = Body::new(text, finish, "slots")?;
    let found = body.first(|value| {
        let given = given(value, template)?;
        let own = |name: &&&str| !template.slots.iter().any(|slot| slot.name == **name);
        let names: Vec<&str> = DESCRIPTION_NAMES.iter().filter(own).copied().collect();
        let description = value
            .as_object()
            .and_then(|object| fields::text(object, &names));
        Some((given, description))
    });
    let ((given, description), truncated) = found.ok_or_else(|| body.unreadable())?;
    let mut problems = unknown(&given, template);
    let mut slots = Map::new();
    for slot in &template.slots {
        match find(&given, &slot.name) {
            Some(value) => {
                let value = in_kind(value, slot, &mut problems);
                slots.insert(slot.name.clone(), value);
            }
            None if slot.required => problems.push(format!("the slot {} is missing", slot.name)),
            None => {}
        }
    }
    Ok(Read {
        value: Slots { slots, description },
        truncated,
        problems,
    })
}

/// Name to value as the answer has it.
fn given(value: &Value, template: &ApiTemplate) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) if is_flat(object, template) => Some(object.clone()),
        Value::Object(object) => match fields::field(object, &CONTAINERS)? {
            // Arguments of a call are sometimes text.
            Value::String(text) => given(&serde_json::from_str(text).ok()?, template),
            inner => given(inner, template),
        },
        Value::Array(items) => {
            let pairs = items.iter().filter_map(|item| {
                let object = item.as_object()?;
                let name = fields::text(object, &["name", "slot", "parameter"])?;
                Some((name, fields::field(object, &["value"])?.clone()))
            });
            let map: Map<String, Value> = pairs.collect();
            is_flat(&map, template).then_some(map)
        }
        _ => None,
    }
}

fn is_flat(object: &Map<String, Value>, template: &ApiTemplate) -> bool {
    template
        .slots
        .iter()
        .any(|slot| find(object, &slot.name).is_some())
}

fn find<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let same = |(key, _): &(&String, &Value)| same_name(key, name);
    object
        .get(name)
        .or_else(|| object.iter().find(same).map(|(_, value)| value))
}

/// `sortBy`, `Sort by` and `sort_by` are one name.
fn same_name(a: &str, b: &str) -> bool {
    let letters = |name: &str| snake(name).replace('_', "");
    letters(a) == letters(b)
}

fn unknown(given: &Map<String, Value>, template: &ApiTemplate) -> Vec<String> {
    let is_slot = |key: &str| template.slots.iter().any(|slot| same_name(&slot.name, key));
    let is_known = |key: &str| is_slot(key) || DESCRIPTION_NAMES.contains(&key);
    let unknown = given.keys().filter(|key| !is_known(key));
    unknown
        .map(|key| format!("{key:?} is no slot of {} and was left out", template.name))
        .collect()
}

/// The value in the slot's type where only its form differs; else as it was written, and said.
fn in_kind(value: &Value, slot: &Slot, problems: &mut Vec<String>) -> Value {
    let value = match value {
        Value::Object(object) => fields::field(object, &["value"]).unwrap_or(value),
        other => other,
    };
    if let Some(options) = &slot.options {
        let same = |option: &&Value| *option == value || same_text(option, value);
        return match options.iter().find(same) {
            Some(option) => option.clone(),
            None => {
                problems.push(format!("{value} is no option of the slot {}", slot.name));
                value.clone()
            }
        };
    }
    match (slot.kind.as_str(), value) {
        ("integer" | "number", Value::String(text)) => number(text).unwrap_or(value.clone()),
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

fn same_text(option: &Value, value: &Value) -> bool {
    match (fields::as_text(option), fields::as_text(value)) {
        (Some(option), Some(value)) => snake(&option) == snake(&value),
        _ => false,
    }
}

fn number(text: &str) -> Option<Value> {
    serde_json::from_str::<serde_json::Number>(text.trim())
        .ok()
        .map(Value::Number)
}
