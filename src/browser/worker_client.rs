//! The wire to the engine worker: ids, progress, cancellation, death.

use super::error::BrowserError;
use crate::worker::protocol::Failure;

/// What went wrong with the worker, in sentences.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkerError {
    #[error("cancelled")]
    Cancelled,
    /// The worker said why.
    #[error("{0}")]
    Failed(String),
    #[error("the engine stopped unexpectedly: {0}")]
    Died(String),
    #[error("the engine did not answer within {0} seconds")]
    NoAnswer(u32),
    #[error(
        "the engine speaks version {found} and the page version {expected}; reload the page to get both from the same release"
    )]
    OtherBuild { expected: u32, found: u32 },
    #[error("the engine answered something else than was asked")]
    Confused,
    #[error(transparent)]
    Browser(#[from] BrowserError),
}

impl From<Failure> for WorkerError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Cancelled => Self::Cancelled,
            Failure::Failed { message } => Self::Failed(message),
        }
    }
}
