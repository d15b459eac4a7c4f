//! Typed readers of what a model wrote. Tolerant of form, strict about values: nothing is
//! invented, shifted or clamped, and what is missing stays missing.
//!
//! Each reader documents the shape a prompt should ask for and takes the usual variations of it.

mod body;
mod entries;
mod fields;
mod ids;
mod plans;
mod preferences;
mod queries;
mod scores;
mod slots;
#[cfg(test)]
mod tests;
mod verdicts;
mod words;

pub use body::is_refusal;
pub use plans::plan;
pub use preferences::{answers, compact, preferences};
pub use queries::{facet_queries, queries};
pub use scores::{salience, score};
pub use slots::slots;
pub use verdicts::{verdict, verdicts};

use serde_json::{Map, Value};

/// What was read, and what was odd about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read<T> {
    pub value: T,
    /// The answer was cut; the value holds what came before the cut.
    pub truncated: bool,
    /// Sentences for the stage's notes.
    pub problems: Vec<String>,
}

/// Why nothing could be read. Always leads to "unscored" or a repeat, never to a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("the model answered with nothing")]
    Empty,
    #[error("the model reasoned but gave no answer")]
    ReasoningOnly,
    #[error("the model declined: “{excerpt}”")]
    Refused { excerpt: String },
    #[error("the answer was cut off at the output limit before it held {wanted}")]
    Cut { wanted: &'static str },
    #[error("no {wanted} could be read from the answer: “{excerpt}”")]
    Unreadable {
        wanted: &'static str,
        excerpt: String,
    },
}

/// A 0-10 score as read.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadScore {
    Score(f64),
    /// Not in the answer.
    Missing,
    /// In the answer but no score of 0 to 10; as the model wrote it.
    Invalid(String),
}

/// Salience of one passage.
#[derive(Clone, Debug, PartialEq)]
pub struct SalienceItem {
    pub id: String,
    pub score: ReadScore,
    /// Signals named, in lower case, for example `complaint`.
    pub signals: Vec<String>,
}

/// A search query and the facet it was given for, where the answer says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetQuery {
    pub facet: Option<String>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactText {
    pub id: String,
    /// `None` when the answer left the passage out.
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferenceItem {
    pub text: String,
    /// `asked`, `corrected`, `rejected`, `repeated` or `updated`, where it could be told.
    pub kind: Option<String>,
    /// Ids out of those offered.
    pub passages: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// `style`, `structure`, `constraint` or `priority`, else as the model wrote it.
    pub aspect: String,
    pub text: String,
    pub slot: Option<String>,
}

/// A filled API template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slots {
    /// In the template's order; a slot the answer left out is absent, `null` stays `null`.
    pub slots: Map<String, Value>,
    /// The sentence about the action, where one was given.
    pub description: Option<String>,
}

/// A binary verdict as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadVerdict {
    Met,
    NotMet,
    /// Not in the answer.
    Missing,
    /// In the answer but neither yes nor no; as the model wrote it.
    Invalid(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictItem {
    pub id: String,
    pub verdict: ReadVerdict,
    pub rationale: String,
    pub quote: Option<String>,
}
