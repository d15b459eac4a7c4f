//! Messages between the page and the engine worker. They travel as JSON text beside an optional
//! list of transferred byte buffers; both sides compare [`PROTOCOL`] before anything else.
//!
//! On the wire, in both directions, a message is the object `{ json: string, buffers: ArrayBuffer[] }`
//! handed to `postMessage(message, message.buffers)`. A plain page talks to the worker like this:
//!
//! ```js
//! const worker = new Worker("worker_loader.js", { type: "module" });   // trunk's loader shim
//! worker.onmessage = ({ data }) => console.log(JSON.parse(data.json), data.buffers);
//! const send = (id, request, buffers = []) =>
//!   worker.postMessage({ json: JSON.stringify({ id, request }), buffers }, buffers);
//! // first comes, unasked: { id: 0, event: { type: "done", answer: { type: "ready", protocol: 1, build: "…" } } }
//! send(1, { type: "hello", protocol: 1 });
//! send(2, { type: "load_model", name: "all-minilm-l6-v2", max_tokens: 256 }, [onnx, tokenizerJson]);
//! send(3, { type: "open_history", key: "p1", chunking: { tokens: 256, overlap: 50 }, shipped_vectors: false,
//!           sessions: [{ id: "s0001", date: "2025-03-02T19:04:00", turns: [{ role: "user", text: "…" }] }] });
//! send(4, { type: "search", key: "p1", queries: ["dinner"], top_k: 3, method: "exact" });
//! send(5, { type: "cancel", target: 3 });
//! ```
//!
//! Requests may be sent without waiting: the worker queues them. Each gets any number of
//! [`Event::Progress`] and then exactly one [`Event::Done`] or [`Event::Failed`] with its id.
//! Messages sent before the unasked `ready` are lost. After [`Event::Crashed`] (id 0) or an
//! `error` event on the worker nothing more comes: terminate it, start another, load and open again.

use crate::bench::hidden::Check;
use crate::bench::visible::Session;
use crate::embed::spec::{Arithmetic, ModelSpec};
use crate::embed::{ChunkSpan, Chunking, Hit, Passage};
use crate::search::HnswParams;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of these messages; a worker of another build is refused.
pub const PROTOCOL: u32 = 1;

/// Number the page gives to a request; progress and answer carry it back.
pub type RequestId = u32;

/// From page to worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToWorker {
    pub id: RequestId,
    pub request: Request,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// First message. Answer: [`Answer::Ready`], or a failure when the versions differ.
    Hello { protocol: u32 },
    /// The next piece of a large model, as transferred buffer: all pieces of its ONNX file, then
    /// those of its data files, so that no more than one copy of them is ever held. `of` is what
    /// all of them take together. Answer: [`Answer::PieceTaken`].
    ModelPiece { first: bool, of: u64 },
    /// Transferred buffers: the ONNX file, then `tokenizer.json`; after pieces only the latter.
    /// Answer: [`Answer::ModelLoaded`].
    LoadModel {
        name: String,
        /// The files of which pieces came, in order: the ONNX file, then its data files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pieces: Vec<FileBytes>,
        /// How it is to be read; its fields stand beside `name`.
        #[serde(flatten)]
        spec: ModelSpec,
    },
    /// Makes a history searchable under `key`. Transferred buffer, when the dataset ships vectors
    /// of the loaded model: the vector file of [`crate::embed::vectors`]; without it the worker
    /// chunks and embeds, with progress. Answer: [`Answer::HistoryOpen`]; when the worker embedded,
    /// the vector file it made comes along as transferred buffer, to be kept for the next visit.
    OpenHistory {
        key: String,
        sessions: Vec<Session>,
        chunking: Chunking,
        shipped_vectors: bool,
        /// The vectors are of another model than the one that is loaded, which only cuts; queries
        /// come with their vectors.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        foreign: bool,
    },
    /// Makes a history searchable by words alone; neither a model nor vectors are needed, now or when
    /// one is loaded later. Answer: [`Answer::HistoryOpen`].
    OpenForWords {
        key: String,
        sessions: Vec<Session>,
        /// Its passages.
        spans: Vec<ChunkSpan>,
    },
    /// Frees a history. Answer: [`Answer::Closed`], also when it was not open.
    CloseHistory { key: String },
    /// Answer: [`Answer::Hits`], one list a query, best first. Transferred buffer, for a history of
    /// another model's vectors: those of the queries, `dim` little-endian floats each.
    Search {
        key: String,
        queries: Vec<String>,
        top_k: u32,
        method: SearchMethod,
        #[serde(default, skip_serializing_if = "is_zero")]
        dim: u32,
    },
    /// Answer: [`Answer::Vectors`]. For texts that are no passage: slot options, preferences.
    Embed { texts: Vec<String> },
    /// As `Embed`, for passages and without hurry: whatever else is asked comes first.
    /// Answer: [`Answer::PassageVectors`].
    EmbedPassages { texts: Vec<String> },
    /// Cuts a history into chunks, so that several workers can embed them.
    /// Answer: [`Answer::Cut`].
    CutHistory {
        sessions: Vec<Session>,
        chunking: Chunking,
    },
    /// Adds the passages of one history to a collection that is searched as a whole. Transferred
    /// buffer: its vector file. With its sessions, hits carry their text and words can be searched,
    /// too. Answer: [`Answer::Collected`].
    Collect {
        key: String,
        /// Names the history in hits.
        part: String,
        #[serde(default)]
        sessions: Vec<Session>,
        /// Texts are read for their words and not kept, since those of a large dataset would not fit.
        #[serde(default)]
        words_only: bool,
    },
    /// Builds the HNSW graph of a collection. Progress is told meanwhile, but nothing else is heard:
    /// to cancel, end the worker. Answer: [`Answer::GraphBuilt`].
    BuildGraph { key: String, params: HnswParams },
    /// Takes a graph that was built before. Transferred buffer: its file; `vectors` is the name that
    /// the file must have for the collection's rows ([`crate::search::graph`]).
    /// Answer: [`Answer::GraphBuilt`].
    LoadGraph {
        key: String,
        vectors: String,
        ef_search: usize,
    },
    /// The nearest passages of a whole collection; of each query its vector, or its words for
    /// [`SearchMethod::Lexical`]. Answer: [`Answer::CollectionHits`], one list a query.
    SearchCollection {
        key: String,
        #[serde(default)]
        queries: Vec<String>,
        #[serde(default)]
        vectors: Vec<Vec<f32>>,
        top_k: u32,
        method: SearchMethod,
    },
    /// Runs programmatic checks on one output (text, or an object slot -> value).
    /// Answer: [`Answer::Checked`].
    Check { output: Value, checks: Vec<Check> },
    /// Stops the request `target` between two passages; its answer is [`Failure::Cancelled`].
    /// Answer to the cancel itself: [`Answer::Cancelled`], also when the target was already done.
    Cancel { target: RequestId },
}

