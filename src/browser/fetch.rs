//! GET with progress, a size limit, cancellation, and errors a visitor can act on.

use super::abort::Abort;
use std::rc::Rc;

/// Bytes so far, of how many when that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: Option<u64>,
}

impl Progress {
    /// 0 to 1, when the total is known.
    pub fn fraction(self) -> Option<f64> {
        let total = self.total.filter(|total| *total > 0)?;
        Some((self.done as f64 / total as f64).min(1.0))
    }
}

/// Told about every piece that arrives.
pub type OnProgress = Rc<dyn Fn(Progress)>;

/// For callers who show nothing.
pub fn silent() -> OnProgress {
    Rc::new(|_| {})
}

/// A complete answer with a success status.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// After redirects.
    pub url: String,
    pub status: u16,
    pub content_type: Option<String>,
    pub bytes: Vec<u8>,
}

/// Why a download failed; each a sentence with its next step in [`FetchError::hint`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FetchError {
    #[error("cancelled")]
    Cancelled,
    #[error("{url} could not be reached: this device is offline")]
    Offline { url: String },
    #[error(
        "{url} could not be read: the browser gives no reason, most often its host does not allow other sites to read it (CORS)"
    )]
    Unreachable { url: String },
    #[error("{url} is plain http, and a page opened over https may not load it")]
    MixedContent { url: String },
    #[error("{url} does not exist (status {status})")]
    NotFound { url: String, status: u16 },
    #[error("{url} answered with status {status}")]
    Status { url: String, status: u16 },
    #[error("{url} answered with a web page instead of data")]
    HtmlPage { url: String },
    #[error("{url} has more than {limit} bytes")]
    TooLarge { url: String, limit: u64 },
    #[error("{url} stopped after {done} bytes: {cause}")]
    Cut {
        url: String,
        done: u64,
        cause: String,
    },
}

/// What to fetch and how much of it.
pub struct Get<'a> {
    pub url: &'a str,
    /// Bytes after decompression by the browser; more is refused.
    pub limit: u64,
    /// Size from a manifest: the total for progress when the server names none.
    pub expect: Option<u64>,
    /// Ask the network even when the browser's own cache has an answer.
    pub reload: bool,
    pub progress: OnProgress,
    pub abort: &'a Abort,
}

/// Downloads one file.
pub async fn get(_what: Get<'_>) -> Result<Fetched, FetchError> {
    todo!()
}
