//! Carries provider requests: streaming, time limits, retries, no key in any error.

use super::abort::Abort;
use crate::llm::{Chat, Reply};
use std::rc::Rc;

/// Told about text as it streams in.
pub type OnDelta = Rc<dyn Fn(&str)>;

/// A reply and what it took to get it.
#[derive(Clone, Debug)]
pub struct Delivered {
    pub reply: Reply,
    /// Attempts after the first.
    pub retries: u32,
    pub started_ms: f64,
    pub duration_ms: f64,
}

/// Why a call failed for good: sentences, free of keys.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TransportError {
    #[error("cancelled")]
    Cancelled,
    #[error("{message}")]
    Failed {
        message: String,
        hint: Option<String>,
    },
}

/// Handle; clones share what was learned about each endpoint.
#[derive(Clone)]
pub struct Transport {}

impl Transport {
    pub fn new() -> Self {
        todo!()
    }

    /// One call with its retries.
    pub async fn chat(
        &self,
        _base_url: &str,
        _chat: &Chat,
        _on_delta: &OnDelta,
        _abort: &Abort,
    ) -> Result<Delivered, TransportError> {
        todo!()
    }
}
