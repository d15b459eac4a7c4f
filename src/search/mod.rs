//! Nearest vectors: an exact scan, which is the oracle, and HNSW. Sees vectors, never text.

pub mod exact;
pub mod hnsw;

pub use exact::Exact;
pub use hnsw::{Hnsw, HnswParams};

/// Finds the rows most like a query.
pub trait Index {
    /// At most `k` rows with their cosine to `query`, best first; equal scores by row number.
    /// `query` is a unit vector of the index's dimension.
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)>;
}
