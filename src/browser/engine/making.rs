//! Vectors of histories that no dataset ships: made once, on all cores, and kept for other visits.

use super::{Engine, EngineError, ModelInfo, OnEngineProgress, cut, locked};
use crate::bench::visible::History;
use crate::browser::abort::Abort;
use crate::browser::clock::sleep;
use crate::browser::pool::Setup;
use crate::browser::worker_client::{WorkerClient, WorkerError};
use crate::embed::kept::{self, TextVectors};
use crate::embed::spec::Arithmetic;
use crate::embed::{Chunking, VectorFile};
use futures::future::{Either, select};
use js_sys::Uint8Array;
use std::cell::RefCell;
use std::convert::Infallible;
use std::pin::pin;
use std::rc::Rc;

/// While a history is embedded, what has come is kept this often.
const KEEP_EVERY_MS: u32 = 2000;

impl Engine {
    /// The vector file of a history by this model, as it was kept or made now, and how many of its
    /// passages are longer than the model reads. None if it would have to be made and may not be;
    /// then the model need not be loaded.
    pub async fn vectors_of(
        &self,
        key: &str,
        (history, chunking): (&History, Chunking),
        may_make: bool,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<(Uint8Array, Option<u32>)>, EngineError> {
        let info = self.info(abort).await?;
        for place in self.places(&info, key) {
            if let Some(kept) = self.0.cache.made(&place).await {
                return Ok(Some((kept, self.0.cache.too_long(&place).await)));
            }
        }
        if !may_make {
            return Ok(None);
        }
        self.ensure_model(progress, abort).await?;
        let _making = locked(&self.0.making, abort).await?;
        let worker = self.any_worker(abort).await?;
        let place = self.vectors_key(key);
        let source = (history, chunking);
        let made = self.make_and_keep(&worker, &place, source, progress, abort);
        let (made, too_long) = made.await?;
        Ok(Some((made, Some(too_long))))
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
        self.0.cache.keep_vectors(place, &made, too_long).await;
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
        if !self.is_current(worker) {
            let why = "another one took its place while a history was cut";
            return Err(WorkerError::Died(why.to_owned()).into());
        }
        let place = self.vectors_key("texts");
        let (mut known, mut grown) = self.known_texts(&info, &place).await;
        let hashes: Vec<_> = texts.iter().map(|text| kept::hash(text)).collect();
        let missing = hashes.iter().zip(&texts);
        let missing = missing.filter(|(hash, _)| known.get(hash).is_none());
        let (new, texts): (Vec<_>, Vec<String>) =
            missing.map(|(hash, text)| (*hash, text.clone())).unzip();
        let setup = Setup {
            cache: &self.0.cache,
            info: &info,
            spec: &info.spec.clone().with(self.0.wanted.get()),
            arithmetic: self.arithmetic(),
        };
        let fresh = RefCell::new(TextVectors::new(info.dim));
        let keep = |at: usize, vector: &[f32]| fresh.borrow_mut().insert(new[at], vector);
        let work = (texts.as_slice(), &keep as &dyn Fn(usize, &[f32]));
        let embedding = self.0.pool.embed(worker, setup, work, progress, abort);
        let keeping = self.keep_now_and_then(&place, &fresh);
        let embedded = match select(pin!(embedding), pin!(keeping)).await {
            Either::Left((embedded, _)) => embedded,
            Either::Right((never, _)) => match never {},
        };
        let fresh = fresh.into_inner();
        grown |= !fresh.is_empty();
        known.take_in(&fresh);
        if grown {
            self.keep_texts(&place, &known).await;
        }
        let mut file = VectorFile::new(info.dim);
        if embedded.is_ok() {
            for (span, hash) in spans.into_iter().zip(&hashes) {
                let (scale, row) = known.get(hash).ok_or(WorkerError::Confused)?;
                file.push_row(span, scale, row);
            }
        }
        if self.is_current(worker) {
            self.0.loaded.borrow_mut().texts = Some(known);
        }
        embedded?;
        Ok((Uint8Array::from(file.encode().as_slice()), too_long))
    }

    /// Vectors of texts of the loaded model, from this visit or earlier ones, and whether some of
    /// them are not in the file of all texts yet.
    async fn known_texts(&self, info: &ModelInfo, place: &str) -> (TextVectors, bool) {
        let known = self.0.loaded.borrow_mut().texts.take();
        let mut known = match known {
            Some(known) => known,
            None => match self.texts_at(place, info.dim).await {
                Some(kept) => kept,
                None => TextVectors::new(info.dim),
            },
        };
        // What an embedding had made when its page was closed.
        let left = self.texts_at(&unfinished(place), info.dim).await;
        let grown = left.as_ref().is_some_and(|left| !left.is_empty());
        if let Some(left) = left {
            known.take_in(&left);
        }
        (known, grown)
    }

    async fn texts_at(&self, place: &str, dim: u32) -> Option<TextVectors> {
        let kept = self.0.cache.made(place).await?;
        TextVectors::decode(&kept.to_vec(), dim)
    }

    /// Keeps all texts in one file.
    async fn keep_texts(&self, place: &str, known: &TextVectors) {
        let bytes = Uint8Array::from(known.encode().as_slice());
        self.0.cache.keep_made(place, &bytes).await;
        self.0.cache.forget_made(&unfinished(place)).await;
    }

    /// Keeps what has come of one history so far, so that a page that is closed loses little. A file
    /// of its own: the one of all texts may be large.
    async fn keep_now_and_then(&self, place: &str, fresh: &RefCell<TextVectors>) -> Infallible {
        let mut kept = 0;
        loop {
            sleep(KEEP_EVERY_MS).await;
            let (len, bytes) = {
                let fresh = fresh.borrow();
                (fresh.len(), (fresh.len() > kept).then(|| fresh.encode()))
            };
            if let Some(bytes) = bytes {
                let bytes = Uint8Array::from(bytes.as_slice());
                self.0.cache.keep_made(&unfinished(place), &bytes).await;
                kept = len;
            }
        }
    }
}

/// Where the texts of an embedding under way are kept.
fn unfinished(place: &str) -> String {
    format!("{place}/unfinished")
}
