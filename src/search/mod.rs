//! Nearest vectors: an exact scan, which is the oracle, and HNSW. They see vectors, never text;
//! [`lexical`] sees text, and no vectors.

pub mod dot;
pub mod exact;
#[cfg(feature = "engine")]
pub mod hnsw;
pub mod lexical;

pub use exact::Exact;
#[cfg(feature = "engine")]
pub use hnsw::{Hnsw, HnswParams};
pub use lexical::Lexical;

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
