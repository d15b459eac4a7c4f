//! The steps carried out by a language model behind [`crate::run::Env::chat`].

/// A model at an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmMind {
    /// Model name as sent.
    pub model: String,
    /// Where calls go; for the record only, [`crate::run::Env`] sends them.
    pub base_url: String,
}
