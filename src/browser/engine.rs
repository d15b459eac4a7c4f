//! The engine as the page uses it: a model, open histories, searches.

use super::abort::Abort;
use super::cache::{CacheError, FileCache};
use super::error::BrowserError;
use super::fetch::FetchError;
use super::model;
use super::pool::Pool;
use super::worker_client::{OnStep, WorkerClient, WorkerError};
use crate::bench::hidden::Check;
use crate::bench::visible::History;
use crate::embed::kept::TextVectors;
use crate::embed::registry::KeptModel;
use crate::embed::spec::Arithmetic;
use crate::embed::{ChunkSpan, Chunking, Hit};
use crate::worker::protocol::{Answer, CheckOutcome, Request, SearchMethod};
use futures::future::{Either, select};
use futures::lock::{Mutex, MutexGuard};
use js_sys::Uint8Array;
use loading::Load;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

mod loading;
mod making;
mod opening;

pub use super::model::{EngineProgress, ModelInfo, OnEngineProgress};
pub use opening::Opened;

/// Why the engine did not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    #[error("cancelled")]
    Cancelled,
    #[error("the embedding model could not be loaded: {0}")]
    Model(String),
    /// For a reason that is not the model's: no memory now, a storage that does not answer.
    #[error("the embedding model could not be loaded: {0}")]
    Unready(String),
    #[error("the embedding model could not be loaded: {0}")]
    File(CacheError),
    /// It was loaded and gave no vectors.
    #[error("the embedding model failed: {0}")]
    Embedding(String),
    #[error("{0}")]
    Worker(WorkerError),
}

impl EngineError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Cancelled | Self::Model(_) | Self::Embedding(_) => None,
            Self::Unready(_) => Some("Then try again."),
            Self::File(error) => error.hint(),
            Self::Worker(error) => error.hint(),
        }
    }

    /// Whether the model itself is at fault, so that it will fail again.
    pub fn is_of_model(&self) -> bool {
        matches!(self, Self::Model(_) | Self::Embedding(_))
    }

    /// Whether a new worker may do what the old one did not.
    pub fn is_of_worker(&self) -> bool {
        matches!(
            self,
            Self::Worker(WorkerError::Died(_) | WorkerError::Confused)
        )
    }
}

impl From<CacheError> for EngineError {
    fn from(error: CacheError) -> Self {
        if error.is_cancelled() {
            Self::Cancelled
        } else {
            Self::File(error)
        }
    }
}

impl From<FetchError> for EngineError {
    fn from(error: FetchError) -> Self {
        CacheError::from(error).into()
    }
}

impl From<WorkerError> for EngineError {
    fn from(error: WorkerError) -> Self {
        if error == WorkerError::Cancelled {
            Self::Cancelled
        } else {
            Self::Worker(error)
        }
    }
}

impl From<BrowserError> for EngineError {
    fn from(error: BrowserError) -> Self {
        Self::Worker(error.into())
    }
}

/// Vectors of texts.
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    /// Texts that were longer than the model reads; the rest of them is not in their vectors.
    pub cut: u32,
}

/// Passages found, one list a query.
pub struct Found {
    pub hits: Vec<Vec<Hit>>,
    /// Queries that were longer than the model reads.
    pub cut: u32,
}

/// Handle; clones share one worker. Nothing is loaded before the first use.
#[derive(Clone)]
pub struct Engine(Rc<Inner>);

struct Inner {
    cache: FileCache,
    /// The model of the visitor's; none for the shipped one.
    own: Option<Rc<KeptModel>>,
    worker: RefCell<Option<Rc<WorkerClient>>>,
    pool: Pool,
    loaded: RefCell<Loaded>,
    /// What the visitor wants computed with.
    wanted: Cell<Arithmetic>,
    /// The model on its way.
    loading: RefCell<Option<Rc<Load>>>,
    /// Starting and loading happen one after the other.
    turn: Mutex<()>,
    /// One history at a time is embedded, on all cores; nobody who embeds nothing waits for it.
    making: Mutex<()>,
}

/// What the living worker holds; a new worker begins with nothing.
#[derive(Default)]
struct Loaded {
    model: Option<ModelInfo>,
    /// What the worker can compute with.
    arithmetic: Arithmetic,
    /// Vectors of texts of this model, from all visits.
    texts: Option<TextVectors>,
    /// By key, latest opened last.
    histories: Vec<(String, Opened)>,
}

impl Engine {
    /// The engine of the shipped model.
    pub fn new(cache: FileCache) -> Self {
        Self::with_model(cache, None)
    }

