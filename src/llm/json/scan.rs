//! Where values may start, and which of them can be read.

use super::value::{Parsed, Parser};
use serde_json::Value;

/// A value found in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub value: Value,
    /// The text ended within the value, or the writer left items out: what is here came before.
    pub truncated: bool,
    /// The form had to be forgiven, for example single quotes.
    pub repaired: bool,
}

impl Candidate {
    pub(super) fn strict(value: Value) -> Self {
        Self {
            value,
            truncated: false,
            repaired: false,
        }
    }
}

/// Steps in all for one text; beyond them a text is not JSON but an attack on the parser.
const BUDGET: usize = 2_000_000;

/// Byte ranges of values that are whole, outermost ones only.
pub fn whole_values(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut budget = BUDGET;
    let mut at = 0;
    while let Some(start) = next_start(text, at).filter(|_| budget > 0) {
        match parse_at(text, start, &mut budget) {
            Some(parsed) if !parsed.truncated => {
                ranges.push((start, parsed.end));
                at = parsed.end;
            }
            _ => at = after_char(text, start),
        }
    }
    ranges
}

/// Values in the order of their start.
pub fn candidates(text: &str) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut budget = BUDGET;
    let (mut at, mut within_cut) = (0, false);
    while let Some(start) = next_start(text, at).filter(|_| budget > 0) {
        let Some(parsed) = parse_at(text, start, &mut budget) else {
            at = after_char(text, start);
            continue;
        };
        // A cut value is followed by what is whole inside it, for readers it does not fit.
        at = match parsed.truncated {
            true => after_char(text, start),
            false => parsed.end,
        };
        // A brace in prose reads like the start of something that never came.
        if parsed.truncated && is_empty(&parsed.value) {
            continue;
        }
        found.push(Candidate {
            truncated: parsed.truncated || within_cut,
            value: parsed.value,
            repaired: parsed.repaired,
        });
        within_cut |= parsed.truncated;
    }
    found
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.iter().all(is_empty),
        _ => false,
    }
}

fn next_start(text: &str, from: usize) -> Option<usize> {
    let opens = |c: char| matches!(c, '{' | '[' | '｛' | '［' | '【');
    text[from..].find(opens).map(|at| from + at)
}

fn after_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

fn parse_at(text: &str, start: usize, budget: &mut usize) -> Option<Parsed> {
    if let Some(parsed) = parse_strictly(text, start, budget) {
        return Some(parsed);
    }
    Parser::new(text, start, budget).parse()
}

fn parse_strictly(text: &str, start: usize, budget: &mut usize) -> Option<Parsed> {
    let rest = &text[start..];
    *budget = budget.saturating_sub(64);
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let value = match values.next()? {
        Ok(value) => value,
        Err(error) => {
            // One that ran to the end of the text cost its whole length.
            let cost = if error.is_eof() { rest.len() } else { 0 };
            *budget = budget.saturating_sub(cost);
            return None;
        }
    };
    let length = values.byte_offset();
    Some(Parsed {
        value,
        end: start + length,
        truncated: false,
        repaired: false,
    })
}
