//! The providers a visitor may have, and what is known about each.

use super::http::{HttpRequest, HttpResponse};
use super::quirks::Quirks;
use super::{ApiKey, Chat, Delta, LlmError, Reply};

/// How a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A server that runs on the visitor's own machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalServer {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Stable, for settings and `lab decode --provider`.
    pub id: &'static str,
    pub name: &'static str,
    pub base_url: &'static str,
    pub dialect: Dialect,
    pub local: Option<LocalServer>,
    /// Where keys are made, or what to know about them.
    pub key_hint: &'static str,
    pub needs_key: bool,
    /// What is known about calls from a browser.
    pub cors_note: &'static str,
}

impl Provider {
    pub fn all() -> &'static [Provider] {
        todo!()
    }

    pub fn by_id(id: &str) -> Option<&'static Provider> {
        todo!()
    }

    /// The row for an address; a generic OpenAI-compatible one when the host is not known.
    pub fn from_url(base_url: &str) -> &'static Provider {
        todo!()
    }

    /// The path of the base address of a known host.
    pub(in crate::llm) fn known_path(_host: &str, _port: Option<u16>) -> Option<String> {
        todo!()
    }

    /// What is known beforehand.
    pub fn quirks(&self) -> Quirks {
        todo!()
    }

    pub fn encode(
        &self,
        chat: &Chat,
        key: Option<&ApiKey>,
        base_url: &str,
        quirks: &Quirks,
        stream: bool,
    ) -> Result<HttpRequest, LlmError> {
        todo!()
    }

    pub fn decode(&self, response: &HttpResponse) -> Result<Reply, LlmError> {
        todo!()
    }

    pub fn stream_decoder(&self) -> StreamDecoder {
        todo!()
    }

    pub fn models_request(
        &self,
        key: Option<&ApiKey>,
        base_url: &str,
    ) -> Result<HttpRequest, LlmError> {
        todo!()
    }

    pub fn decode_models(&self, response: &HttpResponse) -> Result<Vec<String>, LlmError> {
        todo!()
    }
}

/// A stream decoder of any dialect.
#[derive(Debug)]
pub enum StreamDecoder {
    OpenAi(super::openai::StreamDecoder),
}

impl StreamDecoder {
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Delta> {
        todo!()
    }

    pub fn finish(self) -> Result<Reply, LlmError> {
        todo!()
    }
}
