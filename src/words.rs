//! Words and numbers for people: sentences from errors, grouped digits, sizes.

/// An error's words as a sentence: errors start in lower case and have no full stop. A web address
/// and the name of a file keep their case.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    let mut out = match first {
        Some(first) if !begins_with_name(text) => first + chars.as_str(),
        _ => text.to_owned(),
    };
    if !out.is_empty() && !out.ends_with(['.', '!', '?', '…']) {
        out.push('.');
    }
    out
}

/// Whether the first word is an address, a path or a file's name: `shards/p1.jsonl.gz: …`.
fn begins_with_name(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let first = first.trim_end_matches([':', '.', ',', '!', '?', '…']);
    first.contains(['.', '/', '_'])
}

/// The name itself, or with a number where others have it already: `name (2)`.
pub fn numbered(name: String, others: &[String]) -> String {
    let numbered = format!("{name} (");
    let taken = others
        .iter()
        .filter(|other| **other == name || other.starts_with(&numbered));
    match taken.count() {
        0 => name,
        n => format!("{name} ({})", n + 1),
    }
}

/// A number with thin groups, `6 962`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A share of 1 in percent, to a tenth as results show scores: `66.7 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A size for people, `1.4 MB`.
pub fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.0} kB", b / 1e3),
        b => format!("{b} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_become_sentences() {
        let table = [
            ("run.json is empty", "run.json is empty."),
            (
                "shards/p1.jsonl.gz: is empty",
                "shards/p1.jsonl.gz: is empty.",
            ),
            ("cancelled.", "Cancelled."),
            ("cancelled", "Cancelled."),
            (
                "https://host/x does not exist",
                "https://host/x does not exist.",
            ),
            ("“häuser” is not an address", "“häuser” is not an address."),
            ("éclair was dropped!", "Éclair was dropped!"),
            ("", ""),
        ];
        for (error, wanted) in table {
            assert_eq!(sentence(error), wanted);
        }
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, wanted) in [
            (0, "0"),
            (110, "110"),
            (6962, "6\u{202f}962"),
            (1_234_567, "1\u{202f}234\u{202f}567"),
        ] {
            assert_eq!(grouped(number), wanted);
        }
    }

    #[test]
    fn sizes_have_one_unit() {
        for (bytes, wanted) in [
            (12, "12 bytes"),
            (1_400, "1 kB"),
            (1_440_000, "1.4 MB"),
            (2_000_000_000, "2.0 GB"),
        ] {
            assert_eq!(size(bytes), wanted);
        }
    }
}
