//! Parameters of approximate search; the page knows them without the engine.

use serde::{Deserialize, Serialize};

/// Half of the neighbours that a row gets on the lowest layer of the graph, which is walked;
/// instant-distance fixes it.
pub const M: usize = 32;

/// Parameters of the graph; see also [`M`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HnswParams {
    /// Candidates held while a row is inserted: more is slower and finds more.
    pub ef_construction: usize,
    /// Candidates held while searching; no search returns more.
    pub ef_search: usize,
    /// Of the layers' random choice.
    pub seed: u64,
}

impl HnswParams {
    /// For so many rows: among more of them the nearest lie further apart in the graph, and a wider
    /// walk finds as many of them. Measured from 2,000 to 200,000 rows.
    pub fn for_rows(rows: usize) -> Self {
        Self {
            ef_search: (3 * rows).isqrt().clamp(200, 1000),
            ..Self::default()
        }
    }
}

impl Default for HnswParams {
    fn default() -> Self {
        Self {
            ef_construction: 100,
            ef_search: 200,
            seed: 42,
        }
    }
}
