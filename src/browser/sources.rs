//! Where the vectors of all histories come from: the dataset's own files, a model in this browser, or
//! an embedding endpoint. What is made is kept history by history, so that nothing is made twice.

use super::abort::Abort;
use super::cache::FileCache;
use super::collection::CollectionError;
use super::dataset::Dataset;
use super::engine::{Engine, OnEngineProgress};
use super::fetch;
use super::remote::Remote;
use crate::bench::manifest::EmbeddingSet;
use crate::bench::visible::History;
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
}

/// The model.
#[derive(Clone)]
pub enum Maker {
    Engine(Engine),
    /// The engine only cuts.
    Remote(Rc<Remote>, Engine, FileCache),
}

impl Source {
    /// The vector file of a shard; none if the dataset has none, an error if it would have to be made
    /// and may not be.
    pub(super) async fn vectors(
        &self,
        dataset: &Dataset,
        part: &str,
        may_make: bool,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Uint8Array>, CollectionError> {
        let quiet = fetch::silent();
        match &self.vectors {
            Vectors::Shipped(set) => {
                let vectors = dataset.vectors(part, set, &quiet, abort);
                let vectors = vectors.await?;
                Ok(vectors.map(|vectors| Uint8Array::from(vectors.as_slice())))
            }
            Vectors::Made => {
                let shard = dataset.shard(part, &quiet, abort).await?;
                let chunking = Chunking::default();
                let key = dataset.history_key(part, chunking);
                let history = (&shard.history, chunking);
                let made = self.maker.make(&key, history, may_make, progress, abort);
                made.await?.ok_or(CollectionError::NotMade).map(Some)
            }
        }
    }
}

impl Maker {
    async fn make(
        &self,
        key: &str,
        (history, chunking): (&History, Chunking),
        may_make: bool,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Uint8Array>, CollectionError> {
        let (remote, engine, cache) = match self {
            Self::Engine(engine) => {
                let made = engine.vectors_of(key, (history, chunking), may_make, progress, abort);
                return Ok(made.await?);
            }
            Self::Remote(remote, engine, cache) => (remote, engine, cache),
        };
        let place = format!("endpoint/{}/{key}", remote.key());
        if let Some(kept) = cache.made(&place).await {
            return Ok(Some(kept));
        }
        if !may_make {
            return Ok(None);
        }
        engine.ensure_model(progress, abort).await?;
        let (spans, texts, _) = engine.cut(history, chunking, progress, abort).await?;
        let (known, hashes) = remote.passages(&texts, progress, abort).await?;
        let file = VectorFile::of_texts(spans, &known, &hashes);
        let file = Uint8Array::from(file.encode().as_slice());
        cache.keep_made(&place, &file).await;
        Ok(Some(file))
    }

    /// Whether queries get their vectors at once.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Engine(engine) => engine.is_ready(),
            Self::Remote(..) => true,
        }
    }

    /// Vectors of queries; the model is loaded for it.
    pub async fn queries(
        &self,
        texts: &[String],
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Vec<Vec<f32>>, CollectionError> {
        match self {
            Self::Engine(engine) => {
                engine.ensure_model(progress, abort).await?;
                Ok(engine.embed(texts, abort).await?.vectors)
            }
            Self::Remote(remote, ..) => {
                let pairs = remote.queries(texts, abort).await?;
                Ok(pairs.into_iter().map(|(_, vector)| vector).collect())
            }
        }
    }
}
