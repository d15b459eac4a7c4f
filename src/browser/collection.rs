//! The passages of all histories of a dataset, searched as one. They lie in a worker of their own,
//! which needs no model; the graph over them is built in another one, because its building cannot
//! be interrupted, only ended together with its worker.

use super::abort::Abort;
use super::dataset::{Dataset, DatasetError};
use super::engine::{EngineError, EngineProgress, OnEngineProgress, steps};
use super::fetch::{self, OnProgress};
use super::worker_client::{WorkerClient, WorkerError};
use crate::embed::spec::Arithmetic;
use crate::llm::LlmError;
use crate::search::HnswParams;
use crate::worker::protocol::{Answer, CollectionHit, Request, SearchMethod};
use std::cell::RefCell;
use std::rc::Rc;

pub use super::sources::{Maker, Source, Vectors};

/// Name of the one collection of a worker.
const KEY: &str = "all";
/// Shards up to this size together, as stored, are loaded with their texts in any case, so that words
/// can be searched. Of larger ones the words are read when somebody asks for them.
const TEXTS_UP_TO: u64 = 24_000_000;

/// Why the histories could not be searched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CollectionError {
    #[error("{0}")]
    Dataset(DatasetError),
    #[error("{0}")]
    Worker(WorkerError),
    #[error("{0}")]
    Engine(EngineError),
    /// A sentence about the embedding endpoint, and what to do about it.
    #[error("{0}")]
    Endpoint(String, Option<String>),
    /// They are neither shipped nor kept, and nobody has allowed to make them.
    #[error("the vectors have not been made yet")]
    NotMade,
}

impl CollectionError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Dataset(error) => error.hint(),
            Self::Worker(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::Endpoint(_, hint) => hint.as_deref(),
            Self::NotMade => None,
        }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Dataset(DatasetError::Cancelled)
                | Self::Worker(WorkerError::Cancelled)
                | Self::Engine(EngineError::Cancelled)
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

impl From<EngineError> for CollectionError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<LlmError> for CollectionError {
    fn from(error: LlmError) -> Self {
        match error {
            LlmError::Cancelled => Self::Worker(WorkerError::Cancelled),
            error => Self::Endpoint(error.to_string(), error.hint()),
        }
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
    source: Source,
    plain: WorkerClient,
    graph: RefCell<Option<Rc<WorkerClient>>>,
    filled: Filled,
    texts: Reading,
}

/// What there is in a worker.
#[derive(Clone, Copy, Default)]
struct Filled {
    rows: u32,
    /// Passages of which only the beginning is in their vectors, as far as that is known.
    cut: u32,
}

/// What becomes of the texts.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// They are kept.
    Texts,
    /// Their words are.
    Words,
    Nothing,
}

/// A graph that can be searched.
#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    pub params: HnswParams,
    /// What building or loading it took.
    pub millis: f64,
    /// It came with the dataset.
    pub shipped: bool,
    /// Why the one that came with the dataset is not used.
    pub refused: Option<String>,
}

