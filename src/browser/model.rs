//! The embedding model that ships with the site: what it is, and its files.

use super::abort::Abort;
use super::cache::{FileCache, Wanted};
use super::engine::EngineError;
use super::fetch::{Freshness, Get, OnProgress, Progress, silent};
use super::page;
use crate::bench::manifest::FileRef;
use crate::embed::spec::{Arithmetic, ModelSpec, Pooling};
use js_sys::{ArrayBuffer, Uint8Array};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Its folder.
const MODEL: &str = "models/all-minilm-l6-v2/";
/// Of `model.json`.
const INFO_LIMIT: u64 = 64 * 1024;

/// `model.json` beside the model's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Short name, as embedding sets name it.
    pub name: String,
    pub dim: u32,
    /// Longest input in tokens, special tokens included.
    pub max_tokens: u32,
    /// The ONNX file; its hash names the model in results.
    pub onnx: FileRef,
    pub tokenizer: FileRef,
    /// How the vectors of tokens become one, where the graph does not do it.
    #[serde(default)]
    pub pool: Option<Pooling>,
    /// Put before a query.
    #[serde(default)]
    pub query_prefix: String,
    /// Put before a passage.
    #[serde(default)]
    pub passage_prefix: String,
}

impl ModelInfo {
    /// What the engine has to know.
    pub fn spec(&self, arithmetic: Arithmetic) -> ModelSpec {
        ModelSpec {
            max_tokens: self.max_tokens,
            pooling: self.pool,
            query_prefix: self.query_prefix.clone(),
            passage_prefix: self.passage_prefix.clone(),
            arithmetic,
        }
    }
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

/// What `model.json` says.
pub(super) async fn info(cache: &FileCache, abort: &Abort) -> Result<ModelInfo, EngineError> {
    let url = page::resolve(&format!("{MODEL}model.json"))?;
    let progress = silent();
    let get = Get {
        url: &url,
        limit: INFO_LIMIT,
        expect: None,
        freshness: Freshness::Revalidate,
        progress: &progress,
        abort,
    };
    let (bytes, is_kept_copy) = cache.fresh(get).await?;
    let info = serde_json::from_slice(&bytes.to_vec())
        .map_err(|error| EngineError::Model(format!("{url}: {error}")))?;
    if !is_kept_copy {
        cache.keep_fresh(&url, &bytes).await;
    }
    Ok(info)
}

/// The ONNX file, then the tokenizer.
pub(super) async fn files(
    cache: &FileCache,
    info: &ModelInfo,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<[ArrayBuffer; 2], EngineError> {
    let shown = bytes_of("loading the embedding model", progress);
    let onnx = file(cache, &info.onnx, &shown, abort).await?;
    let shown = bytes_of("loading the tokenizer", progress);
    let tokenizer = file(cache, &info.tokenizer, &shown, abort).await?;
    Ok([onnx, tokenizer].map(|file| file.buffer()))
}

async fn file(
    cache: &FileCache,
    wanted: &FileRef,
    progress: &OnProgress,
    abort: &Abort,
) -> Result<Uint8Array, EngineError> {
    let url = page::resolve(&format!("{MODEL}{}", wanted.path))?;
    let asked = Wanted {
        url,
        file: wanted.clone(),
        kind: None,
    };
    Ok(cache.file(&asked, progress, abort).await?)
}

/// Download progress as engine progress.
fn bytes_of(what: &'static str, progress: &OnEngineProgress) -> OnProgress {
    let progress = Rc::clone(progress);
    Rc::new(move |Progress { done, total }| {
        progress(EngineProgress {
            what: what.to_owned(),
            done,
            total,
        })
    })
}
