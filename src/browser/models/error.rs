//! Why a model could not be had.

use crate::browser::engine::EngineError;
use crate::browser::error::BrowserError;
use crate::browser::fetch::FetchError;
use crate::browser::files::FileError;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    #[error("cancelled; what has come is kept")]
    Cancelled,
    #[error("“{0}” is no web address")]
    Address(String),
    /// A sentence that says what to do next as well.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Fetch(FetchError),
    #[error(transparent)]
    File(FileError),
    #[error("there is no space left in this browser's storage; what has come is kept")]
    Full,
    #[error("{0}")]
    Keeping(BrowserError),
    #[error("it cannot be used as an embedding model here: {0}")]
    Trial(EngineError),
    #[error("the model is not in this browser any more")]
    Gone,
}

impl ModelError {
    /// A kept file is not what was fetched.
    pub(in crate::browser) fn damaged(name: &str) -> Self {
        Self::Refused(format!(
            "what is kept of {name} is not what was fetched, so the browser's storage is damaged: “Try again” in Settings fetches it anew, or delete the model and add it again"
        ))
    }

    pub(super) fn keeping(error: BrowserError) -> Self {
        match error.name.as_str() {
            "QuotaExceededError" => Self::Full,
            _ => Self::Keeping(error),
        }
    }

    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Address(_) => Some(
                "Give the address of a folder with an ONNX file and tokenizer.json, beginning with https://; or drop such a folder here.",
            ),
            Self::Fetch(FetchError::Cut { .. }) => {
                Some("What has come is kept: “Go on” fetches the rest.")
            }
            Self::Fetch(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Full => {
                Some("Delete models that are not needed, or free space on the disk; then go on.")
            }
            Self::Trial(error) => error.hint(),
            Self::Gone => Some("Add it again."),
            Self::Cancelled | Self::Refused(_) | Self::Keeping(_) => None,
        }
    }
}

impl From<FetchError> for ModelError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Cancelled => Self::Cancelled,
            error => Self::Fetch(error),
        }
    }
}

impl From<FileError> for ModelError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Cancelled => Self::Cancelled,
            error => Self::File(error),
        }
    }
}

impl From<EngineError> for ModelError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Cancelled => Self::Cancelled,
            error => Self::Trial(error),
        }
    }
}
