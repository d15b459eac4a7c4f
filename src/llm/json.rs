//! Finding and reading JSON in what a model wrote: strict first, so that valid JSON is never
//! altered; then a scan that knows strings, takes every balanced value in order, and forgives form
//! (fences, full-width marks, single quotes, Python words, comments, trailing commas).
//!
//! Own code, because the crates that were tried invent and shift: `jsonrepair` 0.1 and `llm_json` 1.0
//! complete `[8,3,7` and `{"a":"half of` without saying so, make `[8,7]` of `[8,,7]` and new fields
//! of an unescaped quotation mark, and know no full-width structure; `json5` 1.3 refuses raw line
//! breaks, full-width marks and everything cut. Here nothing is invented: a cut value is dropped
//! and flagged, a hole keeps its place, and what could be read in two ways is not read.

mod scan;
mod strings;
mod value;

use super::think;
pub use scan::Candidate;
use serde_json::Value;

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Values in the order of their start. A value that was cut comes before what is inside it.
    pub candidates: Vec<Candidate>,
    /// The text without reasoning.
    pub answer: String,
    /// A block of reasoning was never closed, so there is no answer.
    pub only_reasoning: bool,
}

impl Found {
    /// The first value that fits the wanted shape.
    pub fn first(&self, fits: impl Fn(&Value) -> bool) -> Option<&Candidate> {
        self.candidates
            .iter()
            .find(|candidate| fits(&candidate.value))
    }
}

/// All JSON values in a text, reasoning left out.
pub fn find(text: &str) -> Found {
    let text = text.trim_start_matches('\u{feff}');
    if let Ok(value) = serde_json::from_str::<Value>(text.trim()) {
        return strict(text.trim(), value);
    }
    let split = think::split(text, scan::whole_values);
    let only_reasoning = split.unclosed && split.answer.trim().is_empty();
    let mut candidates = scan::candidates(&split.answer);
    if candidates.is_empty() {
        candidates.extend(escaped(&split.answer));
    }
    Found {
        candidates,
        answer: split.answer.trim().to_owned(),
        only_reasoning,
    }
}

/// `{\"a\": 1}`: the inside of a JSON string without its marks.
fn escaped(text: &str) -> Option<Candidate> {
    let text = text.trim();
    if !text.starts_with("{\\\"") && !text.starts_with("[\\\"") {
        return None;
    }
    let inner: String = serde_json::from_str(&format!("\"{text}\"")).ok()?;
    serde_json::from_str(&inner).ok().map(|value| Candidate {
        repaired: true,
        ..Candidate::strict(value)
    })
}

fn strict(text: &str, value: Value) -> Found {
    let inside = match &value {
        // JSON within a string of JSON.
        Value::String(inner) => scan::candidates(inner),
        _ => Vec::new(),
    };
    let candidates = std::iter::once(Candidate::strict(value)).chain(inside);
    Found {
        candidates: candidates.collect(),
        answer: text.to_owned(),
        only_reasoning: false,
    }
}

#[cfg(test)]
mod tests;
