//! Text to chunks to unit vectors. Knows nothing of personas or tasks.

use crate::bench::ids::SessionId;
use serde::{Deserialize, Serialize};

/// How text is cut (paper, section on parameters: 256 tokens, overlap 50).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunking {
    /// Tokens of one chunk, special tokens not counted.
    pub tokens: u32,
    /// Tokens that neighbours share.
    pub overlap: u32,
}

impl Default for Chunking {
    fn default() -> Self {
        Self { tokens: 256, overlap: 50 }
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

/// A chunk as the agent and the reader meet it. `id` is the session's id, `#` and the chunk's
/// number within the session, so it is stable whatever the retriever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    pub id: PassageId,
    pub session: SessionId,
    pub date: String,
    pub text: String,
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
