//! Programmatic checks: the requirements a rule can decide, with the reason in a sentence.
//!
//! Semantics are those of IBA-Mini's Python validator: patterns follow Python's `re` under
//! `IGNORECASE | MULTILINE`, texts are compared in lower case, lines end at `\n`.

use super::pattern;
use crate::bench::hidden::{Check, Countable};
use crate::worker::protocol::CheckOutcome;
use fancy_regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Runs one check on one output: text, or an object slot -> value. `passed` is `None` when the
/// check does not fit the output, or its pattern cannot be run.
pub fn run(output: &Value, check: &Check) -> CheckOutcome {
    match (output, check) {
        (Value::Object(slots), Check::Slot { slot, accept }) => slot_outcome(slots, slot, accept),
        (Value::String(text), Check::Slot { slot, .. }) => undecided(format!(
            "the slot '{slot}' cannot be checked because the output is text ({} words), not a call",
            words(text)
        )),
        (Value::String(text), check) => text_outcome(text, check),
        _ => undecided("a check of text cannot read this output because it is not text".to_owned()),
    }
}

fn text_outcome(text: &str, check: &Check) -> CheckOutcome {
    match check {
        Check::WordCount { min, max } => counted(words(text), "word", "words", *min, *max),
        Check::Count { of, min, max } => {
            let (one, many) = nouns(*of);
            counted(count(text, *of), one, many, *min, *max)
        }
        Check::ContainsAny { any } => contains_any(text, any),
        Check::ContainsAll { all } => contains_all(text, all),
        Check::Excludes { none } => excludes(text, none),
        Check::Regex { pattern } => matches(text, pattern),
        Check::FirstPerson { expect } => first_person(text, *expect),
        Check::StartsWithAny { any } => starts_with_any(text, any),
        Check::Slot { .. } => unreachable!("slots are decided before texts"),
    }
}

fn decided(passed: bool, reason: String) -> CheckOutcome {
    CheckOutcome {
        passed: Some(passed),
        reason,
    }
}

fn undecided(reason: String) -> CheckOutcome {
    CheckOutcome {
        passed: None,
        reason,
    }
}

/// Words as Python's `str.split` finds them; it also splits at the four ASCII separators.
fn words(text: &str) -> usize {
    text.split(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
        .filter(|word| !word.is_empty())
        .count()
}

fn counted(n: usize, one: &str, many: &str, min: Option<u64>, max: Option<u64>) -> CheckOutcome {
    let n = n as u64;
    let passed = n >= min.unwrap_or(0) && max.is_none_or(|max| n <= max);
    let noun = if n == 1 { one } else { many };
    decided(
        passed,
        format!("the output has {n} {noun}; {}", wanted(min, max)),
    )
}

fn wanted(min: Option<u64>, max: Option<u64>) -> String {
    match (min.filter(|min| *min > 0), max) {
        (Some(min), Some(max)) if min == max => format!("exactly {min} wanted"),
        (Some(min), Some(max)) => format!("{min} to {max} wanted"),
        (Some(min), None) => format!("at least {min} wanted"),
        (None, Some(0)) => "none wanted".to_owned(),
        (None, Some(max)) => format!("at most {max} wanted"),
        (None, None) => "any number will do".to_owned(),
    }
}

fn nouns(of: Countable) -> (&'static str, &'static str) {
    match of {
        Countable::Bullets => ("bullet", "bullets"),
        Countable::Numbered => ("numbered item", "numbered items"),
        Countable::Headings => ("heading", "headings"),
        Countable::Paragraphs => ("paragraph", "paragraphs"),
        Countable::Sentences => ("sentence", "sentences"),
        Countable::Tables => ("table", "tables"),
        Countable::CodeBlocks => ("code block", "code blocks"),
    }
}

macro_rules! own_regex {
    ($name:ident, $pattern:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).expect("a pattern of our own compiles"));
    };
}

own_regex!(BULLET, r"^\s*[-*•]\s+\S");
own_regex!(NUMBERED, r"^\s*\d+[.)]\s+\S");
own_regex!(HEADING, r"^#{1,6}\s+\S");
own_regex!(BLANK_LINE, r"\n\s*\n");
own_regex!(SENTENCE_END, r"[.!?]+(?:\s|$)");
own_regex!(TABLE_RULE, r"(?m)^\s*\|?\s*:?-{3,}.*\|");
own_regex!(FIRST_PERSON, r"\b(I|I'm|I've|my|me)\b");

/// How many of `of` the text has.
pub fn count(text: &str, of: Countable) -> usize {
    match of {
        Countable::Bullets => lines_matching(text, &BULLET),
        Countable::Numbered => lines_matching(text, &NUMBERED),
        Countable::Headings => lines_matching(text, &HEADING),
        Countable::Paragraphs => paragraphs(text),
        Countable::Sentences => SENTENCE_END.find_iter(text).count(),
        Countable::Tables => TABLE_RULE.find_iter(text).count(),
        Countable::CodeBlocks => text.matches("```").count() / 2,
    }
}

