//! Nearest vectors: an exact scan, which is the oracle, and HNSW. Sees vectors, never text.

pub mod dot;
pub mod exact;
#[cfg(feature = "engine")]
pub mod hnsw;

pub use exact::Exact;
#[cfg(feature = "engine")]
pub use hnsw::{Hnsw, HnswParams};

/// Finds the rows most like a query.
pub trait Index {
    /// At most `k` rows with their cosine to `query`, best first; equal scores by row number.
    /// `query` is a unit vector of the index's dimension.
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)>;
}

/// The `k` best hits; the row number breaks ties, so that two runs agree.
fn best_first(mut hits: Vec<(u32, f32)>, k: usize) -> Vec<(u32, f32)> {
    hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(k);
    hits
}
