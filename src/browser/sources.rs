//! Where the vectors of all histories come from: the dataset's own files, a model in this browser, or
//! an embedding endpoint. What is made is kept history by history, so that nothing is made twice. Where
//! there are none, windows of words stand in for passages.

use super::abort::Abort;
use super::collection::CollectionError;
use super::dataset::Dataset;
use super::engine::{Engine, OnEngineProgress};
use super::fetch;
use super::remote::Remote;
use crate::bench::manifest::EmbeddingSet;
use crate::bench::visible::History;
use crate::embed::windows::word_windows;
use crate::embed::{Chunking, VectorFile};
use js_sys::Uint8Array;
use std::rc::Rc;

/// Vectors of passages, and the model that makes those of queries.
#[derive(Clone)]
pub struct Source {
    pub vectors: Vectors,
    pub maker: Maker,
    /// Of the model, for the reader.
    pub name: String,
    /// Equal for equal vectors.
    pub identity: String,
}

/// Of passages.
#[derive(Clone)]
pub enum Vectors {
    /// Files of the dataset.
    Shipped(EmbeddingSet),
    /// To be made, unless they are kept.
    Made,
    /// None at all: passages are windows of words, and only words can be searched.
    Windows,
}

/// The passages of one history.
pub(super) struct Part {
    /// A vector file.
    pub file: Uint8Array,
    /// Passages of which only the beginning is in their vectors, where that is known.
    pub cut: Option<u32>,
}

/// The model.
#[derive(Clone)]
pub enum Maker {
    Engine(Engine),
    /// The engine only cuts.
    Remote(Rc<Remote>, Engine),
}

impl Source {
    /// The passages of a shard; none if the dataset has none, an error if vectors would have to be
    /// made and may not be.
    pub(super) async fn vectors(
        &self,
        dataset: &Dataset,
        part: &str,
        may_make: bool,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Part>, CollectionError> {
        let quiet = fetch::silent();
        match &self.vectors {
            Vectors::Shipped(set) => {
                let vectors = dataset.vectors(part, set, &quiet, abort);
                let vectors = vectors.await?;
                Ok(vectors.map(|vectors| Part::new(&vectors, None)))
            }
            Vectors::Made => {
                let shard = dataset.shard(part, &quiet, abort).await?;
                let chunking = Chunking::default();
                let key = dataset.history_key(part, chunking);
                let history = (&shard.history, chunking);
                let made = self.maker.make(&key, history, may_make, progress, abort);
                made.await?.ok_or(CollectionError::NotMade).map(Some)
            }
            Vectors::Windows => {
                let shard = dataset.shard(part, &quiet, abort).await?;
                let spans = word_windows(&shard.history.sessions, Chunking::default());
                // Of one number each, for the sake of the file; nobody compares it.
                let mut file = VectorFile::new(1);
                spans.into_iter().for_each(|span| file.push(span, &[0.0]));
                Ok(Some(Part::new(&file.encode(), None)))
            }
        }
    }

    /// Whether passages have vectors.
    pub fn has_vectors(&self) -> bool {
        !matches!(self.vectors, Vectors::Windows)
    }
}

impl Part {
    fn new(file: &[u8], cut: Option<u32>) -> Self {
        let file = Uint8Array::from(file);
        Self { file, cut }
    }
}

impl Maker {
    async fn make(
        &self,
        key: &str,
        history: (&History, Chunking),
        may_make: bool,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Part>, CollectionError> {
        match self {
            Self::Engine(engine) => {
                let made = engine.vectors_of(key, history, may_make, progress, abort);
                Ok(made.await?.map(|(file, cut)| Part { file, cut }))
            }
            Self::Remote(remote, engine) => {
                let made = remote.history(engine, key, history, may_make, progress, abort);
                let made = made.await?;
                Ok(made.map(|made| Part::new(&made.file.encode(), made.cut)))
            }
        }
    }

    /// Whether queries get their vectors at once.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Engine(engine) => engine.is_ready(),
            Self::Remote(..) => true,
        }
    }

    /// Names the vectors it makes now, where that can change.
    pub(super) async fn identity(&self) -> Option<String> {
        match self {
            Self::Engine(_) => None,
            Self::Remote(remote, _) => Some(remote.identity().await),
        }
    }

    /// Vectors of queries, and how many of them are of the beginning only; the model is loaded for it.
    pub async fn queries(
        &self,
        texts: &[String],
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<(Vec<Vec<f32>>, u32), CollectionError> {
        match self {
            Self::Engine(engine) => {
                engine.ensure_model(progress, abort).await?;
                let embedded = engine.embed(texts, abort).await?;
                Ok((embedded.vectors, embedded.cut))
            }
            Self::Remote(remote, ..) => {
                let before = remote.cut_queries();
                let pairs = remote.queries(texts, abort).await?;
                let vectors = pairs.into_iter().map(|(_, vector)| vector).collect();
                Ok((vectors, remote.cut_queries() - before))
            }
        }
    }
}
