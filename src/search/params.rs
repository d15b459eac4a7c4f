//! Parameters of approximate search; the page knows them without the engine.

use serde::{Deserialize, Serialize};

/// Neighbours of a row on the upper layers of the graph, and half of those on the lowest;
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

impl Default for HnswParams {
    fn default() -> Self {
        Self {
            ef_construction: 100,
            ef_search: 200,
            seed: 42,
        }
    }
}