/// A file that came in pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBytes {
    /// As the graph calls it.
    pub name: String,
    pub bytes: u64,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMethod {
    /// int8 scan with float32 rescoring: exact.
    #[default]
    Exact,
    /// instant-distance; built on first use.
    Hnsw,
    /// BM25 over the words of the passages; needs no model.
    Lexical,
    /// Exact and lexical, by reciprocal ranks.
    Fused,
}

/// From worker to page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FromWorker {
    pub id: RequestId,
    pub event: Event,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// `done` of `total` passages embedded or bytes read.
    Progress {
        what: String,
        done: u64,
        total: u64,
    },
    Done {
        answer: Answer,
    },
    Failed {
        failure: Failure,
    },
    /// The worker panicked, whatever it was doing; id is 0. It answers nothing any more.
    Crashed {
        message: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    Ready {
        protocol: u32,
        build: String,
    },
    /// So many bytes of a model have come so far.
    PieceTaken {
        bytes: u64,
    },
    ModelLoaded {
        dim: u32,
        /// Of the ONNX file; where weights lie apart, see
        /// [`crate::embed::registry::identity`].
        sha256: String,
        /// What is computed with.
        #[serde(default)]
        arithmetic: Arithmetic,
        /// Why that is float32 although int8 was asked for.
        #[serde(default)]
        fallback: Option<String>,
        /// How texts are really read, where the graph decides some of it.
        #[serde(default)]
        read: Option<ModelSpec>,
        millis: f64,
    },
    /// This worker cannot run the model: start the one with the general engine and load it there.
    NeedsGeneral {
        why: String,
    },
    HistoryOpen {
        chunks: u32,
        embedded: u32,
        millis: f64,
    },
    Hits {
        hits: Vec<Vec<Hit>>,
        /// Queries that were longer than the model reads; the rest of them is not in their vectors.
        #[serde(default)]
        cut: u32,
        millis: f64,
    },
    Vectors {
        vectors: Vec<Vec<f32>>,
        /// As in [`Answer::Hits`], of the texts.
        #[serde(default)]
        cut: u32,
        millis: f64,
    },
    /// The vectors come along as transferred buffer: little-endian floats, `dim` for each text.
    PassageVectors {
        dim: u32,
        /// Texts that were longer than the model reads; the rest of them is not in their vectors.
        cut: u32,
        millis: f64,
    },
    /// `rows` passages are in the collection now.
    Collected {
        rows: u32,
    },
    GraphBuilt {
        rows: u32,
        params: HnswParams,
        millis: f64,
    },
    CollectionHits {
        hits: Vec<Vec<CollectionHit>>,
        millis: f64,
    },
    /// Chunks and their texts, in order.
    Cut {
        spans: Vec<ChunkSpan>,
        texts: Vec<String>,
        /// How many of them are longer than the model reads.
        #[serde(default)]
        too_long: u32,
    },
    /// One for each check: passed or not, and why, in a sentence.
    Checked {
        outcomes: Vec<CheckOutcome>,
    },
    Cancelled,
    Closed,
}

/// A passage of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectionHit {
    /// The history, as [`Request::Collect`] named it.
    pub part: String,
    /// Where the passage lies in it.
    pub span: ChunkSpan,
    /// Its text, when the collection has texts.
    pub passage: Option<Passage>,
    pub score: f32,
}

/// Result of one programmatic check. `passed` is `None` when the check could not be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckOutcome {
    pub passed: Option<bool>,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Failure {
    #[error("cancelled")]
    Cancelled,
    #[error("{message}")]
    Failed { message: String },
}
