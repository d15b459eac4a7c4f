//! Approximate search for many vectors.

/// Parameters of the graph; instant-distance fixes M at 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HnswParams {
    pub ef_construction: usize,
    pub ef_search: usize,
    pub seed: u64,
}

/// An HNSW graph over float vectors.
pub struct Hnsw {}

impl Hnsw {
    pub fn build(dim: usize, scales: &[f32], rows: &[i8], params: HnswParams) -> Self {
        todo!()
    }
}

impl super::Index for Hnsw {
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        todo!()
    }
}