fn lines_matching(text: &str, line: &Regex) -> usize {
    text.split('\n')
        .filter(|l| line.is_match(l).unwrap_or(false))
        .count()
}

fn paragraphs(text: &str) -> usize {
    let blocks = BLANK_LINE.split(text.trim());
    blocks
        .filter(|block| block.as_ref().is_ok_and(|b| !b.trim().is_empty()))
        .count()
}

fn found<'a>(text: &str, wanted: &'a [String]) -> Vec<&'a str> {
    let text = text.to_lowercase();
    wanted
        .iter()
        .filter(|w| text.contains(&w.to_lowercase()))
        .map(String::as_str)
        .collect()
}

fn contains_any(text: &str, any: &[String]) -> CheckOutcome {
    match found(text, any).first() {
        Some(hit) => decided(true, format!("the output has '{hit}'")),
        None => decided(false, format!("the output has none of {}", list(any, "or"))),
    }
}

fn contains_all(text: &str, all: &[String]) -> CheckOutcome {
    let hits = found(text, all);
    let missing: Vec<String> = all
        .iter()
        .filter(|w| !hits.contains(&w.as_str()))
        .cloned()
        .collect();
    if missing.is_empty() {
        return decided(true, format!("the output has {}", list(all, "and")));
    }
    decided(false, format!("the output lacks {}", list(&missing, "and")))
}

fn excludes(text: &str, none: &[String]) -> CheckOutcome {
    match found(text, none).first() {
        Some(hit) => decided(
            false,
            format!("the output has '{hit}', which has to be absent"),
        ),
        None => decided(true, format!("the output has no {}", list(none, "or"))),
    }
}

fn list(words: &[String], and: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("'{w}'")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} {and} {last}", head.join(", ")),
    }
}

fn matches(text: &str, python: &str) -> CheckOutcome {
    let regex = match pattern::compiled(python) {
        Ok(regex) => regex,
        Err(why) => return undecided(format!("the pattern of this check cannot be read: {why}")),
    };
    match regex.is_match(text) {
        Ok(true) => decided(
            true,
            "the output has the form this check looks for".to_owned(),
        ),
        Ok(false) => decided(
            false,
            "the output does not have the form this check looks for".to_owned(),
        ),
        Err(why) => undecided(format!(
            "the pattern of this check took too long on this output and was given up ({why})"
        )),
    }
}

/// Upper and lower case count here: a lone `i` is a list mark more often than a person.
fn first_person(text: &str, expect: bool) -> CheckOutcome {
    let hit = FIRST_PERSON.find(text).ok().flatten().map(|m| m.as_str());
    let passed = hit.is_some() == expect;
    let is = match hit {
        Some(word) => format!("the output speaks in the first person ('{word}')"),
        None => "the output does not speak in the first person".to_owned(),
    };
    let want = if expect { "it should" } else { "it should not" };
    decided(passed, if passed { is } else { format!("{is}; {want}") })
}

fn starts_with_any(text: &str, any: &[String]) -> CheckOutcome {
    let start = text
        .trim_start_matches(['#', '*', ' ', '\n'])
        .to_lowercase();
    match any.iter().find(|a| start.starts_with(&a.to_lowercase())) {
        Some(hit) => decided(true, format!("the output begins with '{hit}'")),
        None => decided(
            false,
            format!("the output does not begin with {}", list(any, "or")),
        ),
    }
}

fn slot_outcome(slots: &Map<String, Value>, slot: &str, accept: &[Value]) -> CheckOutcome {
    let wanted: Vec<String> = accept.iter().map(plain).collect();
    // An absent slot is never a match, even where the text "none" is accepted.
    let Some(value) = slots.get(slot).filter(|v| !v.is_null()) else {
        return decided(
            false,
            format!(
                "the slot '{slot}' was left empty; {} wanted",
                list(&wanted, "or")
            ),
        );
    };
    let given = plain(value);
    match accept.iter().any(|a| same_value(value, a)) {
        true => decided(
            true,
            format!("the slot '{slot}' is '{given}', which is accepted"),
        ),
        false => decided(
            false,
            format!(
                "the slot '{slot}' is '{given}'; {} wanted",
                list(&wanted, "or")
            ),
        ),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), |text| text.trim().to_owned())
}

/// Whether two slot values mean the same: texts without regard to case, numbers by value
/// (`30`, `"30"` and `30.0` are one), booleans also as text.
pub fn same_value(a: &Value, b: &Value) -> bool {
    let (a, b) = (plain(a), plain(b));
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a.to_lowercase() == b.to_lowercase(),
    }
}
