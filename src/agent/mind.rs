//! What a system asks of a model: the steps of IBA-Agent that need judgement, and the two heads.

use super::trace::{
    AlignmentPlan, CallRecord, CompactItem, ExtractedPreference, Query, ScoredPassage,
};
use crate::bench::visible::Instance;
use crate::embed::Passage;
use crate::prompts::{Edits, Known};
use crate::run::record::{ModelRef, Params};
use crate::run::{Env, StepError};
use serde_json::{Map, Value};

/// What every step may look at.
pub struct Ctx<'a, E> {
    pub env: &'a E,
    pub instance: &'a Instance,
    pub params: &'a Params,
    /// Prompt texts changed for this run.
    pub edits: &'a Edits,
}

impl<E> Clone for Ctx<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Ctx<'_, E> {}

/// What a step leaves beside its result; kept when the step fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageLog {
    pub calls: Vec<CallRecord>,
    pub notes: Vec<String>,
}

impl StageLog {
    /// Adds a sentence about what was odd.
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }
}

/// What an output head works from.
#[derive(Clone, Copy, Debug)]
pub enum Material<'a> {
    /// The trajectory of IBA-Agent, as far as it went.
    Trajectory(Known<'a>),
    /// The same as plain text, joined with the request as standard RAG joins passages.
    Joined(Known<'a>),
    /// Passages, best first (standard RAG), or whole sessions by date.
    Passages(&'a [Passage]),
    /// The request alone.
    Nothing,
}

/// A call as output head B fills it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilledCall {
    pub slots: Map<String, Value>,
    /// A sentence that describes the action.
    pub description: String,
}

/// Carries out the steps that need judgement. Steps log their model calls and oddities; an error
/// ends the run, and what was logged stays.
#[allow(async_fn_in_trait)] // single-threaded on purpose, as `Env`
pub trait Mind {
    /// Which model this is.
    fn model(&self) -> ModelRef;

    /// Facet queries, at most `max_queries`; the task itself is not among them.
    async fn expand<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        log: &mut StageLog,
    ) -> Result<Vec<Query>, StepError>;

    /// A score for each passage, in their order.
    async fn salience<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        passages: &[Passage],
        log: &mut StageLog,
    ) -> Result<Vec<ScoredPassage>, StepError>;

    /// What of each passage bears on the task; a passage without an item is dropped.
    async fn compact<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        passages: &[Passage],
        log: &mut StageLog,
    ) -> Result<Vec<CompactItem>, StepError>;

    /// What the user asked for, corrected, rejected, chose again and again, or updated.
    async fn extract<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        evidence: &[CompactItem],
        log: &mut StageLog,
    ) -> Result<Vec<ExtractedPreference>, StepError>;

    /// Which of these govern this task, and how.
    async fn align<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        preferences: &[ExtractedPreference],
        log: &mut StageLog,
    ) -> Result<AlignmentPlan, StepError>;

    /// Output head A.
    async fn write_text<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<String, StepError>;

    /// Output head B.
    async fn fill_slots<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<FilledCall, StepError>;

    /// An answer to each question about the user, in their order (QA mode).
    async fn answer<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        questions: &[String],
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<Vec<String>, StepError>;
}
