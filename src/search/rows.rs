//! The vectors that indexes search: one signed byte a component, one scale a row.

use super::dot::{dot_f32, dot_i8};

/// Quantised rows; a component is its byte times the row's scale. Indexes over the same rows share
/// them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    dim: usize,
    scales: Vec<f32>,
    bytes: Vec<i8>,
    longest: f32,
}

impl Rows {
    /// `bytes` holds `scales.len()` rows of `dim` bytes.
    pub fn new(dim: usize, scales: Vec<f32>, bytes: Vec<i8>) -> Self {
        assert_eq!(
            bytes.len(),
            scales.len() * dim,
            "rows and scales belong together"
        );
        let mut rows = Self {
            dim,
            scales,
            bytes,
            longest: 0.0,
        };
        rows.longest = (0..rows.len()).map(|n| rows.length(n)).fold(0.0, f32::max);
        rows
    }

    /// Components of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// The bytes of a row.
    pub fn row(&self, index: usize) -> &[i8] {
        &self.bytes[index * self.dim..(index + 1) * self.dim]
    }

    /// The bytes of four rows that follow each other.
    pub fn four(&self, first: usize) -> [&[i8]; 4] {
        std::array::from_fn(|n| self.row(first + n))
    }

    /// What turns the bytes of a row into its components.
    pub fn scale(&self, index: usize) -> f32 {
        self.scales[index]
    }

    /// Length of the longest row: 1, give or take quantisation.
    pub fn longest(&self) -> f32 {
        self.longest
    }

    fn length(&self, index: usize) -> f32 {
        let row = self.row(index);
        (dot_i8(row, row) as f32).sqrt() * self.scale(index).abs()
    }

    /// Inner product of a row and a query in floats; `buffer` saves an allocation a row.
    pub fn score(&self, index: usize, query: &[f32], buffer: &mut Vec<f32>) -> f32 {
        buffer.clear();
        buffer.extend(self.row(index).iter().map(|byte| f32::from(*byte)));
        dot_f32(buffer, query) * self.scale(index)
    }
}
