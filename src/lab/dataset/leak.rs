//! Whether a task gives away what is hidden: a requirement's or preference's words within it.

/// So many words in a row in common are no chance; a room's or a law's full name may have seven.
const RUN: usize = 8;

/// The words that `hidden` and `open` share in a row, when they are enough to call it a leak: the
/// whole of a hidden text of at least three words, or [`RUN`] words.
pub fn shared_run(hidden: &str, open: &str) -> Option<String> {
    let hidden = words(hidden);
    let run = hidden.len().min(RUN);
    if run < 3 {
        return None;
    }
    let open = words(open);
    let found = hidden
        .windows(run)
        .find(|wanted| open.windows(run).any(|window| window == *wanted))?;
    Some(found.join(" "))
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_texts_and_long_runs_leak() {
        for (hidden, open, leaks) in [
            (
                "No dish is fried.",
                "Order dinner; no dish is fried, please.",
                true,
            ),
            ("No dish is fried.", "Order a fried dish.", false),
            ("Short", "Keep it short", false),
            (
                "Every weakness is a numbered item of at most two lines",
                "each weakness is a numbered item of at most two lines",
                true,
            ),
            (
                "Every weakness is a numbered item of at most two lines",
                "a numbered item of at most three lines",
                false,
            ),
        ] {
            assert_eq!(
                shared_run(hidden, open).is_some(),
                leaks,
                "{hidden} / {open}"
            );
        }
    }
}
