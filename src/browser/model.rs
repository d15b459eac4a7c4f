//! The embedding model of an engine: what it is, and its way into a worker.

use super::abort::Abort;
use super::cache::{FileCache, Wanted};
use super::engine::EngineError;
use super::fetch::{Freshness, Get, OnProgress, Progress, silent};
use super::hash::sha256_hex;
use super::models::{self, ModelError};
use super::page;
use super::shelf::Shelf;
use super::worker_client::{WorkerClient, WorkerError};
use crate::bench::manifest::{EmbeddingSet, FileRef};
use crate::embed::registry::kept::{gives, passages_key};
use crate::embed::registry::room::Needs;
use crate::embed::registry::{KeptModel, Role};
use crate::embed::spec::{ModelSpec, Pooling};
use crate::worker::protocol::{Answer, FileBytes, Request};
use js_sys::{ArrayBuffer, Uint8Array};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Folder of the shipped model.
const MODEL: &str = "models/all-minilm-l6-v2/";
/// Of `model.json`.
const INFO_LIMIT: u64 = 64 * 1024;

/// An embedding model, ready to be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// Short name, as embedding sets name it.
    pub name: String,
    /// Names the model's weights in results.
    pub sha256: String,
    pub dim: u32,
    /// How it is read: where it has been loaded once, as that showed.
    pub spec: ModelSpec,
    /// Names vectors of passages made with it: equal keys, equal vectors.
    pub key: String,
    pub files: Files,
}

/// Where its files are.
#[derive(Clone, Debug, PartialEq)]
pub enum Files {
    /// There is no model.
    None,
    /// Beside the page: the ONNX file and the tokenizer.
    Shipped(FileRef, FileRef),
    /// On the shelf.
    Kept(Rc<KeptModel>),
}

/// `model.json` beside the shipped model's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Shipped {
    name: String,
    dim: u32,
    max_tokens: u32,
    /// Its hash names the model in results.
    onnx: FileRef,
    tokenizer: FileRef,
    #[serde(default)]
    pool: Option<Pooling>,
    #[serde(default)]
    query_prefix: String,
    #[serde(default)]
    passage_prefix: String,
}

