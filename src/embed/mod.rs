//! Text to chunks to unit vectors. Knows nothing of personas or tasks.
//!
//! [`tokens`] reads the model's tokenizer, [`chunk`] cuts with it, at [`sentences`] where that is
//! wanted, [`model`] embeds: by [`crate::encoder`], which is fast and knows the BERT family, or by
//! `general`, which is exact and knows most of ONNX. [`registry`] knows models beside the shipped
//! one. [`vectors`] is the file that keeps the result, [`bulk`] fills such files natively;
//! [`windows`] cuts by words while there is no tokenizer, [`gather`] collects vectors that others make.

#[cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
pub mod bulk;
#[cfg(feature = "engine")]
pub mod chunk;
#[cfg(feature = "engine")]
pub mod file;
pub mod gather;
#[cfg(feature = "engine")]
#[cfg_attr(not(feature = "general"), path = "no_general.rs")]
mod general;
pub mod kept;
#[cfg(feature = "engine")]
pub mod model;
pub mod registry;
#[cfg(feature = "engine")]
pub mod sentences;
pub mod spec;
#[cfg(feature = "engine")]
pub mod tokens;
pub mod vectors;
pub mod windows;

#[cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
pub use bulk::embed_sessions;
#[cfg(feature = "engine")]
pub use chunk::{chunk_sessions, passages};
#[cfg(feature = "engine")]
pub use file::ModelFile;
#[cfg(feature = "engine")]
pub use model::{Embedder, Embedding};
pub use spec::{Arithmetic, ModelSpec, Pooling};
pub use vectors::VectorFile;

use crate::bench::ids::SessionId;
use crate::bench::manifest::EmbeddingSet;
use crate::bench::visible::Session;
use serde::{Deserialize, Serialize};

/// What a passage is. The paper names both: 256 tokens with an overlap of 50 in its section on
/// parameters, sentence-level chunks where it describes the baselines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkUnit {
    /// So many tokens, wherever they end.
    #[default]
    Tokens,
    /// One sentence; a longer one than the limit is cut like a text without sentences.
    Sentences,
}

/// How text is cut (paper, section on parameters: 256 tokens, overlap 50).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunking {
    #[serde(default)]
    pub unit: ChunkUnit,
    /// Tokens of one chunk at most, special tokens not counted.
    pub tokens: u32,
    /// Tokens that neighbours share; sentences share none.
    pub overlap: u32,
}

impl Chunking {
    /// In file names and keys: `256-50`, `sentences-256-50`.
    pub fn name(&self) -> String {
        let unit = match self.unit {
            ChunkUnit::Tokens => "",
            ChunkUnit::Sentences => "sentences-",
        };
        format!("{unit}{}-{}", self.tokens, self.overlap)
    }

    /// Whether a dataset's vectors are of such chunks; datasets ship none of sentences.
    pub fn fits(&self, set: &EmbeddingSet) -> bool {
        let shipped = Self {
            unit: ChunkUnit::Tokens,
            tokens: set.chunk_tokens,
            overlap: set.chunk_overlap,
        };
        *self == shipped
    }

    /// In words, for people.
    pub fn words(&self) -> String {
        match self.unit {
            ChunkUnit::Tokens => format!("{} tokens, {} shared", self.tokens, self.overlap),
            ChunkUnit::Sentences => format!("sentences of at most {} tokens", self.tokens),
        }
    }
}

impl Default for Chunking {
    fn default() -> Self {
        Self {
            unit: ChunkUnit::Tokens,
            tokens: 256,
            overlap: 50,
        }
    }
}

/// Where a chunk lies: a byte range of [`crate::bench::visible::Session::render`].
/// Chunks never cross sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkSpan {
    /// Index of the session within its history.
    pub session: u32,
    pub start: u32,
    pub end: u32,
}

impl ChunkSpan {
    /// The passage it marks, named by its session alone; to be shown. Empty where the session does
    /// not have these bytes.
    pub fn passage(&self, sessions: &[Session]) -> Passage {
        let session = sessions.get(self.session as usize);
        let text = session.map(Session::render).unwrap_or_default();
        let text = text.get(self.start as usize..self.end as usize);
        let id = session.map(|s| s.id.clone()).unwrap_or_default();
        Passage {
            id: PassageId(id.0.clone()),
            session: id,
            date: session.map(|s| s.date.clone()).unwrap_or_default(),
            text: text.unwrap_or_default().to_owned(),
            start: Some(self.start),
        }
    }
}

/// A chunk as the agent and the reader meet it. `id` is the session's id, `#` and the chunk's
/// number within the session, so it is stable whatever the retriever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    pub id: PassageId,
    pub session: SessionId,
    pub date: String,
    pub text: String,
    /// Byte at which it begins in [`Session::render`]: a short sentence may stand there twice.
    /// Runs recorded by other programs, or long ago, do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u32>,
}

/// `s0042#1`: session and number of the chunk within it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PassageId(pub String);

/// A passage with its cosine similarity to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub passage: Passage,
    pub score: f32,
}

/// What can go wrong between text and vector.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EmbedError {
    #[error("the tokenizer could not be read: {why}")]
    Tokenizer { why: String },
    #[error("the text could not be tokenized: {why}")]
    Tokenize { why: String },
    #[error("the ONNX file could not be read as an embedding model: {why}")]
    Model { why: String },
    /// This worker was built without the general engine; the other one has it.
    #[error("the general engine is needed, which is a program of its own: {why}")]
    General { why: String },
    #[error("the model failed on a text of {tokens} tokens: {why}")]
    Run { tokens: usize, why: String },
    #[error("chunks of {tokens} tokens with an overlap of {overlap} never advance")]
    Chunking { tokens: u32, overlap: u32 },
    #[error("the vector file cannot be used: {why}")]
    Vectors { why: String },
    #[error(
        "chunk {chunk} of the vector file marks bytes {start} to {end} of session number {session}, which this history does not have"
    )]
    Span {
        chunk: usize,
        session: u32,
        start: u32,
        end: u32,
    },
}

impl EmbedError {
    /// The next step, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Tokenizer { .. } => Some("use the tokenizer.json that came with the model"),
            Self::Model { .. } => Some(
                "use an ONNX file with inputs input_ids and attention_mask and the output sentence_embedding",
            ),
            Self::Chunking { .. } => Some("choose an overlap smaller than the chunk"),
            Self::Vectors { .. } | Self::Span { .. } => Some(
                "load the vectors that belong to this dataset, or let the engine embed the history",
            ),
            Self::Tokenize { .. } | Self::Run { .. } | Self::General { .. } => None,
        }
    }
}
