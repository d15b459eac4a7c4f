//! Nearest vectors: an exact scan, which is the oracle, and HNSW. They see vectors, never text;
//! [`lexical`] sees text, and no vectors.

pub mod dot;
pub mod exact;
#[cfg(feature = "engine")]
pub mod graph;
#[cfg(feature = "engine")]
pub mod hnsw;
pub mod lexical;
pub mod params;
pub mod rows;
#[cfg(feature = "engine")]
mod sketch;
#[cfg(feature = "engine")]
mod walk;

pub use exact::Exact;
#[cfg(feature = "engine")]
pub use graph::{Graph, GraphError};
#[cfg(feature = "engine")]
pub use hnsw::Hnsw;
pub use lexical::Lexical;
pub use params::HnswParams;
pub use rows::Rows;

/// Finds the rows most like a query.
pub trait Index {
    /// At most `k` rows with their cosine to `query`, best first; equal scores by row number.
    /// `query` is a unit vector of the index's dimension.
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)>;
}

/// The share of the true hits that were found, over all queries: recall of an approximate index
/// against the exact one. 1 where there was nothing to find.
pub fn recall<T: PartialEq>(truth: &[Vec<T>], found: &[Vec<T>]) -> f64 {
    let pairs = || truth.iter().zip(found);
    let of =
        |(truth, found): (&Vec<T>, &Vec<T>)| truth.iter().filter(|hit| found.contains(hit)).count();
    let (all, met): (usize, usize) = (
        pairs().map(|(truth, _)| truth.len()).sum(),
        pairs().map(of).sum(),
    );
    if all == 0 {
        return 1.0;
    }
    met as f64 / all as f64
}

/// The `k` best hits; the row number breaks ties, so that two runs agree.
fn best_first(mut hits: Vec<(u32, f32)>, k: usize) -> Vec<(u32, f32)> {
    hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(k);
    hits
}

#[cfg(test)]
mod tests {
    use super::recall;

    #[test]
    fn recall_is_the_share_of_true_hits_in_all_lists() {
        let truth = [vec![1, 2, 3], vec![4], vec![]];
        let found = [vec![3, 9, 1], vec![5], vec![6]];
        assert_eq!(recall(&truth, &found), 0.5);
        assert_eq!(recall(&truth, &truth), 1.0);
        assert_eq!(recall::<u32>(&[], &[]), 1.0);
    }
}