impl ModelInfo {
    /// Stands for a model where none was used.
    pub fn none(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            sha256: String::new(),
            dim: 0,
            spec: ModelSpec::plain(0),
            key: String::new(),
            files: Files::None,
        }
    }

    /// A model on the shelf.
    pub fn kept(model: Rc<KeptModel>) -> Self {
        let sha256 = model.sha256();
        let tokenizer = model.tokenizer().and_then(|file| file.sha256.as_deref());
        let spec = model.reading().clone();
        Self {
            name: model.name.clone(),
            dim: model.tried.as_ref().map_or(0, |tried| tried.dim),
            key: passages_key(&sha256, tokenizer.unwrap_or_default(), &spec),
            spec,
            sha256,
            files: Files::Kept(model),
        }
    }

    /// Whether the vectors of a dataset's set are those that this model gives.
    pub fn gives(&self, set: &EmbeddingSet) -> bool {
        let tokenizer = match &self.files {
            Files::None => return false,
            Files::Shipped(_, tokenizer) => Some(&tokenizer.sha256),
            Files::Kept(model) => model.tokenizer().and_then(|file| file.sha256.as_ref()),
        };
        let tokenizer = tokenizer.map(String::as_str).unwrap_or_default();
        gives(set, &self.sha256, tokenizer, &self.spec)
    }

    /// What it takes of the machine.
    pub(super) fn needs(&self) -> Needs {
        match &self.files {
            Files::None => Needs::default(),
            Files::Shipped(onnx, tokenizer) => Needs {
                weights: onnx.bytes,
                tokenizer: tokenizer.bytes,
                hidden: u64::from(self.dim),
                tokens: u64::from(self.spec.max_tokens),
            },
            Files::Kept(model) => models::needs(model),
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

/// The shipped model, by its `model.json`.
pub(super) async fn shipped(cache: &FileCache, abort: &Abort) -> Result<ModelInfo, EngineError> {
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
    let info: Shipped = serde_json::from_slice(&bytes.to_vec())
        .map_err(|error| EngineError::Model(format!("{url}: {error}")))?;
    if !is_kept_copy {
        cache.keep_fresh(&url, &bytes).await;
    }
    Ok(ModelInfo {
        name: info.name,
        sha256: info.onnx.sha256.clone(),
        dim: info.dim,
        spec: ModelSpec {
            max_tokens: info.max_tokens,
            pooling: info.pool,
            query_prefix: info.query_prefix,
            passage_prefix: info.passage_prefix,
            ..ModelSpec::plain(info.max_tokens)
        },
        key: info.onnx.sha256.clone(),
        files: Files::Shipped(info.onnx, info.tokenizer),
    })
}

/// Loads a model into a worker, to be read as `spec` says. A kept one goes piece by piece, so that
/// nobody ever holds two copies of it.
pub(super) async fn load(
    worker: &WorkerClient,
    cache: Option<&FileCache>,
    info: &ModelInfo,
    spec: &ModelSpec,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<Answer, EngineError> {
    let (pieces, buffers) = match (&info.files, cache) {
        (Files::Shipped(onnx, tokenizer), Some(cache)) => {
            let shown = bytes_of("loading the embedding model", progress);
            let onnx = file(cache, onnx, &shown, abort).await?;
            let shown = bytes_of("loading the tokenizer", progress);
            let tokenizer = file(cache, tokenizer, &shown, abort).await?;
            let buffers = [onnx, tokenizer].map(|file| file.buffer());
            (Vec::new(), buffers.to_vec())
        }
        (Files::Kept(model), _) => kept(worker, model, progress, abort).await?,
        _ => return Err(EngineError::Model("there is none to load".to_owned())),
    };
    let request = Request::LoadModel {
        name: info.name.clone(),
        pieces,
        spec: spec.clone(),
    };
    progress(EngineProgress {
        what: "opening the embedding model".to_owned(),
        done: 0,
        total: None,
    });
    Ok(worker.ask(request, &buffers, None, abort).await?.0)
}

/// Hands the pieces of a kept model over; gives what the last request needs.
async fn kept(
    worker: &WorkerClient,
    model: &KeptModel,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<(Vec<FileBytes>, Vec<ArrayBuffer>), EngineError> {
    let shelf = Shelf::open().await?;
    let of = model.weights();
    let (mut files, mut done, mut tokenizer) = (Vec::new(), 0, None);
    for (at, file) in model.files.iter().enumerate() {
        if file.role == Role::Tokenizer {
            let whole = Uint8Array::new_with_length(file.kept() as u32);
            let mut place = 0;
            for number in 0..file.pieces.len() {
                let piece = models::piece(&shelf, model, at, number).await?;
                whole.set(&piece, place);
                place += piece.length();
            }
            // The engine names the weights by their hash, and nothing else does so for this file.
            if Some(sha256_hex(&whole).await) != file.sha256 {
                return Err(ModelError::damaged(&file.name).into());
            }
            tokenizer = Some(whole.buffer());
            continue;
        }
        for number in 0..file.pieces.len() {
            let piece = models::piece(&shelf, model, at, number).await?;
            let request = Request::ModelPiece {
                first: done == 0,
                of,
            };
            let asked = worker.ask(request, &[piece.buffer()], None, abort).await;
            let (answer, _) = asked.map_err(|error| match error {
                // There is no room for it now.
                WorkerError::Failed(why) => EngineError::Unready(why),
                error => error.into(),
            })?;
            let Answer::PieceTaken { bytes } = answer else {
                return Err(WorkerError::Confused.into());
            };
            done = bytes;
            progress(EngineProgress {
                what: format!("loading {}", model.name),
                done,
                total: Some(of),
            });
        }
        files.push(FileBytes {
            name: file.name.clone(),
            bytes: file.kept(),
        });
    }
    Ok((files, tokenizer.into_iter().collect()))
}

impl From<ModelError> for EngineError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Cancelled => Self::Cancelled,
            ModelError::Trial(error) => error,
            ModelError::Refused(_) | ModelError::Gone | ModelError::Address(_) => {
                Self::Model(error.to_string())
            }
            error => Self::Unready(error.to_string()),
        }
    }
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