    /// The engine of a kept model.
    pub fn of(cache: FileCache, model: KeptModel) -> Self {
        Self::with_model(cache, Some(Rc::new(model)))
    }

    fn with_model(cache: FileCache, own: Option<Rc<KeptModel>>) -> Self {
        Self(Rc::new(Inner {
            cache,
            own,
            worker: RefCell::default(),
            pool: Pool::default(),
            loaded: RefCell::default(),
            wanted: Cell::default(),
            loading: RefCell::default(),
            turn: Mutex::new(()),
            making: Mutex::new(()),
        }))
    }

    /// Whether its model is the visitor's own.
    pub fn is_own(&self) -> bool {
        self.0.own.is_some()
    }

    /// Chooses what is computed with from the next use on; another choice than before starts the
    /// engine anew.
    pub fn set_arithmetic(&self, arithmetic: Arithmetic) {
        if self.0.wanted.replace(arithmetic) != arithmetic {
            self.0.worker.take();
        }
    }

    /// What the loaded model computes with.
    pub fn arithmetic(&self) -> Arithmetic {
        self.0.loaded.borrow().arithmetic
    }

    /// Whether the model is loaded, so that a query need not wait.
    pub fn is_ready(&self) -> bool {
        self.ready().is_some()
    }

    /// The model that a living worker holds.
    fn ready(&self) -> Option<ModelInfo> {
        self.alive()?;
        self.0.loaded.borrow().model.clone()
    }

    /// Starts the worker, or a new one after a death. Call it once the page is interactive.
    pub async fn start(&self) -> Result<(), EngineError> {
        let _turn = self.0.turn.lock().await;
        self.worker().await.map(drop)
    }

    /// What the model is, without loading it.
    pub async fn info(&self, abort: &Abort) -> Result<ModelInfo, EngineError> {
        if let Some(info) = self.0.loaded.borrow().model.clone() {
            return Ok(info);
        }
        match &self.0.own {
            Some(own) => Ok(ModelInfo::kept(Rc::clone(own))),
            None => model::shipped(&self.0.cache, abort).await,
        }
    }

