//! Vectors from an embedding endpoint: in batches as the provider takes them, kept by the hash of
//! each text, so that nothing is paid twice, in whichever visit.

use super::abort::Abort;
use super::cache::FileCache;
use super::engine::{EngineProgress, OnEngineProgress};
use super::store::{Drawer, Store};
use super::transport::{Endpoint, OnHeard, Transport};
use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hash::sha256_hex;
use crate::embed::kept::{self, TextHash, TextVectors};
use crate::llm::embeddings::{self, Batch, Texts};
use crate::llm::{Chat, LlmError, Reply};
use js_sys::Uint8Array;
use serde_json::json;
use std::cell::{Cell, RefCell};

/// Whose calls these are in records and sums.
pub const ROLE: &str = "embedding";
/// How often a text that is too long is shortened before it is given up.
const SHORTENINGS: u32 = 6;

/// Parts of a [`Remote`].
pub struct RemoteParts {
    pub transport: Transport,
    pub cache: FileCache,
    pub store: Store,
    pub endpoint: Endpoint,
    pub model: String,
    pub dimensions: Option<u32>,
    pub query_prefix: String,
    pub passage_prefix: String,
    /// Hears of waits.
    pub heard: OnHeard,
}

/// An embedding endpoint in use by one run.
pub struct Remote {
    parts: RemoteParts,
    calls: RefCell<Vec<CallRecord>>,
    /// Texts that had to be shortened.
    cut: Cell<u32>,
    /// Most texts the endpoint was found to take at once.
    most: Cell<usize>,
}

impl Remote {
    pub fn new(parts: RemoteParts) -> Self {
        let most = embeddings::batch(&parts.endpoint.base_url).texts;
        Self {
            parts,
            calls: RefCell::default(),
            cut: Cell::new(0),
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

    /// Calls made so far, handed over once.
    pub fn take_calls(&self) -> Vec<CallRecord> {
        self.calls.take()
    }

    /// Texts that were longer than the endpoint takes and are in their vectors only in part.
    pub fn cut(&self) -> u32 {
        self.cut.get()
    }

    /// Vectors of passages, by the hashes of their texts. Each batch is kept as it comes.
    pub async fn passages(
        &self,
        texts: &[String],
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<(TextVectors, Vec<TextHash>), LlmError> {
        let place = format!("endpoint/{}/texts", self.key());
        let kept = self.parts.cache.made(&place).await;
        let mut known = kept.and_then(|bytes| TextVectors::decode_any(&bytes.to_vec()));
        let hashes: Vec<TextHash> = texts.iter().map(|text| kept::hash(text)).collect();
        let mut missing: Vec<usize> = Vec::new();
        for (at, hash) in hashes.iter().enumerate() {
            let has = known
                .as_ref()
                .is_some_and(|known| known.get(hash).is_some());
            if !has && !missing.iter().any(|other| hashes[*other] == *hash) {
                missing.push(at);
            }
        }
        let total = missing.len();
        while !missing.is_empty() {
            let sizes: Vec<usize> = missing.iter().map(|at| texts[*at].len()).collect();
            let count = embeddings::fitting(&sizes, self.batch());
            let now: Vec<String> = missing[..count]
                .iter()
                .map(|at| format!("{}{}", self.parts.passage_prefix, texts[*at]))
                .collect();
            let rows = match self.call(now, abort).await {
                Ok(rows) => rows,
                // Fewer at once, then.
                Err(error) if count > 1 && is_too_much(&error) => {
                    self.most.set(count / 2);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let dim = rows.first().map_or(0, Vec::len) as u32;
            if known.as_ref().is_some_and(|known| known.dim() != dim) && total == missing.len() {
                // The model behind the name has changed since an earlier visit.
                known = None;
                missing = (0..texts.len()).collect();
                continue;
            }
            let known = known.get_or_insert_with(|| TextVectors::new(dim));
            if known.dim() != dim {
                return Err(LlmError::Unreadable {
                    why: format!(
                        "its vectors have {dim} numbers now and had {} before",
                        known.dim()
                    ),
                });
            }
            for (at, row) in missing.drain(..count).zip(rows) {
                known.insert(hashes[at], &unit(row));
            }
            let bytes = Uint8Array::from(known.encode().as_slice());
            self.parts.cache.keep_made(&place, &bytes).await;
            progress(EngineProgress {
                what: format!("passages embedded by {}", self.parts.model),
                done: (total - missing.len()) as u64,
                total: Some(total as u64),
            });
        }
        Ok((known.unwrap_or_else(|| TextVectors::new(1)), hashes))
    }

    /// Unit vectors of queries. What was asked before is not asked again.
    pub async fn queries(
        &self,
        texts: &[String],
        abort: &Abort,
    ) -> Result<Vec<(String, Vec<f32>)>, LlmError> {
        let mut found = Vec::with_capacity(texts.len());
        for text in texts {
            found.push(self.known_query(text).await);
        }
        let missing: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        let mut rest = missing.as_slice();
        while !rest.is_empty() {
            let sizes: Vec<usize> = rest.iter().map(|at| texts[*at].len()).collect();
            let count = embeddings::fitting(&sizes, self.batch());
            let now = rest[..count].iter().map(|at| self.query(&texts[*at]));
            let rows = match self.call(now.collect(), abort).await {
                Ok(rows) => rows,
                Err(error) if count > 1 && is_too_much(&error) => {
                    self.most.set(count / 2);
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (at, row) in rest[..count].iter().zip(rows) {
                let vector = unit(row);
                let written = serde_json::to_string(&vector).unwrap_or_default();
                let place = self.query_place(&texts[*at]);
                self.parts.store.put(Drawer::Journal, &place, written).await;
                found[*at] = Some(vector);
            }
            rest = &rest[count..];
        }
        let pairs = texts.iter().cloned().zip(found);
        Ok(pairs
            .filter_map(|(text, vector)| Some((text, vector?)))
            .collect())
    }

    async fn known_query(&self, text: &str) -> Option<Vec<f32>> {
        let place = self.query_place(text);
        let kept = self.parts.store.get(Drawer::Journal, &place).await?;
        serde_json::from_str(&kept).ok()
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

    /// One call; a single text that is too long for the endpoint is shortened, and counted.
    async fn call(&self, input: Vec<String>, abort: &Abort) -> Result<Vec<Vec<f32>>, LlmError> {
        let RemoteParts {
            transport,
            endpoint,
            model,
            dimensions,
            heard,
            ..
        } = &self.parts;
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
            self.cut.set(self.cut.get() + u32::from(shortened > 0));
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
            return Ok(vectors.rows);
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

/// Of length 1, unless it is all zeros: endpoints differ in whether they do it.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}
