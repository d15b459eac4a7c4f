//! Exact search: a scan over bytes that cannot lose a row, then float scores for what is left.

use super::dot::{dot_f32, dot_i8};
#[cfg(feature = "engine")]
use super::{Hnsw, HnswParams};
use super::{Index, best_first};
use crate::embed::vectors::quantise;

/// int8 rows with one scale each.
#[derive(Clone, Debug)]
pub struct Exact {
    dim: usize,
    scales: Vec<f32>,
    rows: Vec<i8>,
    /// Length of the longest row: 1, give or take quantisation.
    longest: f32,
}

impl Exact {
    /// `rows` holds `scales.len()` rows of `dim` bytes; a component is its byte times the scale.
    pub fn new(dim: usize, scales: Vec<f32>, rows: Vec<i8>) -> Self {
        assert_eq!(
            rows.len(),
            scales.len() * dim,
            "rows and scales belong together"
        );
        let lengths = rows
            .chunks_exact(dim.max(1))
            .zip(&scales)
            .map(|(row, s)| norm(row) * s.abs());
        let longest = lengths.fold(0.0, f32::max);
        Self {
            dim,
            scales,
            rows,
            longest,
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    #[cfg(feature = "engine")]
    /// The graph over the same rows.
    pub fn to_hnsw(&self, params: HnswParams) -> Hnsw {
        Hnsw::build(self.dim, &self.scales, &self.rows, params)
    }

    fn row(&self, index: usize) -> &[i8] {
        &self.rows[index * self.dim..(index + 1) * self.dim]
    }

    /// Scores of all rows against the quantised query, and how far they can be off.
    fn scan(&self, query: &[f32]) -> (Vec<f32>, f32) {
        let mut bytes = Vec::with_capacity(self.dim);
        let scale = quantise(query, &mut bytes);
        let lost = query
            .iter()
            .zip(&bytes)
            .map(|(x, b)| (x - f32::from(*b) * scale).powi(2))
            .sum::<f32>();
        let score =
            |index: usize| dot_i8(self.row(index), &bytes) as f32 * self.scales[index] * scale;
        // Cauchy-Schwarz: the lost part of the query changes no score by more than this. The
        // rounding of the float sums comes on top.
        let slack = lost.sqrt() * self.longest + 1e-5;
        ((0..self.len()).map(score).collect(), slack)
    }

    fn score(&self, index: usize, query: &[f32], buffer: &mut Vec<f32>) -> f32 {
        buffer.clear();
        buffer.extend(self.row(index).iter().map(|byte| f32::from(*byte)));
        dot_f32(buffer, query) * self.scales[index]
    }
}

impl Index for Exact {
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        debug_assert_eq!(query.len(), self.dim);
        if k == 0 || self.is_empty() {
            return Vec::new();
        }
        let (rough, slack) = self.scan(query);
        let floor = kth_largest(&rough, k) - 2.0 * slack;
        let mut buffer = Vec::with_capacity(self.dim);
        let candidates = (0..self.len()).filter(|&index| rough[index] >= floor);
        let hits = candidates.map(|index| (index as u32, self.score(index, query, &mut buffer)));
        best_first(hits.collect(), k)
    }
}

fn norm(row: &[i8]) -> f32 {
    (dot_i8(row, row) as f32).sqrt()
}

/// The `k`-th largest score, or the smallest where there are fewer.
fn kth_largest(scores: &[f32], k: usize) -> f32 {
    let mut scores = scores.to_vec();
    let at = k.min(scores.len()) - 1;
    *scores.select_nth_unstable_by(at, |a, b| b.total_cmp(a)).1
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
}
