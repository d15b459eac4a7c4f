//! The paper's published rows, for overlay.

use crate::results::ResultsError;
pub use crate::score::paper::PaperResults as Paper;

/// Reads `public/paper/results.json`.
pub fn parse(json: &str) -> Result<Paper, ResultsError> {
    Paper::parse(json).map_err(|why| ResultsError::Paper {
        why: why.to_string(),
    })
}
