//! Exact search.

/// int8 rows with one scale each.
pub struct Exact {}

impl Exact {
    /// `rows` holds `scales.len()` rows of `dim` bytes.
    pub fn new(dim: usize, scales: Vec<f32>, rows: Vec<i8>) -> Self {
        todo!()
    }
}

impl super::Index for Exact {
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        todo!()
    }
}
