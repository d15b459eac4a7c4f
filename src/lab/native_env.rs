//! [`Env`] over the native engine, for one open history. It has no model endpoint.

use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hidden::Check;
use crate::bench::visible::History;
use crate::embed::{Embedder, Hit, Passage, VectorFile, passages};
use crate::judge::checks;
use crate::lab::error::LabError;
use crate::llm::Chat;
use crate::run::{CallRole, Env, RunEvent, StepError};
use crate::search::{Exact, Index};
use crate::worker::protocol::CheckOutcome;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Vectors of texts already embedded; shared by all histories of an evaluation.
pub type Cache = RefCell<HashMap<String, Vec<f32>>>;

/// The engine and one history.
pub struct NativeEnv<'a> {
    embedder: &'a Embedder,
    cache: &'a Cache,
    passages: Vec<Passage>,
    index: Exact,
}

impl<'a> NativeEnv<'a> {
    /// Opens a history whose vectors are known.
    pub fn open(
        embedder: &'a Embedder,
        cache: &'a Cache,
        history: &History,
        vectors: VectorFile,
    ) -> Result<Self, LabError> {
        let passages = passages(&history.sessions, &vectors.spans)
            .map_err(|error| LabError::Refused(error.to_string()))?;
        let index = Exact::new(vectors.dim as usize, vectors.scales, vectors.rows);
        Ok(Self {
            embedder,
            cache,
            passages,
            index,
        })
    }

    fn vector(&self, text: &str) -> Result<Vec<f32>, StepError> {
        if let Some(known) = self.cache.borrow().get(text) {
            return Ok(known.clone());
        }
        // What is no passage counts as a query, as in the browser.
        let embedded = self
            .embedder
            .embed_query(text)
            .map_err(|e| StepError::Engine(e.to_string()))?;
        self.cache
            .borrow_mut()
            .insert(text.to_owned(), embedded.vector.clone());
        Ok(embedded.vector)
    }

    fn nearest(&self, query: &str, top_k: u32) -> Result<Vec<Hit>, StepError> {
        let hits = self.index.search(&self.vector(query)?, top_k as usize);
        let hit = |(row, score): (u32, f32)| {
            self.passages.get(row as usize).map(|passage| Hit {
                passage: passage.clone(),
                score,
            })
        };
        Ok(hits.into_iter().filter_map(hit).collect())
    }
}

impl Env for NativeEnv<'_> {
    async fn search(&self, queries: &[String], top_k: u32) -> Result<Vec<Vec<Hit>>, StepError> {
        queries
            .iter()
            .map(|query| self.nearest(query, top_k))
            .collect()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, StepError> {
        texts.iter().map(|text| self.vector(text)).collect()
    }

    async fn check(
        &self,
        output: &Value,
        wanted: &[Check],
    ) -> Result<Vec<CheckOutcome>, StepError> {
        Ok(wanted
            .iter()
            .map(|check| checks::run(output, check))
            .collect())
    }

    async fn chat(&self, _: CallRole, _: Chat, _: PromptRef) -> Result<CallRecord, StepError> {
        let why = "the native tool has no model endpoint; run this system in the browser";
        Err(StepError::Model(why.to_owned()))
    }

    fn now_ms(&self) -> f64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0.0, |elapsed| elapsed.as_secs_f64() * 1000.0)
    }

    fn emit(&self, _: RunEvent) {}
}