impl Collection {
    /// Loads the vectors of all shards, one after another, and the texts of a dataset of moderate
    /// size; of a larger one their words, if they are wanted. Vectors that are neither shipped nor
    /// kept are made only if that is allowed.
    pub async fn open(
        dataset: Rc<Dataset>,
        mut source: Source,
        (words, may_make): (bool, bool),
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Self, CollectionError> {
        let shards = &dataset.manifest.shards;
        let bytes: u64 = shards.iter().map(|shard| shard.file.bytes).sum();
        let texts = match bytes <= TEXTS_UP_TO {
            true => Reading::Texts,
            false if words => Reading::Words,
            false => Reading::Nothing,
        };
        let plain = WorkerClient::start(Arithmetic::Int8).await?;
        let filling = Filling {
            dataset: &dataset,
            source: &source,
            texts,
            may_make,
        };
        let filled = filling.fill(&plain, progress, abort).await?;
        // Known for certain only once vectors have come.
        if let Some(identity) = source.maker.identity().await {
            source.identity = identity;
        }
        Ok(Self {
            dataset,
            source,
            plain,
            graph: RefCell::default(),
            filled,
            texts,
        })
    }

    /// Takes the graph of another collection of the same vectors.
    pub fn take_graph(&self, other: &Self) {
        self.graph.replace(other.graph.take());
    }

    /// Number of passages.
    pub fn rows(&self) -> u32 {
        self.filled.rows
    }

    /// Passages of which only the beginning is in their vectors, as far as that is known.
    pub fn cut(&self) -> u32 {
        self.filled.cut
    }

    /// Whether words can be searched.
    pub fn has_words(&self) -> bool {
        self.texts != Reading::Nothing
    }

    /// Where the vectors that are searched come from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether a graph has been built or loaded and lives.
    pub fn has_graph(&self) -> bool {
        let graph = self.graph.borrow();
        graph.as_ref().is_some_and(|worker| worker.is_alive())
    }

    /// Loads the graph that the dataset ships, or builds one. When the switch is pulled its worker is
    /// ended; exact searches go on in the meantime.
    pub async fn link(
        &self,
        params: HnswParams,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Linked, CollectionError> {
        self.graph.take();
        let worker = WorkerClient::start(Arithmetic::Int8).await?;
        let filling = Filling {
            dataset: &self.dataset,
            source: &self.source,
            // Words are searched in the other worker.
            texts: match self.texts {
                Reading::Texts => Reading::Texts,
                _ => Reading::Nothing,
            },
            may_make: true,
        };
        filling.fill(&worker, progress, abort).await?;
        let (loaded, refused) = match self.load_graph(&worker, params, progress, abort).await {
            Ok(loaded) => (loaded, None),
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => (None, Some(error.to_string())),
        };
        let shipped = loaded.is_some();
        let answer = match loaded {
            Some(answer) => answer,
            None => {
                let key = KEY.to_owned();
                let request = Request::BuildGraph { key, params };
                worker.ask(request, &[], steps(progress), abort).await?.0
            }
        };
        let Answer::GraphBuilt { millis, params, .. } = answer else {
            return Err(WorkerError::Confused.into());
        };
        self.graph.replace(Some(Rc::new(worker)));
        Ok(Linked {
            params,
            millis,
            shipped,
            refused,
        })
    }

    /// The graph that came with the dataset, if there is one for these vectors.
    async fn load_graph(
        &self,
        worker: &WorkerClient,
        params: HnswParams,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Answer>, CollectionError> {
        let Vectors::Shipped(set) = &self.source.vectors else {
            return Ok(None);
        };
        let Some(size) = set.graph.as_ref().map(|file| file.bytes) else {
            return Ok(None);
        };
        let told = Rc::clone(progress);
        let tell = move |done, total| {
            told(EngineProgress {
                what: "loading the dataset's graph".to_owned(),
                done,
                total,
            });
        };
        tell(0, Some(size));
        let bytes: OnProgress = Rc::new(move |progress| tell(progress.done, progress.total));
        let Some(file) = self.dataset.graph(set, &bytes, abort).await? else {
            return Ok(None);
        };
        let request = Request::LoadGraph {
            key: KEY.to_owned(),
            vectors: set.vectors_sha256(),
            ef_search: params.ef_search,
        };
        // A copy of its own: buffers that are handed over are gone here, and the cache may keep this one.
        let buffer = file.slice(0, file.length()).buffer();
        let (answer, _) = worker.ask(request, &[buffer], None, abort).await?;
        Ok(Some(answer))
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

/// What goes into a worker.
struct Filling<'a> {
    dataset: &'a Dataset,
    source: &'a Source,
    /// What becomes of the sessions.
    texts: Reading,
    may_make: bool,
}

impl Filling<'_> {
    /// Gives a worker every shard's vectors, and its sessions if texts or words are wanted.
    async fn fill(
        &self,
        worker: &WorkerClient,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Filled, CollectionError> {
        let (mut filled, quiet) = (Filled::default(), fetch::silent());
        // By id: graphs number passages so.
        let mut parts: Vec<&str> = self
            .dataset
            .manifest
            .shards
            .iter()
            .map(|s| s.id.as_str())
            .collect();
        parts.sort_unstable();
        let total = parts.len();
        for (done, part) in parts.into_iter().enumerate() {
            progress(EngineProgress {
                what: "loading histories".to_owned(),
                done: done as u64,
                total: Some(total as u64),
            });
            let told = Rc::clone(progress);
            let counted: OnEngineProgress = Rc::new(move |progress: EngineProgress| {
                told(EngineProgress {
                    what: format!("history {} of {total}: {}", done + 1, progress.what),
                    ..progress
                });
            });
            let vectors = self
                .source
                .vectors(self.dataset, part, self.may_make, &counted, abort);
            let Some(found) = vectors.await? else {
                continue;
            };
            filled.cut += found.cut.unwrap_or_default();
            let sessions = match self.texts {
                Reading::Texts | Reading::Words => {
                    let shard = self.dataset.shard(part, &quiet, abort).await?;
                    shard.history.sessions.clone()
                }
                Reading::Nothing => Vec::new(),
            };
            let request = Request::Collect {
                key: KEY.to_owned(),
                part: part.to_owned(),
                sessions,
                words_only: self.texts == Reading::Words,
            };
            match worker
                .ask(request, &[found.file.buffer()], None, abort)
                .await?
                .0
            {
                Answer::Collected { rows } => filled.rows = rows,
                _ => return Err(WorkerError::Confused.into()),
            }
        }
        Ok(filled)
    }
}
