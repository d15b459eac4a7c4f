//! The engine as the page uses it: a model, open histories, searches.

use super::abort::Abort;
use super::cache::{CacheError, FileCache};
use super::worker_client::WorkerError;
use crate::bench::hidden::Check;
use crate::bench::visible::History;
use crate::embed::{Chunking, Hit};
use crate::worker::protocol::{CheckOutcome, SearchMethod};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::rc::Rc;

/// `model.json` beside the model's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Short name, as embedding sets name it.
    pub name: String,
    pub dim: u32,
    /// Longest input in tokens, special tokens included.
    pub max_tokens: u32,
    /// The ONNX file.
    pub onnx: crate::bench::manifest::FileRef,
    pub tokenizer: crate::bench::manifest::FileRef,
}

/// What the engine is busy with: `done` of `total` bytes or passages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineProgress {
    /// For the reader, for example "loading the embedding model".
    pub what: String,
    pub done: u64,
    pub total: Option<u64>,
}

pub type OnEngineProgress = Rc<dyn Fn(EngineProgress)>;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    #[error("cancelled")]
    Cancelled,
    #[error("the embedding model could not be loaded: {0}")]
    Model(String),
    #[error(transparent)]
    File(#[from] CacheError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// Handle; clones share one worker. Nothing is loaded before the first use.
#[derive(Clone)]
pub struct Engine {}

impl Engine {
    pub fn new(_cache: FileCache) -> Self {
        todo!()
    }

    /// Starts the worker, or a new one after a death. Call it once the page is interactive.
    pub async fn start(&self) -> Result<(), EngineError> {
        todo!()
    }

    /// Loads the bundled embedding model, once.
    pub async fn ensure_model(
        &self,
        _progress: &OnEngineProgress,
        _abort: &Abort,
    ) -> Result<ModelInfo, EngineError> {
        todo!()
    }

    /// Makes a history searchable under `key`, once; `vectors` is the dataset's vector file for
    /// the loaded model and this chunking, if it ships one.
    pub async fn open_history(
        &self,
        _key: &str,
        _history: &History,
        _vectors: Option<Vec<u8>>,
        _chunking: Chunking,
        _progress: &OnEngineProgress,
        _abort: &Abort,
    ) -> Result<(), EngineError> {
        todo!()
    }

    /// One list a query, best first.
    pub async fn search(
        &self,
        _key: &str,
        _queries: &[String],
        _top_k: u32,
        _method: SearchMethod,
        _abort: &Abort,
    ) -> Result<Vec<Vec<Hit>>, EngineError> {
        todo!()
    }

    pub async fn embed(
        &self,
        _texts: &[String],
        _abort: &Abort,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        todo!()
    }

    pub async fn check(
        &self,
        _output: &Value,
        _checks: &[Check],
        _abort: &Abort,
    ) -> Result<Vec<CheckOutcome>, EngineError> {
        todo!()
    }
}