    /// Loads the embedding model, once. Where it is loaded nobody is waited for, whatever else the
    /// engine is busy with.
    pub async fn ensure_model(
        &self,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<ModelInfo, EngineError> {
        match self.ready() {
            Some(info) => Ok(info),
            None => self.load(progress, abort).await,
        }
    }

    /// One list a query, best first.
    pub async fn search(
        &self,
        key: &str,
        queries: &[String],
        top_k: u32,
        method: SearchMethod,
        abort: &Abort,
    ) -> Result<Found, EngineError> {
        let request = Request::Search {
            key: key.to_owned(),
            queries: queries.to_vec(),
            top_k,
            method,
            dim: 0,
        };
        match self.ask(request, abort).await? {
            Answer::Hits { hits, cut, .. } if hits.len() == queries.len() => {
                Ok(Found { hits, cut })
            }
            _ => Err(WorkerError::Confused.into()),
        }
    }

    /// The same in a history of another model's vectors, by the vectors of the queries.
    pub async fn search_by(
        &self,
        key: &str,
        queries: &[(String, Vec<f32>)],
        top_k: u32,
        method: SearchMethod,
        abort: &Abort,
    ) -> Result<Found, EngineError> {
        let request = Request::Search {
            key: key.to_owned(),
            queries: queries.iter().map(|(text, _)| text.clone()).collect(),
            top_k,
            method,
            dim: queries.first().map_or(0, |(_, vector)| vector.len() as u32),
        };
        let numbers = queries.iter().flat_map(|(_, vector)| vector);
        let bytes: Vec<u8> = numbers.flat_map(|x| x.to_le_bytes()).collect();
        let buffers = [Uint8Array::from(bytes.as_slice()).buffer()];
        let worker = self.any_worker(abort).await?;
        match worker.ask(request, &buffers, None, abort).await?.0 {
            Answer::Hits { hits, cut, .. } if hits.len() == queries.len() => {
                Ok(Found { hits, cut })
            }
            _ => Err(WorkerError::Confused.into()),
        }
    }

    /// Where the chunks of a history lie, their texts, and how many are longer than this model
    /// reads. The model has to be loaded.
    pub async fn cut(
        &self,
        history: &History,
        chunking: Chunking,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<(Vec<ChunkSpan>, Vec<String>, u32), EngineError> {
        let worker = self.any_worker(abort).await?;
        cut(&worker, history, chunking, progress, abort).await
    }

    /// Unit vectors of texts that are no passages.
    pub async fn embed(&self, texts: &[String], abort: &Abort) -> Result<Embedded, EngineError> {
        match self
            .ask(
                Request::Embed {
                    texts: texts.to_vec(),
                },
                abort,
            )
            .await?
        {
            Answer::Vectors { vectors, cut, .. } if vectors.len() == texts.len() => {
                Ok(Embedded { vectors, cut })
            }
            _ => Err(WorkerError::Confused.into()),
        }
    }

    /// Programmatic checks on one output.
    pub async fn check(
        &self,
        output: &Value,
        checks: &[Check],
        abort: &Abort,
    ) -> Result<Vec<CheckOutcome>, EngineError> {
        let request = Request::Check {
            output: output.clone(),
            checks: checks.to_vec(),
        };
        match self.ask(request, abort).await? {
            Answer::Checked { outcomes } if outcomes.len() == checks.len() => Ok(outcomes),
            _ => Err(WorkerError::Confused.into()),
        }
    }

    async fn ask(&self, request: Request, abort: &Abort) -> Result<Answer, EngineError> {
        let worker = self.any_worker(abort).await?;
        Ok(worker.ask(request, &[], None, abort).await?.0)
    }

    async fn any_worker(&self, abort: &Abort) -> Result<Rc<WorkerClient>, EngineError> {
        match self.alive() {
            Some(worker) => Ok(worker),
            None => {
                let _turn = self.turn(abort).await?;
                self.worker().await
            }
        }
    }

    /// Waits until nobody else starts or loads.
    async fn turn(&self, abort: &Abort) -> Result<MutexGuard<'_, ()>, EngineError> {
        locked(&self.0.turn, abort).await
    }

    fn alive(&self) -> Option<Rc<WorkerClient>> {
        self.0
            .worker
            .borrow()
            .clone()
            .filter(|worker| worker.is_alive())
    }

    /// Whether `worker` is the one in use, so that what it holds may be relied on.
    fn is_current(&self, worker: &Rc<WorkerClient>) -> bool {
        self.alive().is_some_and(|now| Rc::ptr_eq(&now, worker))
    }

    /// The living worker; call it with the turn taken.
    async fn worker(&self) -> Result<Rc<WorkerClient>, EngineError> {
        match self.alive() {
            Some(worker) => Ok(worker),
            None => self.replace_worker(self.0.wanted.get()).await,
        }
    }

    /// A new worker, which holds nothing yet.
    async fn replace_worker(&self, kind: Arithmetic) -> Result<Rc<WorkerClient>, EngineError> {
        self.0.worker.take();
        self.0.pool.clear();
        self.0.loaded.replace(Loaded {
            arithmetic: kind,
            ..Loaded::default()
        });
        let worker = Rc::new(WorkerClient::start(kind).await?);
        self.0.worker.replace(Some(Rc::clone(&worker)));
        Ok(worker)
    }

    fn vectors_key(&self, key: &str) -> String {
        let model = self
            .0
            .loaded
            .borrow()
            .model
            .as_ref()
            .map(|model| model.key.clone());
        let exact = match self.arithmetic() {
            Arithmetic::Int8 => "",
            Arithmetic::Float32 => "float32/",
        };
        format!("{}/{exact}{key}", model.unwrap_or_default())
    }
}

/// Waits for a lock, unless the switch is pulled.
async fn locked<'a>(lock: &'a Mutex<()>, abort: &Abort) -> Result<MutexGuard<'a, ()>, EngineError> {
    match select(lock.lock(), pin!(abort.aborted())).await {
        Either::Left((guard, _)) => Ok(guard),
        Either::Right(_) => Err(EngineError::Cancelled),
    }
}

async fn cut(
    worker: &WorkerClient,
    history: &History,
    chunking: Chunking,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<(Vec<ChunkSpan>, Vec<String>, u32), EngineError> {
    let request = Request::CutHistory {
        sessions: history.sessions.clone(),
        chunking,
    };
    match worker.ask(request, &[], steps(progress), abort).await?.0 {
        Answer::Cut {
            spans,
            texts,
            too_long,
        } => Ok((spans, texts, too_long)),
        _ => Err(WorkerError::Confused.into()),
    }
}

/// The worker's progress as engine progress.
pub(super) fn steps(progress: &OnEngineProgress) -> Option<OnStep> {
    let progress = Rc::clone(progress);
    Some(Box::new(move |what, done, total| {
        progress(EngineProgress {
            what,
            done,
            total: Some(total),
        })
    }))
}
