//! The record of a run of one system on one instance: what the page keeps and the result file holds.

use crate::agent::trace::{CallRecord, Output, StageRecord, System};
use crate::bench::ids::{DomainId, InstanceId, PersonaId, RequirementId, ScenarioId};
use crate::bench::taxonomy::Action;
use crate::embed::spec::{ModelSpec, Pooling};
use crate::embed::{ChunkUnit, Chunking};
use crate::judge::Judgement;
use crate::judge::again::SetAside;
use crate::prompts::Edits;
use crate::run::lost::links::Links;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// What a passage is: so many tokens, or a sentence.
    pub chunk_unit: ChunkUnit,
    pub chunk_tokens: u32,
    pub chunk_overlap: u32,
    /// Cosine of word counts from which two passages count as the same.
    pub near_duplicate: f64,
    /// Limit of each model answer, in tokens.
    pub max_output_tokens: u32,
    /// Not stated in the paper; sent only when set.
    pub temperature: Option<f64>,
    pub seed: u64,
    /// Context window the whole history is fitted to, in tokens; not stated in the paper.
    pub context_tokens: u32,
    /// Turns of a model that picks its tools itself (function calling); not stated in the paper.
    pub max_steps: u32,
    /// Tokens of all calls of such a run, input and output.
    pub max_run_tokens: u32,
    /// How often such a model may make the very same call.
    pub max_repeats: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            top_k: 3,
            max_queries: 5,
            max_passages: 10,
            min_salience: 5.0,
            chunk_unit: ChunkUnit::Tokens,
            chunk_tokens: 256,
            chunk_overlap: 50,
            near_duplicate: 0.95,
            max_output_tokens: 3000,
            temperature: None,
            seed: 42,
            context_tokens: 32_000,
            max_steps: 20,
            max_run_tokens: 200_000,
            max_repeats: 2,
        }
    }
}

impl Params {
    /// How histories are cut.
    pub fn chunking(&self) -> Chunking {
        Chunking {
            unit: self.chunk_unit,
            tokens: self.chunk_tokens,
            overlap: self.chunk_overlap,
        }
    }
}

/// What of a run differs from the plain case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Variant {
    /// Act on the task, or answer questions about the user.
    #[serde(skip_serializing_if = "Mode::is_task")]
    pub mode: Mode,
    /// Whose history was read in place of the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donor: Option<PersonaId>,
    /// Prompt texts changed for this run, word for word.
    #[serde(skip_serializing_if = "Edits::is_empty")]
    pub edits: Edits,
}

impl Variant {
    /// Whether there is nothing to say.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// What names of rows add for it, for example ` · QA · edited prompts`; empty for the plain case.
    pub fn suffix(&self) -> String {
        let qa = (self.mode == Mode::Qa).then_some(" · QA");
        let edited = (!self.edits.is_empty()).then_some(" · edited prompts");
        [qa, edited].into_iter().flatten().collect()
    }
}

/// What is asked of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The action itself.
    #[default]
    Task,
    /// The preferences behind it.
    Qa,
}

