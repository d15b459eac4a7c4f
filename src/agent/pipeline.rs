//! The systems as orders of stages, over any [`Mind`].

use super::memo::StageMemo;
use super::mind::{Material, Mind};
use super::stages::{Run, Step};
use super::trace::{AlignmentPlan, CompactItem, Output, StageRecord, System};
use super::{fc, fit, redundancy};
use crate::bench::visible::{History, Instance};
use crate::embed::Passage;
use crate::prompts::{Edits, Known};
use crate::run::record::Params;
use crate::run::{Env, StepError};

/// What a system did: its stages, and the final action or why there is none. Stages before an
/// error are kept, the failed one last.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    pub stages: Vec<StageRecord>,
    pub output: Result<Output, StepError>,
}

/// What a system gets beside the task and a retriever. Everything in it is visible to an agent;
/// whoever hands it over decides what it is.
#[derive(Clone, Copy, Debug, Default)]
pub enum Supplied<'a> {
    #[default]
    Nothing,
    /// All sessions, for [`System::WholeHistory`].
    History(&'a History),
    /// Passages in place of retrieval, for [`System::OracleEvidence`].
    Evidence(&'a [Passage]),
}

/// One system on one task.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub system: System,
    pub instance: &'a Instance,
    /// Questions about the user, to be answered in place of the action; empty outside QA mode.
    pub questions: &'a [String],
    pub params: &'a Params,
    pub edits: &'a Edits,
    pub supplied: Supplied<'a>,
    /// What all stages depend on, see [`super::memo`].
    pub scope: &'a str,
    pub memo: &'a StageMemo,
}

static NO_EDITS: Edits = Edits::new();
static NO_MEMO: StageMemo = StageMemo::new();

impl<'a> Job<'a> {
    /// A task with prompts as shipped, nothing supplied and nothing shared.
    pub fn new(system: System, instance: &'a Instance, params: &'a Params) -> Self {
        Self {
            system,
            instance,
            questions: &[],
            params,
            edits: &NO_EDITS,
            supplied: Supplied::Nothing,
            scope: "",
            memo: &NO_MEMO,
        }
    }
}

/// Runs a system on one instance whose history is open in `env`.
pub async fn run(env: &impl Env, mind: &impl Mind, job: &Job<'_>) -> Trajectory {
    let mut run = Run::new(env, mind, job);
    let output = match job.system.refuses(&mind.model()) {
        Some(why) => Err(StepError::Model(why.to_owned())),
        None => run.act().await,
    };
    Trajectory {
        stages: run.stages,
        output,
    }
}

/// What broad thinking and deep alignment leave for the head.
struct Thought {
    evidence: Vec<CompactItem>,
    preferences: Vec<super::trace::ExtractedPreference>,
    /// None in QA mode: without an action there is nothing to plan.
    plan: Option<AlignmentPlan>,
}

impl Thought {
    fn known(&self) -> Known<'_> {
        Known {
            plan: self.plan.as_ref(),
            preferences: &self.preferences,
            evidence: &self.evidence,
        }
    }
}

impl<E: Env, M: Mind> Run<'_, E, M> {
    async fn act(&mut self) -> Step<Output> {
        match self.job.system {
            System::IbaAgent | System::OtherHistory => {
                let passages = self.deep_retrieval().await?;
                self.think_and_write(passages).await
            }
            System::IbaAgentFc => fc::act(self).await,
            // Refused before; see `System::refuses`.
            System::Imported | System::Samples => Err(StepError::Engine(
                "this output was given, not made here".to_owned(),
            )),
            System::WoDeepRetrieval => {
                let passages = self.nearest().await?;
                self.think_and_write(passages).await
            }
            System::WoBtDa => {
                let passages = self.deep_retrieval().await?;
                let evidence = verbatim(passages);
                let known = Known {
                    evidence: &evidence,
                    ..Known::default()
                };
                self.output_head(Material::Trajectory(known)).await
            }
            System::WoSynthesis => {
                let passages = self.deep_retrieval().await?;
                let thought = self.think(passages).await?;
                self.output_head(Material::Joined(thought.known())).await
            }
            System::StandardRag => {
                let passages = self.nearest().await?;
                self.output_head(Material::Passages(&passages)).await
            }
            System::NoHistory => self.output_head(Material::Nothing).await,
            System::WholeHistory => self.whole_history().await,
            System::OracleEvidence => {
                let passages = self.given_evidence()?;
                self.think_and_write(passages).await
            }
        }
    }

    /// Expansion, retrieval, filter, re-ranking.
    async fn deep_retrieval(&mut self) -> Step<Vec<Passage>> {
        let queries = self.query_expansion().await?;
        let lists = self.similarity_retrieval(queries).await?;
        let passages = self.redundancy_filtering(redundancy::distinct(&lists))?;
        self.salience_reranking(passages).await
    }

    /// What standard RAG retrieves.
    async fn nearest(&mut self) -> Step<Vec<Passage>> {
        let queries = self.task_queries();
        let lists = self.similarity_retrieval(queries).await?;
        Ok(redundancy::distinct(&lists))
    }

    /// Broad thinking and deep alignment.
    async fn think(&mut self, passages: Vec<Passage>) -> Step<Thought> {
        let evidence = self.compact_evidence(passages).await?;
        let preferences = self.preference_extraction(&evidence).await?;
        let plan = match self.job.questions.is_empty() {
            true => Some(self.task_preference_alignment(&preferences).await?),
            false => None,
        };
        Ok(Thought {
            evidence,
            preferences,
            plan,
        })
    }

    async fn think_and_write(&mut self, passages: Vec<Passage>) -> Step<Output> {
        let thought = self.think(passages).await?;
        self.output_head(Material::Trajectory(thought.known()))
            .await
    }

    async fn whole_history(&mut self) -> Step<Output> {
        let Supplied::History(history) = self.job.supplied else {
            return Err(not_supplied("the whole history"));
        };
        let fitted = self.history_fitting(history);
        let passages = fit::passages(history, &fitted);
        self.output_head(Material::Passages(&passages)).await
    }
}

/// A fault of the program, not of the visitor.
pub(super) fn not_supplied(what: &str) -> StepError {
    StepError::Engine(format!(
        "the run was started without {what}; open the instance anew and run again"
    ))
}

/// Passages as evidence without compaction, by date.
pub(super) fn verbatim(mut passages: Vec<Passage>) -> Vec<CompactItem> {
    passages.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
    let item = |passage: Passage| CompactItem {
        passage: passage.id,
        date: passage.date,
        text: passage.text,
    };
    passages.into_iter().map(item).collect()
}
