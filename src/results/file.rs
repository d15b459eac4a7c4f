//! What the page shows of a result file, ours or anybody's.

use crate::judge::VerdictState;
use crate::run::record::RunRecord;
use std::sync::Arc;

/// A result file as opened, and what was odd about it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedResult {
    pub file: ResultFile,
    pub notices: Vec<Notice>,
}

impl LoadedResult {
    /// The runs that this program can show in full.
    pub fn records(&self) -> impl Iterator<Item = &Arc<RunRecord>> {
        self.file.rows.iter().filter_map(|row| row.record.as_ref())
    }
}

/// A sentence about something that was ignored or read otherwise than written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
}

impl Notice {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// One log: a system on a set of instances.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFile {
    /// Name of the file as opened.
    pub name: String,
    pub task: String,
    pub model: String,
    /// Solver; empty when the log names none.
    pub system: String,
    /// Name of the data set; empty when the log names none.
    pub dataset: String,
    /// As written, ISO 8601; empty when missing.
    pub created: String,
    /// `success`, `cancelled`, `error` or `started`.
    pub status: String,
    pub rows: Vec<SampleRow>,
}

/// One sample in one epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    pub instance: String,
    /// From 1.
    pub epoch: u32,
    /// Our domain id, where the file has it.
    pub domain: Option<String>,
    pub input: String,
    /// Completion; empty when there is none.
    pub output: String,
    pub messages: Vec<MessageRow>,
    pub scores: Vec<ScoreRow>,
    /// Why the sample did not finish.
    pub error: Option<String>,
    /// Our own record, restored without loss.
    pub record: Option<Arc<RunRecord>>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    pub role: String,
    pub text: String,
}

/// What one scorer said about a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreRow {
    pub scorer: String,
    pub value: ScoreValue,
    pub explanation: String,
}

/// The forms of a score that occur in Inspect logs.
#[derive(Clone, Debug, PartialEq)]
pub enum ScoreValue {
    /// `NaN` or `null`.
    Unscored,
    Number(f64),
    /// Any text other than `C` and `I`.
    Text(String),
    /// `C`, `I` or unscored for each key.
    Verdicts(Vec<(String, VerdictState)>),
    /// Lists and mixed objects, as JSON.
    Other(String),
}
