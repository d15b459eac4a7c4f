//! Vectors from an embedding endpoint: in batches as the provider takes them, kept text by text, so
//! that nothing is paid twice, in whichever run, tab or visit.

use super::abort::Abort;
use super::cache::FileCache;
use super::clock::sleep;
use super::collection::CollectionError;
use super::engine::{Engine, EngineProgress, OnEngineProgress};
use super::store::{Drawer, Store};
use super::texts::{Claim, TextStore, place};
use super::transport::{Endpoint, OnHeard, Transport};
use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hash::sha256_hex;
use crate::bench::visible::History;
use crate::embed::gather::Gather;
use crate::embed::kept::TextVector;
use crate::embed::{Chunking, VectorFile};
use crate::llm::embeddings::{self, Batch, Texts};
use crate::llm::{Chat, LlmError, Reply};
use futures::future::{Either, join_all, select};
use js_sys::Uint8Array;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::pin::pin;

/// Whose calls these are in records and sums.
pub const ROLE: &str = "embedding";
/// How often a text that is too long is shortened before it is given up.
const SHORTENINGS: u32 = 6;
/// Between two looks at what somebody else is paying for.
const WAIT_MS: u32 = 150;

/// Parts of a [`Remote`].
pub struct RemoteParts {
    pub transport: Transport,
    /// Of whole histories.
    pub cache: FileCache,
    /// Of texts.
    pub texts: TextStore,
    /// Of queries.
    pub store: Store,
    pub endpoint: Endpoint,
    pub model: String,
    pub dimensions: Option<u32>,
    pub query_prefix: String,
    pub passage_prefix: String,
    /// Hears of waits.
    pub heard: OnHeard,
}

/// An embedding endpoint in use by one run or one search.
pub struct Remote {
    parts: RemoteParts,
    calls: RefCell<Vec<CallRecord>>,
    /// Queries of which only the beginning is in their vectors.
    cut_queries: Cell<u32>,
    /// Most texts the endpoint was found to take at once.
    most: Cell<usize>,
}

/// A history's passages with their vectors.
pub struct Embedded {
    pub file: VectorFile,
    /// Passages of which only the beginning is in their vectors.
    pub cut: Option<u32>,
}

/// The vector of a query as it is kept.
#[derive(Clone, Serialize, Deserialize)]
struct KeptQuery {
    vector: Vec<f32>,
    /// Only its beginning is in the vector.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl Remote {
    pub fn new(parts: RemoteParts) -> Self {
        let most = embeddings::batch(&parts.endpoint.base_url).texts;
        Self {
            parts,
            calls: RefCell::default(),
            cut_queries: Cell::new(0),
            most: Cell::new(most),
        }
    }

    /// Names vectors made so: address, model, components and what is put before passages.
    pub fn key(&self) -> String {
        let RemoteParts {
            endpoint,
            model,
            dimensions,
            passage_prefix,
            ..
        } = &self.parts;
        let told = json!([endpoint.base_url, model, dimensions, passage_prefix]);
        sha256_hex(told.to_string().as_bytes())
    }

    /// Equal for vectors that can be compared: the model behind a name may change.
    pub async fn identity(&self) -> String {
        let dim = self.parts.texts.dim(&self.key()).await;
        format!("{}/{}", self.key(), dim.unwrap_or_default())
    }

    /// Calls made so far, handed over once.
    pub fn take_calls(&self) -> Vec<CallRecord> {
        self.calls.take()
    }

    /// Queries that were longer than the endpoint takes and are in their vectors only in part.
    pub fn cut_queries(&self) -> u32 {
        self.cut_queries.get()
    }

