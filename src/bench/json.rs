//! JSON text to records: unknown fields and lone surrogates become warnings, everything else that
//! does not fit becomes a fault that names its field.

use super::error::{Fault, Warning};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// Warnings of one file; the same unknown field is named once, with its first line.
pub struct Warnings {
    place: String,
    list: Vec<Warning>,
    unknown: BTreeSet<String>,
}

impl Warnings {
    pub fn new(place: &str) -> Self {
        Self {
            place: place.to_owned(),
            list: Vec::new(),
            unknown: BTreeSet::new(),
        }
    }

    pub fn add(&mut self, line: Option<u32>, text: impl Into<String>) {
        self.list.push(Warning {
            place: self.place.clone(),
            line,
            text: text.into(),
        });
    }

    pub fn into_list(self) -> Vec<Warning> {
        self.list
    }

    fn unknown_field(&mut self, line: Option<u32>, path: &str) {
        if self.unknown.insert(without_indices(path)) {
            self.add(
                line,
                format!("the field `{path}` is unknown and was ignored"),
            );
        }
    }
}

/// Reads one record. `line` is its place in a JSON Lines file.
pub fn parse<T: DeserializeOwned>(
    text: &str,
    line: Option<u32>,
    warnings: &mut Warnings,
) -> Result<T, Fault> {
    let first = parse_strictly(text, line);
    let (record, unknown) = match (first, repair_surrogates(text)) {
        (Ok(read), _) => read,
        (Err(fault), None) => return Err(fault),
        (Err(_), Some(repaired)) => {
            let read = parse_strictly(&repaired, line)?;
            warnings.add(
                line,
                "half of a surrogate pair stands alone in a string; it was replaced by U+FFFD",
            );
            read
        }
    };
    for path in unknown {
        warnings.unknown_field(line, &path);
    }
    Ok(record)
}

fn parse_strictly<T: DeserializeOwned>(
    text: &str,
    line: Option<u32>,
) -> Result<(T, Vec<String>), Fault> {
    let mut unknown = Vec::new();
    let mut json = serde_json::Deserializer::from_str(text);
    let mut note = |path: serde_ignored::Path<'_>| unknown.push(path.to_string());
    let counting = serde_ignored::Deserializer::new(&mut json, &mut note);
    let record = serde_path_to_error::deserialize(counting).map_err(|error| {
        // The whole record is `.`, and a place without a name, as before a bad key, `?`.
        let path = error.path().to_string();
        let field = path.trim_end_matches('?').trim_end_matches('.');
        fault(line, field.to_owned(), error.inner())
    })?;
    json.end()
        .map_err(|error| fault(line, String::new(), &error))?;
    Ok((record, unknown))
}

fn fault(line: Option<u32>, field: String, error: &serde_json::Error) -> Fault {
    let what = if error.is_data() {
        "does not fit"
    } else {
        "is not JSON"
    };
    // serde_json counts lines within the text it was given: in JSON Lines that is always 1.
    let text = match (error.to_string().split_once(" at line "), line) {
        (Some((reason, _)), Some(_)) => format!("{what}: {reason} at column {}", error.column()),
        _ => format!("{what}: {error}"),
    };
    Fault { line, field, text }
}

/// Replaces escapes like `\ud800` that have no partner; `None` when there are none.
fn repair_surrogates(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (escape, lone) = next_escape(&rest[at..]);
        out.push_str(if lone { "\\ufffd" } else { escape });
        found |= lone;
        rest = &rest[at + escape.len()..];
    }
    out.push_str(rest);
    found.then_some(out)
}

/// The escape (or whole surrogate pair) at the start of `text`, and whether it is a lone half.
fn next_escape(text: &str) -> (&str, bool) {
    match escaped_unit(text) {
        Some(0xd800..=0xdbff) => match text.get(6..).and_then(escaped_unit) {
            Some(0xdc00..=0xdfff) => (&text[..12], false),
            _ => (&text[..6], true),
        },
        Some(0xdc00..=0xdfff) => (&text[..6], true),
        Some(_) => (&text[..6], false),
        None => {
            let length = text.chars().take(2).map(char::len_utf8).sum();
            (&text[..length], false)
        }
    }
}

fn escaped_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

fn without_indices(path: &str) -> String {
    let part = |part: &str| {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            "*".to_owned()
        } else {
            part.to_owned()
        }
    };
    path.split('.').map(part).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_kept() {
        for (text, want) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\udc00""#, "\u{fffd}"),
            (r#""\ud83d\ude00 \ud83d""#, "😀 \u{fffd}"),
            (r#""\\ud800 \ud800""#, "\\ud800 \u{fffd}"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
        ] {
            let mut warnings = Warnings::new("f");
            let value: Value = parse(text, Some(7), &mut warnings).unwrap();
            assert_eq!(value, Value::from(want), "{text}");
            assert_eq!(warnings.into_list()[0].line, Some(7), "{text}");
        }
    }

    #[test]
    fn a_place_without_a_name_is_not_named() {
        for text in ["{{}", r#"{"a":1,]}"#] {
            let fault = parse::<Value>(text, Some(2), &mut Warnings::new("f")).unwrap_err();
            let said = fault.to_string();
            assert!(said.starts_with("line 2: is not JSON: "), "{text}: {said}");
        }
    }

    #[test]
    fn sound_text_is_not_warned_about() {
        let mut warnings = Warnings::new("f");
        let value: Value = parse(r#""\\ud800 \ud83d\ude00""#, None, &mut warnings).unwrap();
        assert_eq!(value, Value::from("\\ud800 😀"));
        assert!(warnings.into_list().is_empty());
    }
}
