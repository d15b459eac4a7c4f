//! Takes keys out of texts before anybody sees or stores them.
//!
//! Works without a pattern engine: the page carries this code, and the rules are few.

use super::ApiKey;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

/// Shown in place of what was taken out.
const MARK: &str = "[key]";

/// Query parameters and JSON or header names whose values are secrets.
const SECRET_NAMES: [&str; 9] = [
    "key",
    "api_key",
    "api-key",
    "apikey",
    "access_token",
    "x-api-key",
    "x-goog-api-key",
    "authorization",
    "proxy-authorization",
];

/// Beginnings of keys as the large providers make them, and the shortest length that counts.
const KEY_SHAPES: [(&str, usize); 8] = [
    ("sk-", 16),
    ("sk_", 16),
    ("gsk_", 16),
    ("AIza", 20),
    ("hf_", 16),
    ("nvapi-", 16),
    ("xai-", 16),
    ("pplx-", 16),
];

/// Replaces every configured key, the values of `key=` queries and of authorisation headers, and
/// what has the shape of a well-known kind of key.
pub fn scrub(text: &str, keys: &[&ApiKey]) -> String {
    let mut out = text.to_owned();
    for key in keys {
        out = without_key(out, key.expose());
    }
    shapes(&named(&bearer(&out)))
}

/// Whether the text holds a configured key, plain, percent-encoded or as JSON writes it: the check
/// before an export.
pub fn holds_key(text: &str, keys: &[&ApiKey]) -> bool {
    let held = |key: &&ApiKey| forms(key.expose()).iter().any(|form| text.contains(form));
    keys.iter().any(held)
}

/// A file without the keys in use; `None` when it holds none, so that it may go out as it is. A
/// gzip'd file is looked into and packed again.
pub fn cleaned(file: &[u8], keys: &[&ApiKey]) -> Option<Vec<u8>> {
    if !file.starts_with(&[0x1f, 0x8b]) {
        let text = String::from_utf8_lossy(file);
        return holds_key(&text, keys).then(|| without_keys(&text, keys).into_bytes());
    }
    let mut text = String::new();
    MultiGzDecoder::new(file).read_to_string(&mut text).ok()?;
    if !holds_key(&text, keys) {
        return None;
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed
        .write_all(without_keys(&text, keys).as_bytes())
        .ok()?;
    packed.finish().ok()
}

/// The text without the keys in use; nothing else is touched.
pub fn without_keys(text: &str, keys: &[&ApiKey]) -> String {
    let all = keys.iter();
    all.fold(text.to_owned(), |text, key| without_key(text, key.expose()))
}

/// The ways in which a file may spell a key.
fn forms(key: &str) -> Vec<String> {
    let quoted = serde_json::to_string(key).unwrap_or_default();
    let quoted = quoted.trim_matches('"').to_owned();
    vec![key.to_owned(), percent_encoded(key), quoted]
}

fn without_key(text: String, key: &str) -> String {
    let forms = forms(key);
    forms
        .iter()
        .fold(text, |text, form| text.replace(form, MARK))
}

fn percent_encoded(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// `Bearer x` and `Basic x` wherever they stand.
fn bearer(text: &str) -> String {
    let mut out = text.to_owned();
    for scheme in ["bearer ", "basic "] {
        out = replace_after(&out, scheme, |value| {
            value.len() >= 6 && value != MARK && value.bytes().any(|b| !b.is_ascii_alphabetic())
        });
    }
    out
}

/// `name=value`, `name: value` and `"name": "value"` of secret names.
fn named(text: &str) -> String {
    let mut out = text.to_owned();
    for name in SECRET_NAMES {
        for joint in ["=", ": ", ":", "\": \"", "\":\"", "\\\":\\\"", "\\\": \\\""] {
            // A bare "key: value" is prose more often than a secret.
            if name == "key" && joint != "=" {
                continue;
            }
            let lead = format!("{name}{joint}");
            out = replace_after(&out, &lead, |value| value != MARK && !value.is_empty());
        }
    }
    out
}

/// Replaces the secret that follows each `lead` (any case) when `wanted` says so.
fn replace_after(text: &str, lead: &str, wanted: impl Fn(&str) -> bool) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    while let Some(found) = lower[done..].find(lead) {
        let at = done + found;
        let start = at + lead.len();
        let value = secret_at(&text[start..]);
        out.push_str(&text[done..start]);
        if begins_a_word(text, at) && wanted(value) && !is_scheme(value) {
            out.push_str(MARK);
        } else {
            out.push_str(value);
        }
        done = start + value.len();
    }
    out.push_str(&text[done..]);
    out
}

/// `Authorization: Bearer x`: the value is after the scheme, which `bearer` looks at.
fn is_scheme(value: &str) -> bool {
    value.eq_ignore_ascii_case("bearer") || value.eq_ignore_ascii_case("basic")
}

/// So that `monkey=` is not `key=`.
fn begins_a_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    !before.is_some_and(|c| c.is_alphanumeric())
}

