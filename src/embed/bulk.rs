//! Embeds whole histories natively, on all cores; the browser goes passage by passage instead.

use super::model::Embedder;
use super::vectors::VectorFile;
use super::{Chunking, EmbedError};
use crate::bench::visible::Session;

/// Chunks and embeds all sessions. `progress(done, total)` is called after every chunk, from any
/// thread. The result does not depend on the number of threads.
pub fn embed_sessions(
    embedder: &Embedder,
    sessions: &[Session],
    chunking: Chunking,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<VectorFile, EmbedError> {
    todo!()
}
