//! The engine as the page uses it: a model, open histories, searches.

use super::abort::Abort;
use super::cache::{CacheError, FileCache};
use super::clock::sleep;
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
use crate::embed::{ChunkSpan, Chunking, Hit, VectorFile};
use crate::worker::protocol::{Answer, CheckOutcome, Request, SearchMethod};
use futures::future::{Either, select};
use futures::lock::{Mutex, MutexGuard};
use js_sys::Uint8Array;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

mod making;

pub use super::model::{EngineProgress, ModelInfo, OnEngineProgress};

/// Histories open at once; one is some two megabytes.
const HISTORIES_KEPT: usize = 8;

/// Between two looks whether the worker has started.
const WAIT_MS: u32 = 50;

/// Why the engine did not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    #[error("cancelled")]
    Cancelled,
    #[error("the embedding model could not be loaded: {0}")]
    Model(String),
    #[error("the embedding model could not be loaded: {0}")]
    File(CacheError),
    /// Vectors that come with a dataset; a sentence with its hint.
    #[error("{0}")]
    Vectors(String),
    #[error("{0}")]
    Worker(WorkerError),
}

impl EngineError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Cancelled | Self::Model(_) | Self::Vectors(_) => None,
            Self::File(error) => error.hint(),
            Self::Worker(error) => error.hint(),
        }
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