fn secret_at(text: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || "\"'`&,;<>(){}\\#".contains(c) || !c.is_ascii();
    let end = text.find(ends).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ':', '!', '?'])
}

/// What looks like a key of a well-known kind, for example in "Incorrect API key provided: sk-…".
fn shapes(text: &str) -> String {
    let mut out = text.to_owned();
    for (shape, shortest) in KEY_SHAPES {
        let lead = shape.to_ascii_lowercase();
        let mut clean = String::with_capacity(out.len());
        let mut rest = out.as_str();
        while let Some(at) = rest.to_ascii_lowercase().find(&lead) {
            let value = secret_at(&rest[at..]);
            clean.push_str(&rest[..at]);
            let word = begins_a_word(rest, at);
            let long = value.len() >= shortest;
            clean.push_str(if word && long { MARK } else { value });
            let taken = value.len().max(lead.len());
            if value.len() < taken {
                clean.push_str(&rest[at + value.len()..at + taken]);
            }
            rest = &rest[at + taken..];
        }
        clean.push_str(rest);
        out = clean;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let key = ApiKey::new("my/own+KEY-42").expect("a key");
        assert_eq!(scrub(text, &[&key]), expected);
    }

    #[test]
    fn configured_keys_go_in_any_encoding() {
        check("sent my/own+KEY-42.", "sent [key].");
        check(
            "https://h/?q=my%2Fown%2BKEY-42&x=1",
            "https://h/?q=[key]&x=1",
        );
    }

    #[test]
    fn queries_and_headers_go_without_being_configured() {
        check(
            "https://h/v1beta/models/g:generateContent?key=AIzaFAKE failed",
            "https://h/v1beta/models/g:generateContent?key=[key] failed",
        );
        check("?alt=sse&key=abc&b=2", "?alt=sse&key=[key]&b=2");
        check(
            "Authorization: Bearer abc-123 sent",
            "Authorization: Bearer [key] sent",
        );
        check("authorization: abc123", "authorization: [key]");
        check(
            "{\"Authorization\":\"Bearer x.y.z-9\"}",
            "{\"Authorization\":\"Bearer [key]\"}",
        );
        check("{\"x-api-key\": \"abc\"}", "{\"x-api-key\": \"[key]\"}");
        check("x-goog-api-key: abc", "x-goog-api-key: [key]");
        check("Api_Key=abc", "Api_Key=[key]");
    }

    #[test]
    fn shapes_of_well_known_keys_go() {
        check(
            "Incorrect API key provided: sk-proj-abcdefghijklmnop. See",
            "Incorrect API key provided: [key]. See",
        );
        check("AIzaSyA1234567890abcdefghij", "[key]");
    }

    #[test]
    fn prose_stays() {
        for text in [
            "the bearer token is missing",
            "monkey=banana",
            "the key: be brief",
            "risk-averse",
            "sk-",
            "密钥 key=",
            "Bearer 密钥",
            "",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn scrubbing_twice_changes_nothing() {
        let once = scrub(
            "?key=abc Authorization: Bearer sk-abcdefghijklmnopqrst",
            &[],
        );
        assert_eq!(scrub(&once, &[]), once);
    }

    #[test]
    fn a_key_is_found_before_an_export() {
        let key = ApiKey::new("my/own+KEY-42").expect("a key");
        assert!(holds_key("…my%2Fown%2BKEY-42…", &[&key]));
        assert!(!holds_key("my/own", &[&key]));
    }

    #[test]
    fn files_are_cleaned_also_when_packed_and_left_alone_otherwise() {
        let key = ApiKey::new(r#"odd"key\42"#).expect("a key");
        let json = serde_json::json!({ "note": r#"mine is odd"key\42, yours?"# }).to_string();
        let expected = r#"{"note":"mine is [key], yours?"}"#;
        let clean = cleaned(json.as_bytes(), &[&key]).expect("a key inside");
        assert_eq!(String::from_utf8(clean).expect("text"), expected);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(json.as_bytes()).expect("memory");
        let packed = packed.finish().expect("memory");
        let clean = cleaned(&packed, &[&key]).expect("a key inside");
        let mut text = String::new();
        MultiGzDecoder::new(clean.as_slice())
            .read_to_string(&mut text)
            .expect("gzip");
        assert_eq!(text, expected);
        let other = ApiKey::new("another-key").expect("a key");
        assert_eq!(cleaned(json.as_bytes(), &[&other]), None);
        assert_eq!(cleaned(&packed, &[&other]), None);
        assert_eq!(cleaned(&[0x1f, 0x8b, 1, 2], &[&key]), None);
    }
}
