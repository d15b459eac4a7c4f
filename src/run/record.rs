//! The record of a run of one system on one instance: what the page keeps and the result file holds.

use crate::agent::trace::{Output, StageRecord, System};
use crate::bench::ids::{DomainId, InstanceId, PersonaId, RequirementId, ScenarioId};
use crate::bench::taxonomy::Action;
use crate::judge::Judgement;
use crate::run::lost::links::Links;
use serde::{Deserialize, Serialize};

/// Parameters of a run, defaults as published (`method.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Passages a query returns.
    pub top_k: u32,
    /// Expanded queries at most; the task itself comes on top.
    pub max_queries: u32,
    /// Passages kept at most after re-ranking.
    pub max_passages: u32,
    /// Salience (0-10) a passage needs to stay.
    pub min_salience: f64,
    pub chunk_tokens: u32,
    pub chunk_overlap: u32,
    /// Cosine of word counts from which two passages count as the same.
    pub near_duplicate: f64,
    /// Limit of each model answer, in tokens.
    pub max_output_tokens: u32,
    /// Not stated in the paper; sent only when set.
    pub temperature: Option<f64>,
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            top_k: 3,
            max_queries: 5,
            max_passages: 10,
            min_salience: 5.0,
            chunk_tokens: 256,
            chunk_overlap: 50,
            near_duplicate: 0.95,
            max_output_tokens: 3000,
            temperature: None,
            seed: 42,
        }
    }
}

/// Which model did the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ModelRef {
    /// The embedded baseline: rules, no language model.
    Embedded,
    /// A model behind an OpenAI-compatible address.
    Endpoint { base_url: String, model: String },
}

impl ModelRef {
    /// What tables and files call it; never a bare "model".
    pub fn label(&self) -> String {
        match self {
            ModelRef::Embedded => "embedded baseline (no language model)".to_owned(),
            ModelRef::Endpoint { model, .. } => model.clone(),
        }
    }
}

/// A requirement as the result file repeats it, so that the file can be read without the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequirementNote {
    pub id: RequirementId,
    pub text: String,
    /// Sessions that reveal the preference behind it.
    pub evidence_sessions: Vec<String>,
    pub signals: Vec<String>,
    pub dynamic: bool,
    /// The slot it is tied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
}

/// One system on one instance, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Unique; names the journal as well.
    pub id: String,
    pub instance: InstanceId,
    pub persona: PersonaId,
    pub scenario: ScenarioId,
    pub domain: DomainId,
    pub action: Action,
    /// Instruction and content.
    pub task: String,
    pub system: System,
    /// Repeat, from 1.
    pub epoch: u32,
    pub params: Params,
    pub agent: ModelRef,
    pub dataset: DatasetRef,
    pub retriever: RetrieverRef,
    pub stages: Vec<StageRecord>,
    pub output: Option<Output>,
    pub requirements: Vec<RequirementNote>,
    pub judgements: Vec<Judgement>,
    /// What the later stages made of the requirements that were not met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Links>,
    pub status: RunStatus,
    /// Milliseconds since the Unix epoch.
    pub started_ms: f64,
    pub ended_ms: Option<f64>,
    pub app_version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetRef {
    pub name: String,
    /// Of the manifest.
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetrieverRef {
    pub model: String,
    pub model_sha256: String,
    /// `exact` or `hnsw`.
    pub method: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunStatus {
    Running,
    Done,
    Cancelled,
    /// Ended by an error; the stages so far are kept.
    Failed {
        message: String,
    },
}
