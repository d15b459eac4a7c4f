//! Fields under one of several names.

use serde_json::{Map, Value};

/// The first of `names` that the object has, whatever the case of its letters.
pub fn field<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| {
        object.get(*name).or_else(|| {
            let same = |(key, _): &(&String, &Value)| snake(key) == *name;
            object.iter().find(same).map(|(_, value)| value)
        })
    })
}

/// Text under one of `names`; numbers count as text.
pub fn text(object: &Map<String, Value>, names: &[&str]) -> Option<String> {
    field(object, names).and_then(as_text)
}

pub fn as_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// A list of texts, or one text with commas.
pub fn texts(object: &Map<String, Value>, names: &[&str]) -> Vec<String> {
    match field(object, names) {
        Some(Value::Array(items)) => items.iter().filter_map(as_text).collect(),
        Some(Value::String(text)) => {
            let parts = text.split([',', ';', '，', '、']).map(str::trim);
            parts
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        }
        Some(value) => as_text(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// `Explicit Revision` → `explicit_revision`.
pub fn snake(text: &str) -> String {
    text.trim().to_lowercase().replace([' ', '-'], "_")
}
