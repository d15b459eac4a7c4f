//! Cuts the rendered text of sessions into chunks of a fixed number of tokens.

use super::tokens::TextTokenizer;
use super::{ChunkSpan, Chunking, EmbedError, Passage, PassageId};
use crate::bench::visible::Session;

/// The chunks of all sessions, in order; a chunk never crosses a session. A chunk begins at its
/// first token and ends with its last, so its text carries no blank edges.
pub fn chunk_sessions(
    tokenizer: &TextTokenizer,
    sessions: &[Session],
    chunking: Chunking,
) -> Result<Vec<ChunkSpan>, EmbedError> {
    todo!()
}

/// The passages that `spans` mark in the sessions of one history. A span that does not fit its
/// session (another dataset's vectors) is an error.
pub fn passages(sessions: &[Session], spans: &[ChunkSpan]) -> Result<Vec<Passage>, EmbedError> {
    todo!()
}
