//! Exact search: a scan over bytes that cannot lose a row, then float scores for what is left.

use super::dot::{dot_wide, four_dots_wide};
#[cfg(feature = "engine")]
use super::{Hnsw, HnswParams};
use super::{Index, Rows, best_first};
use crate::embed::vectors::quantise;
use std::sync::Arc;

/// Compares a query with every row.
#[derive(Clone, Debug)]
pub struct Exact {
    rows: Arc<Rows>,
}

/// A query in bytes, and what that loses.
pub(super) struct Query {
    /// The bytes, widened for the dot product.
    pub wide: Vec<i16>,
    /// What turns them back into components.
    pub scale: f32,
    /// Length of what was lost.
    lost: f32,
}

impl Query {
    pub(super) fn new(query: &[f32]) -> Self {
        let mut bytes = Vec::with_capacity(query.len());
        let scale = quantise(query, &mut bytes);
        let pairs = query.iter().zip(&bytes);
        let lost: f32 = pairs
            .map(|(x, b)| (x - f32::from(*b) * scale).powi(2))
            .sum();
        Self {
            wide: bytes.into_iter().map(i16::from).collect(),
            scale,
            lost: lost.sqrt(),
        }
    }

    /// How far a score by bytes can be from the true one, if no row is longer than `longest`.
    pub(super) fn slack(&self, longest: f32) -> f32 {
        // Cauchy-Schwarz: the lost part of the query changes no score by more than this. The
        // rounding of the float sums comes on top.
        self.lost * longest + 1e-5
    }
}

impl Exact {
    /// `rows` holds `scales.len()` rows of `dim` bytes; a component is its byte times the scale.
    pub fn new(dim: usize, scales: Vec<f32>, rows: Vec<i8>) -> Self {
        Self::over(Arc::new(Rows::new(dim, scales, rows)))
    }

    /// Searches rows that others may search, too.
    pub fn over(rows: Arc<Rows>) -> Self {
        Self { rows }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows it searches.
    pub fn rows(&self) -> &Arc<Rows> {
        &self.rows
    }

    /// The graph over the same rows.
    #[cfg(feature = "engine")]
    pub fn to_hnsw(&self, params: HnswParams) -> Hnsw {
        Hnsw::build(Arc::clone(&self.rows), params, |_, _| {})
    }

    /// The rows whose float score can be among the `k` best, judged by the quantised query.
    fn candidates(&self, query: &[f32], k: usize) -> Vec<usize> {
        let query = Query::new(query);
        let mut best = Best::new(k, 2.0 * query.slack(self.rows.longest()));
        let mut offer = |index: usize, dot: i32| {
            best.offer(index, dot as f32 * self.rows.scale(index) * query.scale);
        };
        let whole = self.len() / 4 * 4;
        for first in (0..whole).step_by(4) {
            let dots = four_dots_wide(self.rows.four(first), &query.wide);
            for (n, dot) in dots.into_iter().enumerate() {
                offer(first + n, dot);
            }
        }
        for index in whole..self.len() {
            offer(index, dot_wide(self.rows.row(index), &query.wide));
        }
        best.into_rows()
    }
}

impl Index for Exact {
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        debug_assert!(self.is_empty() || query.len() == self.rows.dim());
        if k == 0 || self.is_empty() {
            return Vec::new();
        }
        let mut buffer = Vec::with_capacity(query.len());
        let candidates = self.candidates(query, k).into_iter();
        let hits = candidates.map(|row| (row as u32, self.rows.score(row, query, &mut buffer)));
        best_first(hits.collect(), k)
    }
}

/// The rows that come within a margin of the `k`-th best score, in one pass and without keeping all
/// scores.
struct Best {
    k: usize,
    margin: f32,
    /// The `k` best scores so far, the smallest first.
    scores: Vec<f32>,
    /// What a row needs to be kept; it only rises.
    floor: f32,
    kept: Vec<(usize, f32)>,
}

impl Best {
    fn new(k: usize, margin: f32) -> Self {
        Self {
            k,
            margin,
            scores: Vec::new(),
            floor: f32::NEG_INFINITY,
            kept: Vec::new(),
        }
    }

    #[inline]
    fn offer(&mut self, row: usize, score: f32) {
        if score >= self.floor {
            self.keep(row, score);
        }
    }

    #[cold]
    fn keep(&mut self, row: usize, score: f32) {
        self.kept.push((row, score));
        let at = self.scores.partition_point(|other| *other < score);
        self.scores.insert(at, score);
        if self.scores.len() > self.k {
            self.scores.remove(0);
        }
        if self.scores.len() == self.k {
            self.floor = self.scores[0] - self.margin;
        }
    }

    fn into_rows(self) -> Vec<usize> {
        let floor = self.floor;
        let kept = self.kept.into_iter();
        kept.filter(|(_, score)| *score >= floor)
            .map(|(row, _)| row)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows of two components; the scale is 1/100.
    fn index() -> Exact {
        Exact::new(2, vec![0.01; 4], vec![100, 0, 0, 100, 100, 0, 60, 80])
    }

    #[test]
    fn best_first_and_equal_scores_by_row() {
        let hits = index().search(&[1.0, 0.0], 3);
        for (hit, (row, score)) in hits.iter().zip([(0, 1.0), (2, 1.0), (3, 0.6)]) {
            assert_eq!(hit.0, row);
            // 60 / 100 is no float: the last bit may go either way.
            assert!((hit.1 - score).abs() < 1e-6, "{hit:?}");
        }
        assert_eq!(hits.len(), 3);
    }

    #[test]
    fn no_more_than_there_is_and_nothing_for_zero() {
        assert_eq!(index().search(&[0.0, 1.0], 99).len(), 4);
        assert_eq!(index().search(&[0.0, 1.0], 0), []);
        assert_eq!(Exact::new(2, vec![], vec![]).search(&[0.0, 1.0], 3), []);
    }

    #[test]
    fn what_is_within_the_margin_of_the_last_place_stays() {
        let scores = [0.1, 0.9, 0.45, 0.5, 0.6, 0.55, 0.44];
        let mut best = Best::new(2, 0.1);
        for (row, score) in scores.into_iter().enumerate() {
            best.offer(row, score);
        }
        // The second best is 0.6.
        assert_eq!(best.into_rows(), [1, 3, 4, 5]);
    }
}
