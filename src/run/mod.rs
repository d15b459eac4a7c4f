//! One instance from task to verdicts, and what a run needs from the outside.

pub mod again;
pub mod ask;
pub mod backup;
pub mod batch;
pub mod compare;
pub mod dead_ends;
pub mod drive;
#[cfg(feature = "engine")]
pub mod fake;
pub mod focus;
pub mod journal;
pub mod lost;
pub mod many;
pub mod outcome;
pub mod passages;
pub mod predictions;
pub mod qa;
pub mod record;
pub mod replay;
pub mod setup;
pub mod spend;
pub mod supply;
pub mod timeline;

use crate::agent::trace::{CallRecord, PromptRef, StageRecord};
use crate::bench::hidden::Check;
use crate::embed::Hit;
use crate::llm::Chat;
use crate::worker::protocol::CheckOutcome;
use serde_json::Value;

/// Everything the pure pipeline asks of its surroundings; the browser implements it over the
/// engine worker and the visitor's endpoint, tests over fakes. No way out but this.
#[allow(async_fn_in_trait)] // single-threaded on purpose: nothing here has to be Send
pub trait Env {
    /// Passages of the open history nearest to each query, best first.
    async fn search(&self, queries: &[String], top_k: u32) -> Result<Vec<Vec<Hit>>, StepError>;
    /// Unit vectors of texts that are no passages.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, StepError>;
    /// Programmatic checks on one output.
    async fn check(&self, output: &Value, checks: &[Check])
    -> Result<Vec<CheckOutcome>, StepError>;
    /// One model call. An identical call that was already answered in this run comes from the
    /// journal and is not paid again.
    async fn chat(
        &self,
        role: CallRole,
        chat: Chat,
        prompt: PromptRef,
    ) -> Result<CallRecord, StepError>;
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> f64;
    /// A stage begins or ends, or text streams in: for the page to show.
    fn emit(&self, event: RunEvent);
    /// What was odd about searches and vectors since this was last asked, in sentences.
    fn odd(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Whose call it is; priced and shown apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallRole {
    Agent,
    /// A judge, by its place in the panel.
    Grader(u8),
}

impl CallRole {
    /// As [`CallRecord::role`] has it.
    pub fn as_str(self) -> &'static str {
        match self {
            CallRole::Agent => "agent",
            CallRole::Grader(_) => "grader",
        }
    }

    /// What tells the calls of one run apart in its journal.
    pub fn journal_key(self) -> String {
        match self {
            CallRole::Agent | CallRole::Grader(0) => self.as_str().to_owned(),
            CallRole::Grader(n) => format!("grader {}", n + 1),
        }
    }
}

/// What the page can show while a run goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    StageStarted {
        stage: crate::agent::trace::StageId,
    },
    StageDone {
        record: Box<StageRecord>,
    },
    /// More text of the current model call.
    Delta {
        text: String,
    },
    /// The current call failed and is made again after a wait; its text so far is void.
    Retrying {
        reason: String,
        wait_seconds: f64,
    },
    JudgeStarted,
}

/// Says that texts were longer than the embedding model reads; nothing where none was.
pub fn cut_note(cut: u32, of: usize, what: &str) -> Option<String> {
    let verb = match cut {
        0 => return None,
        1 => "is",
        _ => "are",
    };
    Some(format!(
        "{cut} of {of} {what} {verb} longer than the embedding model reads: what comes after its limit is not compared"
    ))
}

/// Why a step did not finish.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    #[error("cancelled")]
    Cancelled,
    /// A sentence: what was tried, on what, why, what to do next.
    #[error("{0}")]
    Engine(String),
    #[error("{0}")]
    Model(String),
    /// A model that picks its tools itself never came to an output head.
    #[error("{0}")]
    Unfinished(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_is_said_and_nothing_else() {
        let said = |cut, of| cut_note(cut, of, "queries").unwrap_or_default();
        assert_eq!(said(0, 6), "");
        assert!(said(2, 6).starts_with("2 of 6 queries are longer"));
        assert!(said(1, 1).starts_with("1 of 1 queries is longer"));
    }
}
