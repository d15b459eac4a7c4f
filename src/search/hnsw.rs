//! Approximate search over many vectors: the HNSW graph of instant-distance. It pays for whole
//! benchmarks, not for one persona: building takes seconds for two thousand rows, and blocks.

use super::dot::dot_f32;
use super::{Index, best_first};
use instant_distance::{Builder, HnswMap, Point, Search};

/// Parameters of the graph; instant-distance fixes M at 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HnswParams {
    /// Candidates held while a row is inserted: more is slower and finds more.
    pub ef_construction: usize,
    /// Candidates held while searching; no search returns more.
    pub ef_search: usize,
    /// Of the layers' random choice.
    pub seed: u64,
}

impl Default for HnswParams {
    fn default() -> Self {
        Self {
            ef_construction: 100,
            ef_search: 100,
            seed: 42,
        }
    }
}

/// An HNSW graph over float vectors.
pub struct Hnsw {
    map: HnswMap<Row, u32>,
}

#[derive(Clone)]
struct Row(Vec<f32>);

impl Point for Row {
    fn distance(&self, other: &Self) -> f32 {
        1.0 - dot_f32(&self.0, &other.0)
    }
}

impl Hnsw {
    /// Builds the graph over the rows of a vector file; shapes as in [`super::Exact::new`].
    pub fn build(dim: usize, scales: &[f32], rows: &[i8], params: HnswParams) -> Self {
        let float =
            |(row, scale): (&[i8], &f32)| Row(row.iter().map(|b| f32::from(*b) * scale).collect());
        let points: Vec<Row> = rows
            .chunks_exact(dim.max(1))
            .zip(scales)
            .map(float)
            .collect();
        let numbers = (0..points.len() as u32).collect();
        let builder = Builder::default()
            .ef_construction(params.ef_construction)
            .ef_search(params.ef_search)
            .seed(params.seed);
        Self {
            map: builder.build(points, numbers),
        }
    }
}

impl Index for Hnsw {
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        let mut search = Search::default();
        let found = self.map.search(&Row(query.to_vec()), &mut search);
        best_first(
            found
                .map(|item| (*item.value, 1.0 - item.distance))
                .collect(),
            k,
        )
    }
}
