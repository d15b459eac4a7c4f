//! The OpenAI-compatible dialect: `/chat/completions` and `/models`.

use super::http::{HttpRequest, HttpResponse};
use super::quirks::Quirks;
use super::{ApiKey, Chat, Delta, LlmError, Reply};

/// `base_url` as the visitor gave it; with or without `/v1`.
pub fn encode(
    chat: &Chat,
    key: Option<&ApiKey>,
    base_url: &str,
    quirks: &Quirks,
    stream: bool,
) -> Result<HttpRequest, LlmError> {
    todo!()
}

/// A complete response, success or failure.
pub fn decode(response: &HttpResponse) -> Result<Reply, LlmError> {
    todo!()
}

/// Puts a streamed answer together; the result is the same for any split of the bytes.
#[derive(Debug, Default)]
pub struct StreamDecoder {}

impl StreamDecoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Pieces to show. Every call, also one that gives none, is a sign of life.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Delta> {
        todo!()
    }

    /// The reply once the connection has closed; a cut stream is an error.
    pub fn finish(self) -> Result<Reply, LlmError> {
        todo!()
    }
}

/// Asks for the list of models.
pub fn models_request(key: Option<&ApiKey>, base_url: &str) -> Result<HttpRequest, LlmError> {
    todo!()
}

/// Ids, sorted, without doubles.
pub fn decode_models(response: &HttpResponse) -> Result<Vec<String>, LlmError> {
    todo!()
}
