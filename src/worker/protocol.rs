//! Messages between the page and the engine worker. They travel as JSON text beside an optional
//! list of transferred byte buffers; both sides compare [`PROTOCOL`] before anything else.

use crate::bench::hidden::Check;
use crate::bench::visible::Session;
use crate::embed::{Chunking, Hit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of these messages; a worker of another build is refused.
pub const PROTOCOL: u32 = 1;

/// Number the page gives to a request; progress and answer carry it back.
pub type RequestId = u32;

/// From page to worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToWorker {
    pub id: RequestId,
    pub request: Request,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// First message. Answer: [`Answer::Ready`].
    Hello { protocol: u32 },
    /// Transferred buffers: the ONNX file, then `tokenizer.json`. Answer: [`Answer::ModelLoaded`].
    LoadModel {
        name: String,
        /// Longest input in tokens, special tokens included.
        max_tokens: u32,
    },
    /// Makes a history searchable under `key`. Transferred buffer, when the dataset ships vectors
    /// of the loaded model: the vector file of [`crate::embed::vectors`]; without it the worker
    /// chunks and embeds, with progress. Answer: [`Answer::HistoryOpen`].
    OpenHistory { key: String, sessions: Vec<Session>, chunking: Chunking, shipped_vectors: bool },
    /// Answer: [`Answer::Hits`], one list a query, best first.
    Search { key: String, queries: Vec<String>, top_k: u32, method: SearchMethod },
    /// Answer: [`Answer::Vectors`]. For texts that are no passage: slot options, preferences.
    Embed { texts: Vec<String> },
    /// Runs programmatic checks on one output (text, or an object slot -> value).
    /// Answer: [`Answer::Checked`].
    Check { output: Value, checks: Vec<Check> },
    /// Stops the request `target` between two passages; its answer is [`Failure::Cancelled`].
    Cancel { target: RequestId },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMethod {
    /// int8 scan with float32 rescoring: exact.
    #[default]
    Exact,
    /// instant-distance; built on first use.
    Hnsw,
}

/// From worker to page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FromWorker {
    pub id: RequestId,
    pub event: Event,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// `done` of `total` passages embedded or bytes read.
    Progress { what: String, done: u64, total: u64 },
    Done { answer: Answer },
    Failed { failure: Failure },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    Ready { protocol: u32, build: String },
    ModelLoaded { dim: u32, sha256: String, millis: f64 },
    HistoryOpen { chunks: u32, embedded: u32, millis: f64 },
    Hits { hits: Vec<Vec<Hit>>, millis: f64 },
    Vectors { vectors: Vec<Vec<f32>>, millis: f64 },
    /// One for each check: passed or not, and why, in a sentence.
    Checked { outcomes: Vec<CheckOutcome> },
    Cancelled,
}

/// Result of one programmatic check. `passed` is `None` when the check could not be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckOutcome {
    pub passed: Option<bool>,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Failure {
    #[error("cancelled")]
    Cancelled,
    #[error("{message}")]
    Failed { message: String },
}
