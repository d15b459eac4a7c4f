//! The passages of all histories of a dataset, searched as one. They lie in a worker of their own,
//! which needs no model; the graph over them is built in another one, because its building cannot
//! be interrupted, only ended together with its worker.

use super::abort::Abort;
use super::dataset::{Dataset, DatasetError};
use super::engine::{EngineProgress, OnEngineProgress, steps};
use super::fetch;
use super::worker_client::{WorkerClient, WorkerError};
use crate::bench::manifest::EmbeddingSet;
use crate::embed::spec::Arithmetic;
use crate::embed::{ChunkUnit, Chunking};
use crate::search::HnswParams;
use crate::worker::protocol::{Answer, CollectionHit, Request, SearchMethod};
use js_sys::Uint8Array;
use std::cell::RefCell;
use std::rc::Rc;

/// Name of the one collection of a worker.
const KEY: &str = "all";
/// Shards up to this size together, as stored, are loaded with their texts, so that words can be
/// searched.
const TEXTS_UP_TO: u64 = 24_000_000;

/// Why the histories could not be searched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CollectionError {
    #[error("{0}")]
    Dataset(DatasetError),
    #[error("{0}")]
    Worker(WorkerError),
}

impl CollectionError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Dataset(error) => error.hint(),
            Self::Worker(error) => error.hint(),
        }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Dataset(DatasetError::Cancelled) | Self::Worker(WorkerError::Cancelled)
        )
    }
}

impl From<DatasetError> for CollectionError {
    fn from(error: DatasetError) -> Self {
        Self::Dataset(error)
    }
}

impl From<WorkerError> for CollectionError {
    fn from(error: WorkerError) -> Self {
        Self::Worker(error)
    }
}

/// What to look for, of each query its words and its vector.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub queries: &'a [String],
    pub vectors: &'a [Vec<f32>],
    pub top_k: u32,
    pub method: SearchMethod,
}

/// Hits of each query, best first, and how long the search took in milliseconds.
pub type Found = (Vec<Vec<CollectionHit>>, f64);

/// All passages of a dataset, and perhaps the graph over them.
pub struct Collection {
    dataset: Rc<Dataset>,
    set: EmbeddingSet,
    plain: WorkerClient,
    graph: RefCell<Option<Rc<WorkerClient>>>,
    rows: u32,
    has_texts: bool,
}

impl Collection {
    /// Loads the vectors of `set`, one shard after another, and the texts of a dataset of moderate
    /// size.
    pub async fn open(
        dataset: Rc<Dataset>,
        set: EmbeddingSet,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Self, CollectionError> {
        let shards = &dataset.manifest.shards;
        let bytes: u64 = shards.iter().map(|shard| shard.file.bytes).sum();
        let has_texts = bytes <= TEXTS_UP_TO;
        let plain = WorkerClient::start(Arithmetic::Int8).await?;
        let rows = fill(&plain, (&dataset, &set, has_texts), progress, abort).await?;
        Ok(Self {
            dataset,
            set,
            plain,
            graph: RefCell::default(),
            rows,
            has_texts,
        })
    }

    /// Number of passages.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Whether words can be searched.
    pub fn has_texts(&self) -> bool {
        self.has_texts
    }

    /// The vectors that are searched.
    pub fn set(&self) -> &EmbeddingSet {
        &self.set
    }

    /// Whether a graph has been built and lives.
    pub fn has_graph(&self) -> bool {
        let graph = self.graph.borrow();
        graph.as_ref().is_some_and(|worker| worker.is_alive())
    }

    /// Builds the graph and gives the milliseconds it took. When the switch is pulled its worker is
    /// ended; exact searches go on in the meantime.
    pub async fn build_graph(
        &self,
        params: HnswParams,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<f64, CollectionError> {
        self.graph.take();
        let worker = WorkerClient::start(Arithmetic::Int8).await?;
        let source = (&*self.dataset, &self.set, self.has_texts);
        fill(&worker, source, progress, abort).await?;
        let key = KEY.to_owned();
        let request = Request::BuildGraph { key, params };
        let (answer, _) = worker.ask(request, &[], steps(progress), abort).await?;
        let Answer::GraphBuilt { millis, .. } = answer else {
            return Err(WorkerError::Confused.into());
        };
        self.graph.replace(Some(Rc::new(worker)));
        Ok(millis)
    }

    /// Searches by the graph where the method says so, else all passages.
    pub async fn search(
        &self,
        wanted: Wanted<'_>,
        abort: &Abort,
    ) -> Result<Found, CollectionError> {
        let request = Request::SearchCollection {
            key: KEY.to_owned(),
            queries: wanted.queries.to_vec(),
            vectors: wanted.vectors.to_vec(),
            top_k: wanted.top_k,
            method: wanted.method,
        };
        let graph = self.graph.borrow().clone();
        let worker = match &graph {
            Some(graph) if wanted.method == SearchMethod::Hnsw => graph,
            _ => &self.plain,
        };
        match worker.ask(request, &[], None, abort).await?.0 {
            Answer::CollectionHits { hits, millis } => Ok((hits, millis)),
            _ => Err(WorkerError::Confused.into()),
        }
    }
}

/// Gives a worker every shard's vectors, and its sessions too if texts are wanted; gives the number
/// of passages.
async fn fill(
    worker: &WorkerClient,
    (dataset, set, texts): (&Dataset, &EmbeddingSet, bool),
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<u32, CollectionError> {
    let (mut rows, quiet) = (0, fetch::silent());
    let total = set.files.len() as u64;
    for (done, part) in set.files.keys().enumerate() {
        progress(EngineProgress {
            what: "loading histories".to_owned(),
            done: done as u64,
            total: Some(total),
        });
        let chunking = Chunking {
            unit: ChunkUnit::Tokens,
            tokens: set.chunk_tokens,
            overlap: set.chunk_overlap,
        };
        let vectors = dataset.vectors(part, &set.model_sha256, chunking, &quiet, abort);
        let Some(vectors) = vectors.await? else {
            continue;
        };
        let sessions = match texts {
            true => {
                let shard = dataset.shard(part, &quiet, abort).await?;
                shard.history.sessions.clone()
            }
            false => Vec::new(),
        };
        let request = Request::Collect {
            key: KEY.to_owned(),
            part: part.clone(),
            sessions,
        };
        let buffer = Uint8Array::from(vectors.as_slice()).buffer();
        match worker.ask(request, &[buffer], None, abort).await?.0 {
            Answer::Collected { rows: now } => rows = now,
            _ => return Err(WorkerError::Confused.into()),
        }
    }
    Ok(rows)
}
