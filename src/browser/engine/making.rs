//! Vectors of histories that no dataset ships: made once, on all cores, and kept for other visits.

use super::{Engine, EngineError, ModelInfo, OnEngineProgress, cut};
use crate::bench::visible::History;
use crate::browser::abort::Abort;
use crate::browser::pool::Setup;
use crate::browser::worker_client::{WorkerClient, WorkerError};
use crate::embed::kept::{self, TextVectors};
use crate::embed::spec::Arithmetic;
use crate::embed::{Chunking, VectorFile};
use js_sys::Uint8Array;
use std::cell::RefCell;
use std::rc::Rc;

impl Engine {
    /// The vector file of a history by this model: as it was kept, or made now. None if it would have
    /// to be made and may not be; then the model need not be loaded.
    pub async fn vectors_of(
        &self,
        key: &str,
        (history, chunking): (&History, Chunking),
        may_make: bool,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Uint8Array>, EngineError> {
        let info = self.info(abort).await?;
        for place in self.places(&info, key) {
            if let Some(kept) = self.0.cache.made(&place).await {
                return Ok(Some(kept));
            }
        }
        if !may_make {
            return Ok(None);
        }
        self.ensure_model(progress, abort).await?;
        let _turn = self.turn(abort).await?;
        let worker = self.worker().await?;
        let place = self.vectors_key(key);
        let source = (history, chunking);
        let made = self.make_and_keep(&worker, &place, source, progress, abort);
        Ok(Some(made.await?.0))
    }

    /// Where vectors of a model may be kept that need not be loaded: one that cannot be computed with
    /// int8 falls back to float32.
    fn places(&self, info: &ModelInfo, key: &str) -> Vec<String> {
        let int8 = format!("{}/{key}", info.key);
        let float32 = format!("{}/float32/{key}", info.key);
        match self.0.wanted.get() {
            Arithmetic::Int8 => vec![int8, float32],
            Arithmetic::Float32 => vec![float32],
        }
    }

    /// Makes the vector file of a history and keeps it, with the number of passages that are longer
    /// than the model reads.
    pub(super) async fn make_and_keep(
        &self,
        worker: &Rc<WorkerClient>,
        place: &str,
        (history, chunking): (&History, Chunking),
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<(Uint8Array, u32), EngineError> {
        let made = self.make_vectors(worker, history, chunking, progress, abort);
        let (made, too_long) = made.await?;
        let cache = &self.0.cache;
        cache.keep_made(place, &made).await;
        let count = Uint8Array::from(too_long.to_le_bytes().as_slice());
        cache.keep_made(&format!("{place}/too-long"), &count).await;
        Ok((made, too_long))
    }

    /// The vector file of a history, and how many of its passages are longer than the model reads:
    /// texts embedded before from what was kept, the others on all cores.
    async fn make_vectors(
        &self,
        worker: &Rc<WorkerClient>,
        history: &History,
        chunking: Chunking,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<(Uint8Array, u32), EngineError> {
        let (spans, texts, too_long) = cut(worker, history, chunking, progress, abort).await?;
        let model = self.0.loaded.borrow().model.clone();
        let info = model.ok_or_else(|| {
            EngineError::Model("it has to be loaded before a history is embedded".to_owned())
        })?;
        let known = RefCell::new(self.known_texts(&info).await);
        let hashes: Vec<_> = texts.iter().map(|text| kept::hash(text)).collect();
        let missing = hashes.iter().zip(&texts);
        let missing = missing.filter(|(hash, _)| known.borrow().get(hash).is_none());
        let (new, texts): (Vec<_>, Vec<String>) =
            missing.map(|(hash, text)| (*hash, text.clone())).unzip();
        let setup = Setup {
            cache: &self.0.cache,
            info: &info,
            spec: &info.spec.clone().with(self.0.wanted.get()),
            arithmetic: self.arithmetic(),
        };
        let before = known.borrow().len();
        let keep = |at: usize, vector: &[f32]| known.borrow_mut().insert(new[at], vector);
        let work = (texts.as_slice(), &keep as &dyn Fn(usize, &[f32]));
        let pool = &self.0.pool;
        let embedded = pool.embed(worker, setup, work, progress, abort).await;
        let known = known.into_inner();
        if known.len() > before {
            let bytes = Uint8Array::from(known.encode().as_slice());
            self.0
                .cache
                .keep_made(&self.vectors_key("texts"), &bytes)
                .await;
        }
        let mut file = VectorFile::new(info.dim);
        if embedded.is_ok() {
            for (span, hash) in spans.into_iter().zip(&hashes) {
                let (scale, row) = known.get(hash).ok_or(WorkerError::Confused)?;
                file.push_row(span, scale, row);
            }
        }
        self.0.loaded.borrow_mut().texts = Some(known);
        embedded?;
        Ok((Uint8Array::from(file.encode().as_slice()), too_long))
    }

    /// Vectors of texts of the loaded model, from this visit or earlier ones.
    async fn known_texts(&self, info: &ModelInfo) -> TextVectors {
        if let Some(known) = self.0.loaded.borrow_mut().texts.take() {
            return known;
        }
        let kept = self.0.cache.made(&self.vectors_key("texts")).await;
        let kept = kept.and_then(|bytes| TextVectors::decode(&bytes.to_vec(), info.dim));
        kept.unwrap_or_else(|| TextVectors::new(info.dim))
    }
}