/// What is known of an open history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Passages that are longer than the model reads; not known where vectors came with the
    /// dataset.
    pub too_long: Option<u32>,
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
    /// Starting, loading and opening happen one after the other.
    turn: Mutex<()>,
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
            turn: Mutex::new(()),
        }))
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
        self.alive().is_some() && self.0.loaded.borrow().model.is_some()
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

    /// Loads the embedding model, once.
    pub async fn ensure_model(
        &self,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<ModelInfo, EngineError> {
        let _turn = self.turn(abort).await?;
        let worker = self.worker().await?;
        let info = self.info(abort).await?;
        if self.0.loaded.borrow().model.is_some() {
            return Ok(info);
        }
        let spec = info.spec.clone().with(self.0.wanted.get());
        let mut worker = worker;
        loop {
            let cache = Some(&self.0.cache);
            match model::load(&worker, cache, &info, &spec, progress, abort).await? {
                Answer::ModelLoaded { sha256, .. } if sha256 == info.sha256 => break,
                Answer::ModelLoaded { .. } => {
                    return Err(EngineError::Model(
                        "the engine read another file than was sent: the browser's storage may be damaged".to_owned(),
                    ));
                }
                Answer::NeedsGeneral { .. } if self.arithmetic() == Arithmetic::Int8 => {
                    worker = self.replace_worker(Arithmetic::Float32).await?;
                }
                _ => return Err(WorkerError::Confused.into()),
            }
        }
        self.0.loaded.borrow_mut().model = Some(info.clone());
        Ok(info)
    }

    /// Makes a history searchable under `key`, once; `vectors` is the dataset's vector file for
    /// the loaded model and this chunking, if it ships one. Without it the engine embeds the
    /// history and the vectors are kept for the next visit. `key` has to name dataset, persona and
    /// chunking, since equal keys are taken for equal histories.
    pub async fn open_history(
        &self,
        key: &str,
        history: &History,
        vectors: Option<Vec<u8>>,
        chunking: Chunking,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Opened, EngineError> {
        let _turn = self.turn(abort).await?;
        let worker = self.worker().await?;
        let known = self.0.loaded.borrow().histories.clone();
        if let Some((_, opened)) = known.iter().find(|(open, _)| open == key) {
            return Ok(*opened);
        }
        let place = self.vectors_key(key);
        let request = |vectors: &Option<Uint8Array>| Request::OpenHistory {
            key: key.to_owned(),
            sessions: history.sessions.clone(),
            chunking,
            shipped_vectors: vectors.is_some(),
            foreign: false,
        };
        let shipped = vectors.map(|vectors| Uint8Array::from(vectors.as_slice()));
        let kept = if shipped.is_none() {
            self.0.cache.made(&place).await
        } else {
            None
        };
        let was_kept = kept.is_some();
        let mut opened = match was_kept {
            true => self.kept_count(&place).await,
            false => Opened::default(),
        };
        let mut vectors = shipped.or(kept);
        if vectors.is_none() {
            let source = (history, chunking);
            let (made, too_long) = self
                .make_and_keep(&worker, &place, source, progress, abort)
                .await?;
            opened = Opened {
                too_long: Some(too_long),
            };
            vectors = Some(made);
        }
        let buffers: Vec<_> = vectors.iter().map(Uint8Array::buffer).collect();
        let mut answered = worker
            .ask(request(&vectors), &buffers, steps(progress), abort)
            .await;
        if was_kept && matches!(answered, Err(WorkerError::Failed(_))) {
            // A damaged copy of what was made here before: make it again.
            answered = worker
                .ask(request(&None), &[], steps(progress), abort)
                .await;
        }
        let (answer, made) = answered?;
        let Answer::HistoryOpen { .. } = answer else {
            return Err(WorkerError::Confused.into());
        };
        if let Some(made) = made.first() {
            self.0.cache.keep_made(&place, &Uint8Array::new(made)).await;
        }
        self.0
            .loaded
            .borrow_mut()
            .histories
            .push((key.to_owned(), opened));
        self.close_oldest(&worker, abort).await?;
        Ok(opened)
    }

    /// What was counted when kept vectors were made.
    async fn kept_count(&self, place: &str) -> Opened {
        let kept = self.0.cache.made(&format!("{place}/too-long")).await;
        let bytes = kept.and_then(|bytes| bytes.to_vec().try_into().ok());
        Opened {
            too_long: bytes.map(u32::from_le_bytes),
        }
    }

    /// Makes a history searchable by words while the model is still on its way: nobody is waited for
    /// but the worker. `spans` marks its passages.
    pub async fn open_for_words(
        &self,
        key: &str,
        history: &History,
        spans: Vec<ChunkSpan>,
        abort: &Abort,
    ) -> Result<(), EngineError> {
        let worker = loop {
            if let Some(worker) = self.alive() {
                break worker;
            }
            match select(self.0.turn.lock(), pin!(sleep(WAIT_MS))).await {
                Either::Left((_turn, _)) => break self.worker().await?,
                Either::Right(_) if abort.is_aborted() => return Err(EngineError::Cancelled),
                Either::Right(_) => {}
            }
        };
        let request = Request::OpenForWords {
            key: key.to_owned(),
            sessions: history.sessions.clone(),
            spans,
        };
        worker.ask(request, &[], None, abort).await?;
        Ok(())
    }

    /// Frees a history that was opened for words.
    pub async fn close(&self, key: &str) {
        if let Some(worker) = self.alive() {
            let request = Request::CloseHistory {
                key: key.to_owned(),
            };
            // A worker that died has freed it already.
            let _ = worker.ask(request, &[], None, &Abort::new()).await;
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
    ) -> Result<Vec<Vec<Hit>>, EngineError> {
        let request = Request::Search {
            key: key.to_owned(),
            queries: queries.to_vec(),
            top_k,
            method,
            dim: 0,
        };
        match self.ask(request, abort).await? {
            Answer::Hits { hits, .. } if hits.len() == queries.len() => Ok(hits),
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
    ) -> Result<Vec<Vec<Hit>>, EngineError> {
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
            Answer::Hits { hits, .. } if hits.len() == queries.len() => Ok(hits),
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

    /// Makes a history searchable by vectors of another model.
    pub async fn open_foreign(
        &self,
        key: &str,
        history: &History,
        vectors: &VectorFile,
        chunking: Chunking,
        abort: &Abort,
    ) -> Result<(), EngineError> {
        let _turn = self.turn(abort).await?;
        let worker = self.worker().await?;
        let request = Request::OpenHistory {
            key: key.to_owned(),
            sessions: history.sessions.clone(),
            chunking,
            shipped_vectors: true,
            foreign: true,
        };
        let buffers = [Uint8Array::from(vectors.encode().as_slice()).buffer()];
        let (answer, _) = worker.ask(request, &buffers, None, abort).await?;
        let Answer::HistoryOpen { .. } = answer else {
            return Err(WorkerError::Confused.into());
        };
        {
            let histories = &mut self.0.loaded.borrow_mut().histories;
            histories.retain(|(open, _)| open != key);
            histories.push((key.to_owned(), Opened::default()));
        }
        self.close_oldest(&worker, abort).await
    }

    /// Whether a history is open under that key.
    pub fn has_open(&self, key: &str) -> bool {
        let loaded = self.0.loaded.borrow();
        self.alive().is_some() && loaded.histories.iter().any(|(open, _)| open == key)
    }

    /// Unit vectors of texts that are no passages.
    pub async fn embed(
        &self,
        texts: &[String],
        abort: &Abort,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        match self
            .ask(
                Request::Embed {
                    texts: texts.to_vec(),
                },
                abort,
            )
            .await?
        {
            Answer::Vectors { vectors, .. } if vectors.len() == texts.len() => Ok(vectors),
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

    /// Waits until nobody else starts, loads or opens.
    async fn turn(&self, abort: &Abort) -> Result<MutexGuard<'_, ()>, EngineError> {
        match select(self.0.turn.lock(), pin!(abort.aborted())).await {
            Either::Left((turn, _)) => Ok(turn),
            Either::Right(_) => Err(EngineError::Cancelled),
        }
    }

    async fn close_oldest(&self, worker: &WorkerClient, abort: &Abort) -> Result<(), EngineError> {
        let surplus = {
            let histories = &mut self.0.loaded.borrow_mut().histories;
            (histories.len() > HISTORIES_KEPT).then(|| histories.remove(0))
        };
        if let Some((key, _)) = surplus {
            worker
                .ask(Request::CloseHistory { key }, &[], None, abort)
                .await?;
        }
        Ok(())
    }

    fn alive(&self) -> Option<Rc<WorkerClient>> {
        self.0
            .worker
            .borrow()
            .clone()
            .filter(|worker| worker.is_alive())
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
