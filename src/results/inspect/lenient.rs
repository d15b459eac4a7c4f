//! Bare `NaN`, `Infinity` and `-Infinity`, which Python writes and JSON does not know.

use std::borrow::Cow;

/// Text that serde_json can parse, and how many infinite numbers it lost. Values that are no
/// number become `null`; what stands within strings stays.
pub fn finite(text: &str) -> (Cow<'_, str>, usize) {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return (Cow::Borrowed(text), 0);
    }
    let (mut out, mut infinite, mut rest) = (String::with_capacity(text.len()), 0, text);
    while let Some((before, word, after)) = next(rest) {
        out.push_str(before);
        out.push_str("null");
        infinite += usize::from(word != "NaN");
        rest = after;
    }
    out.push_str(rest);
    (Cow::Owned(out), infinite)
}

/// The first such word outside strings, with what stands before and after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'N' | b'I' | b'-' => match word(&text[at..]) {
                Some(word) => return Some((&text[..at], word, &text[at + word.len()..])),
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    None
}

fn word(text: &str) -> Option<&'static str> {
    ["NaN", "Infinity", "-Infinity"]
        .into_iter()
        .find(|word| text.starts_with(word))
}

/// The place after the string that begins at `at`; the end of the text if it never ends.
fn after_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_outside_strings_change() {
        for (input, expected, infinite) in [
            ("{\"a\": 1}", "{\"a\": 1}", 0),
            ("{\"a\": NaN}", "{\"a\": null}", 0),
            ("[NaN,-Infinity,Infinity,-1]", "[null,null,null,-1]", 2),
            (
                "{\"NaN\": \"NaN \\\" NaN\", \"b\": NaN}",
                "{\"NaN\": \"NaN \\\" NaN\", \"b\": null}",
                0,
            ),
            (
                "{\"a\": \"\\\\\", \"b\": NaN}",
                "{\"a\": \"\\\\\", \"b\": null}",
                0,
            ),
            ("[\"普通 NaN\", NaN]", "[\"普通 NaN\", null]", 0),
            ("[\"open NaN", "[\"open NaN", 0),
            ("[\"open NaN\\", "[\"open NaN\\", 0),
        ] {
            assert_eq!(finite(input), (Cow::from(expected), infinite));
        }
    }
}