    /// The passages of a history with their vectors: as they were kept, or made now. None if they
    /// would have to be made and may not be. `key` names dataset, persona and chunking; the engine
    /// only cuts.
    pub async fn history(
        &self,
        engine: &Engine,
        key: &str,
        (history, chunking): (&History, Chunking),
        may_make: bool,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Embedded>, CollectionError> {
        let place = format!("endpoint/{}/{key}", self.key());
        if let Some(kept) = self.kept_history(&place).await {
            return Ok(Some(kept));
        }
        if !may_make {
            return Ok(None);
        }
        engine.ensure_model(progress, abort).await?;
        let (spans, texts, _) = engine.cut(history, chunking, progress, abort).await?;
        let gather = self.passages(&texts, progress, abort).await?;
        let (file, cut) = (gather.file(spans), gather.cut());
        let bytes = Uint8Array::from(file.encode().as_slice());
        self.parts.cache.keep_vectors(&place, &bytes, cut).await;
        let cut = Some(cut);
        Ok(Some(Embedded { file, cut }))
    }

    /// What an earlier visit made of a history, unless the model has changed since.
    async fn kept_history(&self, place: &str) -> Option<Embedded> {
        let bytes = self.parts.cache.made(place).await?;
        let file = VectorFile::decode(&bytes.to_vec()).ok()?;
        let dim = self.parts.texts.dim(&self.key()).await;
        if dim.is_some_and(|dim| dim != file.dim as usize) {
            return None;
        }
        let cut = self.parts.cache.too_long(place).await;
        Some(Embedded { file, cut })
    }

    /// Vectors of passages. Each batch is kept as it comes, and a text that somebody else is paying
    /// for is waited for.
    async fn passages(
        &self,
        texts: &[String],
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Gather, LlmError> {
        let (store, key) = (&self.parts.texts, self.key());
        let before = store.dim(&key).await;
        let mut gather = Gather::new(texts, before);
        let all = gather.missing();
        self.recall(&mut gather, &all).await;
        loop {
            self.tell(&gather, progress);
            let missing = gather.missing();
            if missing.is_empty() {
                return Ok(gather);
            }
            let claims = self.claim(&gather, &missing, texts).await;
            if claims.is_empty() {
                pause(abort).await?;
                self.recall(&mut gather, &missing).await;
                continue;
            }
            // Who held the claim before may have kept it since it was looked for.
            let claimed: Vec<usize> = claims.iter().map(|(at, _)| *at).collect();
            self.recall(&mut gather, &claimed).await;
            let missing: HashSet<usize> = gather.missing().into_iter().collect();
            let now: Vec<usize> = claimed
                .into_iter()
                .filter(|at| missing.contains(at))
                .collect();
            if now.is_empty() {
                continue;
            }
            let input = now
                .iter()
                .map(|at| format!("{}{}", self.parts.passage_prefix, texts[*at]));
            let rows = match self.call(input.collect(), abort).await {
                Ok(rows) => rows,
                // Fewer at once, then.
                Err(error) if now.len() > 1 && is_too_much(&error) => {
                    self.most.set(now.len() / 2);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let rows = rows.iter().map(|(row, cut)| TextVector::of(row, *cut));
            let rows = now.into_iter().zip(rows).collect();
            self.take(&mut gather, before, rows).await?;
            drop(claims);
        }
    }

    /// Keeps what has come and gathers it. `before` is how many numbers vectors had when the
    /// gathering began.
    async fn take(
        &self,
        gather: &mut Gather,
        before: Option<usize>,
        rows: Vec<(usize, TextVector)>,
    ) -> Result<(), LlmError> {
        let (store, key) = (&self.parts.texts, self.key());
        let named = rows
            .iter()
            .map(|(at, vector)| (place(&key, gather.hash(*at)), vector.clone()));
        // First of all: it is paid for.
        store.put(&named.collect::<Vec<_>>()).await;
        let dim = rows.first().map_or(0, |(_, vector)| vector.dim());
        let known = gather.dim();
        if known != Some(dim) {
            store.note_dim(&key, dim).await;
            // The model behind the name has changed since an earlier visit; but once is enough.
            if known != before {
                return Err(self.changed(dim, known.unwrap_or_default()));
            }
            gather.turn_to(dim);
        }
        for (at, vector) in rows {
            gather.take(at, vector);
        }
        Ok(())
    }

    /// Takes what is kept of these texts.
    async fn recall(&self, gather: &mut Gather, places: &[usize]) {
        let key = self.key();
        let names: Vec<String> = places
            .iter()
            .map(|at| place(&key, gather.hash(*at)))
            .collect();
        let kept = self.parts.texts.get(&names).await;
        for (at, vector) in places.iter().zip(kept) {
            if let Some(vector) = vector {
                gather.take(*at, vector);
            }
        }
    }

    /// Claims as many of the missing texts as go into one call, of those that nobody else claims.
    async fn claim(
        &self,
        gather: &Gather,
        missing: &[usize],
        texts: &[String],
    ) -> Vec<(usize, Claim)> {
        let (store, key) = (&self.parts.texts, self.key());
        let named = missing
            .iter()
            .map(|at| (*at, place(&key, gather.hash(*at))));
        let free = named.filter(|(_, name)| !store.is_claimed(name));
        let free: Vec<(usize, String)> = free.take(self.batch().texts).collect();
        let sizes: Vec<usize> = free.iter().map(|(at, _)| texts[*at].len()).collect();
        let count = embeddings::fitting(&sizes, self.batch());
        let asked = free[..count].iter().map(async |(at, name)| {
            let claim = store.claim(name).await?;
            Some((*at, claim))
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    fn tell(&self, gather: &Gather, progress: &OnEngineProgress) {
        let (done, total) = gather.progress();
        progress(EngineProgress {
            what: format!("passages embedded by {}", self.parts.model),
            done,
            total: Some(total),
        });
    }

    /// Unit vectors of queries. What was asked before is not asked again.
    pub async fn queries(
        &self,
        texts: &[String],
        abort: &Abort,
    ) -> Result<Vec<(String, Vec<f32>)>, LlmError> {
        let (store, key) = (&self.parts.texts, self.key());
        let dim = store.dim(&key).await;
        let mut found: HashMap<String, KeptQuery> = HashMap::new();
        loop {
            let mut missing: Vec<&String> = Vec::new();
            for text in texts {
                if found.contains_key(text) || missing.contains(&text) {
                    continue;
                }
                match self.known_query(text, dim).await {
                    Some(query) => _ = found.insert(text.clone(), query),
                    None => missing.push(text),
                }
            }
            if missing.is_empty() {
                break;
            }
            let sizes: Vec<usize> = missing.iter().map(|text| text.len()).collect();
            missing.truncate(embeddings::fitting(&sizes, self.batch()));
            let asked = missing.into_iter().map(async |text| {
                let claim = store.claim(&self.query_place(text)).await?;
                Some((text, claim))
            });
            let claims: Vec<(&String, Claim)> =
                join_all(asked).await.into_iter().flatten().collect();
            let mut now: Vec<&String> = Vec::new();
            for (text, _) in &claims {
                match self.known_query(text, dim).await {
                    Some(query) => _ = found.insert((*text).clone(), query),
                    None => now.push(text),
                }
            }
            if now.is_empty() {
                pause(abort).await?;
                continue;
            }
            let input = now.iter().map(|text| self.query(text));
            let rows = match self.call(input.collect(), abort).await {
                Ok(rows) => rows,
                Err(error) if now.len() > 1 && is_too_much(&error) => {
                    self.most.set(now.len() / 2);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut length = dim.unwrap_or_default();
            for (text, (vector, cut)) in now.into_iter().zip(rows) {
                length = vector.len();
                let query = KeptQuery { vector, cut };
                let written = serde_json::to_string(&query).unwrap_or_default();
                let place = self.query_place(text);
                self.parts.store.put(Drawer::Journal, &place, written).await;
                found.insert(text.clone(), query);
            }
            if let Some(dim) = dim.filter(|dim| *dim != length) {
                store.note_dim(&key, length).await;
                return Err(self.changed(length, dim));
            }
        }
        let all = texts.iter().filter_map(|text| found.get(text));
        let cut = all.clone().filter(|query| query.cut).count() as u32;
        self.cut_queries.set(self.cut_queries.get() + cut);
        let vectors = all.map(|query| query.vector.clone());
        Ok(texts.iter().cloned().zip(vectors).collect())
    }

    /// The vector of a query as it is kept; `dim` is how many numbers those of passages have.
    async fn known_query(&self, text: &str, dim: Option<usize>) -> Option<KeptQuery> {
        let place = self.query_place(text);
        let kept = self.parts.store.get(Drawer::Journal, &place).await?;
        let kept: KeptQuery = serde_json::from_str(&kept).ok()?;
        let fits = dim.is_none_or(|dim| dim == kept.vector.len());
        fits.then_some(kept)
    }

    /// The model gives vectors of another length than those it made before.
    fn changed(&self, now: usize, before: usize) -> LlmError {
        LlmError::Unreadable {
            why: format!(
                "its vectors have {now} numbers now and had {before} before, so the model behind {} was replaced: try again, and the passages are embedded anew",
                self.parts.model
            ),
        }
    }

    fn query(&self, text: &str) -> String {
        format!("{}{text}", self.parts.query_prefix)
    }

    fn query_place(&self, text: &str) -> String {
        let told = format!("{}\n{}", self.key(), self.query(text));
        format!("embedding/{}", sha256_hex(told.as_bytes()))
    }

    fn batch(&self) -> Batch {
        let batch = embeddings::batch(&self.parts.endpoint.base_url);
        Batch {
            texts: self.most.get().clamp(1, batch.texts),
            ..batch
        }
    }

    /// One call, with the unit vector of each text and whether it is of the beginning only: because
    /// the provider is known to cut there, or because a single text that was too long had to be
    /// shortened.
    async fn call(
        &self,
        input: Vec<String>,
        abort: &Abort,
    ) -> Result<Vec<(Vec<f32>, bool)>, LlmError> {
        let RemoteParts {
            transport,
            endpoint,
            model,
            dimensions,
            heard,
            ..
        } = &self.parts;
        let limit = embeddings::limit(&endpoint.base_url, model);
        let is_long = |text: &String| limit.is_some_and(|limit| embeddings::is_longer(text, limit));
        let long: Vec<bool> = input.iter().map(is_long).collect();
        let mut texts = Texts {
            model: model.clone(),
            input,
            dimensions: *dimensions,
        };
        let mut shortened = 0;
        loop {
            let called = transport.embed(endpoint, &texts, heard, abort).await;
            let embedded = match called {
                Ok(embedded) => embedded,
                Err(error) => {
                    let [text] = &mut texts.input[..] else {
                        return Err(error);
                    };
                    if !is_too_much(&error) || shortened == SHORTENINGS || text.len() < 200 {
                        return Err(error);
                    }
                    let end = text.floor_char_boundary(text.len() * 2 / 3);
                    text.truncate(end);
                    shortened += 1;
                    continue;
                }
            };
            let vectors = embedded.vectors;
            let dim = vectors.rows.first().map_or(0, Vec::len);
            self.calls.borrow_mut().push(CallRecord {
                role: ROLE.to_owned(),
                base_url: endpoint.base_url.clone(),
                request: Chat {
                    model: model.clone(),
                    ..Chat::default()
                },
                reply: Reply {
                    text: format!("{} vectors of {dim} numbers", vectors.rows.len()),
                    usage: vectors.usage,
                    model: vectors.model,
                    ..Reply::default()
                },
                prompt: PromptRef::default(),
                started_ms: embedded.started_ms,
                duration_ms: embedded.duration_ms,
                from_journal: false,
                retries: embedded.retries,
                sent: json!({ "texts": vectors.rows.len(), "dimensions": dimensions })
                    .as_object()
                    .cloned()
                    .unwrap_or_default(),
            });
            let rows = vectors.rows.into_iter().zip(long);
            return Ok(rows
                .map(|(row, long)| (unit(row), long || shortened > 0))
                .collect());
        }
    }
}

/// Whether less text at once may be taken. Some providers say no more than "bad request".
fn is_too_much(error: &LlmError) -> bool {
    match error {
        LlmError::TooLarge(_) | LlmError::ContextOverflow(_) => true,
        LlmError::BadRequest(said) | LlmError::RefusedParameter { said, .. } => {
            let words = said.message.to_lowercase();
            [
                "batch", "too many", "too long", "maximum", "at most", "exceed", "length",
                "tokens", "larger",
            ]
            .iter()
            .any(|word| words.contains(word))
        }
        // llama.cpp answers so when a text is longer than its physical batch.
        LlmError::Server { said, .. } => {
            let words = said.message.to_lowercase();
            words.contains("too large") || words.contains("batch size")
        }
        _ => false,
    }
}

/// Waits a little for others.
async fn pause(abort: &Abort) -> Result<(), LlmError> {
    match select(pin!(sleep(WAIT_MS)), pin!(abort.aborted())).await {
        Either::Left(_) => Ok(()),
        Either::Right(_) => Err(LlmError::Cancelled),
    }
}

/// Of length 1, unless it is all zeros: endpoints differ in whether they do it.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}