impl Mode {
    fn is_task(&self) -> bool {
        *self == Mode::Task
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
    /// Whoever made outputs that were brought in from a file, as that file or the visitor names it.
    External { name: String },
}

impl ModelRef {
    /// What tables and files call it; never a bare "model".
    pub fn label(&self) -> String {
        match self {
            ModelRef::Embedded => "embedded baseline (no language model)".to_owned(),
            ModelRef::Endpoint { model, .. } => model.clone(),
            ModelRef::External { name } => name.clone(),
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
    /// What is accepted in that slot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<Value>,
    /// Whether a person labelled the output as meeting it; only for gold-labelled samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<bool>,
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
    /// Judgements that do not count: taken back, or replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAside>,
    /// What the later stages made of the requirements that were not met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Links>,
    pub status: RunStatus,
    /// Milliseconds since the Unix epoch.
    pub started_ms: f64,
    pub ended_ms: Option<f64>,
    pub app_version: String,
    #[serde(default, skip_serializing_if = "Variant::is_plain")]
    pub variant: Variant,
    /// Calls of an embedding endpoint, without texts and vectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedding_calls: Vec<CallRecord>,
}

impl RunRecord {
    /// Whether both runs are of one set-up, so that they may stand in one mean: repeats, or other
    /// instances. The donor of a history goes with the instance and is not compared.
    pub fn same_setup(&self, other: &Self) -> bool {
        self.variant.mode == other.variant.mode && self.same_but_mode(other)
    }

    /// Whether both runs are of one set-up but for being asked or acting: what QA is compared with
    /// Task by.
    pub fn same_but_mode(&self, other: &Self) -> bool {
        // Outputs that were given are the same whatever is chosen here for runs.
        let chosen = || self.params == other.params && self.retriever.same(&other.retriever);
        self.system == other.system
            && self.agent == other.agent
            && self.dataset == other.dataset
            && (self.system.is_given() || chosen())
            && self.variant.edits == other.variant.edits
    }

    /// The calls that this run paid for, the agent's first: stages taken over from another run
    /// were paid there, judgements set aside were paid here.
    pub fn paid_calls(&self) -> impl Iterator<Item = &CallRecord> {
        let own = |stage: &&StageRecord| stage.shared_from.is_none();
        let agent = self.stages.iter().filter(own);
        agent
            .flat_map(|stage| &stage.calls)
            .chain(self.later_calls())
    }

    /// All calls that the run rests on, whoever paid.
    pub fn calls(&self) -> impl Iterator<Item = &CallRecord> {
        let agent = self.stages.iter().flat_map(|stage| &stage.calls);
        agent.chain(self.later_calls())
    }

    /// Of judges, of the search for losses, of an embedding endpoint.
    fn later_calls(&self) -> impl Iterator<Item = &CallRecord> {
        let aside = self.set_aside.iter().map(|one| &one.judgement);
        let judges = self.judgements.iter().chain(aside);
        judges
            .flat_map(|judged| &judged.calls)
            .chain(self.links.iter().flat_map(|links| &links.calls))
            .chain(&self.embedding_calls)
    }

    /// Name of the system with what is special about the run.
    pub fn system_label(&self) -> String {
        format!("{}{}", self.system.name(), self.variant.suffix())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetRef {
    pub name: String,
    /// Of the manifest.
    pub sha256: String,
}

/// Stands for the embedding model of a run that went on by words, without one.
pub const BY_WORDS: &str = "none, by words";

/// Stands for the embedding model of a run that ended before it had one: there is nothing to go on with.
pub const NOT_LOADED: &str = "not loaded";

/// The retriever of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetrieverRef {
    /// Short name of the embedding model.
    pub model: String,
    /// Of its weights; see [`crate::embed::registry::identity`]. Empty for a model behind an address.
    pub model_sha256: String,
    /// How passages were found, for example `exact` or `bm25`; `float32` where that was chosen.
    pub method: String,
    /// How the model was read; records of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// Where the vectors came from, for a model behind an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Passages of the history that are longer than the model reads; the rest of them is not in
    /// their vectors. Not known where vectors came with the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_passages: Option<u32>,
}

impl RetrieverRef {
    /// Whether both find passages in the same way, as far as both say.
    pub fn same(&self, other: &Self) -> bool {
        let unknown = self.reading.is_none() || other.reading.is_none();
        self.model == other.model
            && self.model_sha256 == other.model_sha256
            && self.method == other.method
            && self.base_url == other.base_url
            && (unknown || self.reading == other.reading)
    }
}

/// How an embedding model was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Components of a vector.
    pub dim: u32,
    /// `mean`, `cls`, or `in the graph`; `by the provider` for a model behind an address.
    pub pooling: String,
    /// Whether vectors were made unit vectors.
    pub normalised: bool,
    pub query_prefix: String,
    pub passage_prefix: String,
    /// Longest input in tokens, special tokens included; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

impl Reading {
    /// As a model is really read: its card says most of it, its graph may say otherwise.
    pub fn of(spec: &ModelSpec, dim: u32) -> Self {
        let pooling = spec.pooling.map_or("in the graph", Pooling::word);
        Self {
            dim,
            pooling: pooling.to_owned(),
            normalised: spec.normalise,
            query_prefix: spec.query_prefix.clone(),
            passage_prefix: spec.passage_prefix.clone(),
            max_tokens: Some(spec.max_tokens),
        }
    }
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
