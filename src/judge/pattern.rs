//! Python's `re` dialect for fancy-regex: what the two spell differently is translated.

use fancy_regex::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::rc::Rc;

/// Steps of backtracking before a pattern is given up. The longest of IBA-Mini's patterns needs
/// some thousands on an answer of 3,000 tokens.
const BACKTRACK_LIMIT: usize = 2_000_000;

thread_local! {
    /// The pattern compiled last: one check often meets many outputs, and compiling costs more
    /// than matching.
    static LAST: RefCell<Option<(String, Rc<Regex>)>> = const { RefCell::new(None) };
}

/// A Python pattern under `re.IGNORECASE | re.MULTILINE`.
pub fn compiled(python: &str) -> Result<Rc<Regex>, Box<fancy_regex::Error>> {
    let known = LAST.with_borrow(|last| {
        last.as_ref()
            .filter(|(pattern, _)| pattern == python)
            .map(|(_, regex)| regex.clone())
    });
    if let Some(regex) = known {
        return Ok(regex);
    }
    let regex = Rc::new(compile(python)?);
    LAST.set(Some((python.to_owned(), regex.clone())));
    Ok(regex)
}

fn compile(python: &str) -> Result<Regex, Box<fancy_regex::Error>> {
    RegexBuilder::new(&format!("(?im){}", translate(python)))
        .backtrack_limit(BACKTRACK_LIMIT)
        .build()
        .map_err(Box::new)
}

/// `\Z` means the very end in Python and is `\z` here; within brackets, `[`, `&` and `~`
/// lose the set operations that Python does not know (`&&`, `~~`, nested sets).
fn translate(python: &str) -> String {
    let mut out = String::with_capacity(python.len() + 8);
    let mut chars = python.chars().peekable();
    let mut class = None;
    while let Some(c) = chars.next() {
        match (c, class) {
            ('\\', _) => {
                push_escape(&mut out, chars.next());
                class = class.map(|n: usize| n + 1);
            }
            ('[', None) => {
                out.push('[');
                if chars.peek() == Some(&'^') {
                    out.push('^');
                    chars.next();
                }
                class = Some(0);
            }
            // The first `]` of a class is an ordinary member.
            (']', Some(0)) => {
                out.push_str(r"\]");
                class = Some(1);
            }
            (']', Some(_)) => {
                out.push(']');
                class = None;
            }
            ('[', Some(n)) => {
                out.push_str(r"\[");
                class = Some(n + 1);
            }
            ('&' | '~', Some(n)) => {
                out.push('\\');
                out.push(c);
                class = Some(n + 1);
            }
            _ => {
                out.push(c);
                class = class.map(|n| n + 1);
            }
        }
    }
    out
}

fn push_escape(out: &mut String, next: Option<char>) {
    out.push('\\');
    match next {
        Some('Z') => out.push('z'),
        Some(other) => out.push(other),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_python_patterns_for_fancy_regex() {
        let cases = [
            (r"a\Z", r"a\z"),
            (r"\\Z", r"\\Z"),
            (r"[\]Z]", r"[\]Z]"),
            (r"[[a]", r"[\[a]"),
            (r"[]a]", r"[\]a]"),
            (r"[^]a]b", r"[^\]a]b"),
            (r"[a&&b]", r"[a\&\&b]"),
        ];
        for (python, ours) in cases {
            assert_eq!(translate(python), ours, "{python}");
        }
    }

    // Expected values from Python 3: bool(re.search(p, t, re.I | re.M)).
    #[test]
    fn agrees_with_python_on_where_lines_and_texts_end() {
        let cases = [
            (r"a$", "a\nb", true),
            (r"a\Z", "a\n", false),
            (r"a\Z", "B\nA", true),
            (r"\Ab", "a\nb", false),
            (r"^b", "a\nB", true),
            (r"(?-i:\bI\b)", "i am", false),
            (r"(?<![\d:.])[1-5][:.][0-5]\d", "13:30", false),
            (r"ÄRGER", "ärger", true),
            (r"\bmüll\b", "Müll,", true),
        ];
        for (pattern, text, wanted) in cases {
            let regex = compile(pattern).unwrap();
            assert_eq!(
                regex.is_match(text).unwrap(),
                wanted,
                "{pattern} on {text:?}"
            );
        }
    }
}
