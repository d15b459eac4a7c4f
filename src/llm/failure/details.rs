//! Message, code and kind out of an error body of any shape.

use serde_json::Value;

/// What a body tells about a failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    pub message: String,
    pub code: Option<String>,
    /// The provider's word for the class, for example `insufficient_quota`.
    pub kind: String,
    pub param: Option<String>,
}

/// Longest message shown.
const SHOWN_CHARS: usize = 300;

/// Message, code and kind of an error body, whatever its shape; never an empty message.
pub fn details(body: &str) -> Details {
    let body = body.trim();
    let found = serde_json::from_str::<Value>(body)
        .ok()
        .and_then(|value| details_of(&value, 0));
    found.unwrap_or_else(|| Details {
        message: plain(body),
        ..Details::default()
    })
}

/// The text of a page, or the start of whatever it is.
fn plain(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    if lower.starts_with("<?xml") || lower.starts_with("<error") {
        return shorten(&without_tags(body));
    }
    if !lower.starts_with("<!doctype") && !lower.starts_with("<html") {
        // `null`, `{}` and the like say nothing.
        let says = body.chars().any(char::is_alphanumeric) && body != "null";
        return if says { shorten(body) } else { String::new() };
    }
    let title = lower.find("<title>").and_then(|from| {
        let from = from + "<title>".len();
        let end = lower[from..].find('<')?;
        Some(body[from..from + end].trim())
    });
    match title {
        Some(title) if !title.is_empty() => format!("a web page titled {title:?}"),
        _ => "a web page instead of JSON".to_owned(),
    }
}

/// The words of an XML body.
fn without_tags(body: &str) -> String {
    let texts = body.split('<').filter_map(|part| part.split_once('>'));
    let words = texts
        .map(|(_, text)| text.trim())
        .filter(|text| !text.is_empty());
    words.collect::<Vec<_>>().join(": ")
}

pub fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Nesting below this is not looked at; real bodies need three levels.
const DEEPEST: u8 = 6;

pub fn details_of(value: &Value, depth: u8) -> Option<Details> {
    if depth > DEEPEST {
        return None;
    }
    match value {
        Value::String(text) => details_of_text(text, depth),
        Value::Array(items) => joined(items, depth),
        Value::Object(_) => details_of_object(value, depth),
        _ => None,
    }
}

/// A message is sometimes a JSON body once more.
fn details_of_text(text: &str, depth: u8) -> Option<Details> {
    let text = text.trim();
    if text.starts_with(['{', '['])
        && let Ok(inner) = serde_json::from_str::<Value>(text)
        && let Some(found) = details_of(&inner, depth + 1)
    {
        return Some(found);
    }
    (!text.is_empty()).then(|| Details {
        message: shorten(text),
        ..Details::default()
    })
}

/// Several errors, as validators give them; the first one's code and parameter count.
fn joined(items: &[Value], depth: u8) -> Option<Details> {
    let mut all = items.iter().filter_map(|item| details_of(item, depth + 1));
    let mut first = all.next()?;
    for next in all {
        first.message = shorten(&format!("{}; {}", first.message, next.message));
    }
    Some(first)
}

fn details_of_object(value: &Value, depth: u8) -> Option<Details> {
    const MESSAGES: [&str; 20] = [
        "error",
        "errors",
        "message",
        "msg",
        "Message",
        "detail",
        "details",
        "error_message",
        "error_msg",
        "errorMessage",
        "error_description",
        "errmsg",
        "status_msg",
        "base_resp",
        "fault",
        "faultstring",
        "failure",
        "reason",
        "title",
        "description",
    ];
    let inner = MESSAGES
        .iter()
        .filter_map(|name| value.get(*name))
        .find_map(|inner| details_of(inner, depth + 1));
    let kind = text_of(value, &["type", "status", "error_type"]).unwrap_or_default();
    let code = text_of(
        value,
        &[
            "code",
            "error_code",
            "errorCode",
            "status_code",
            "statusCode",
            "errcode",
        ],
    );
    let mut found = inner.or_else(|| named_only(&kind, code.as_deref()))?;
    found.code = found.code.or(code);
    if found.kind.is_empty() {
        found.kind = kind;
    }
    found.param = found.param.or_else(|| param(value));
    if let Some(place) = location(value) {
        found.message = format!("{place}: {}", found.message);
    }
    if let Some(cause) = upstream(value, depth) {
        found.message = shorten(&format!("{}: {cause}", found.message));
    }
    Some(found)
}

/// A body with a code but no words.
fn named_only(kind: &str, code: Option<&str>) -> Option<Details> {
    let message = if kind.is_empty() { code? } else { kind };
    Some(Details {
        message: shorten(message),
        ..Details::default()
    })
}

fn text_of(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match value.get(*name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

fn param(value: &Value) -> Option<String> {
    let named = value.get("param").and_then(Value::as_str);
    let placed = || value.get("loc")?.as_array()?.last()?.as_str();
    named.or_else(placed).map(str::to_owned)
}

/// `body.model` of a validator's error.
fn location(value: &Value) -> Option<String> {
    let parts = value.get("loc")?.as_array()?.iter();
    let words = parts.map(|part| {
        part.as_str()
            .map_or_else(|| part.to_string(), str::to_owned)
    });
    Some(words.collect::<Vec<_>>().join("."))
}

/// What the provider behind a router said, and what a model wrote that was refused.
fn upstream(value: &Value, depth: u8) -> Option<String> {
    let raw = value.get("metadata").and_then(|data| data.get("raw"));
    let raw = raw.or_else(|| value.get("failed_generation"))?;
    details_of(raw, depth + 1).map(|details| details.message)
}
