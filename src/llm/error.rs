//! Everything that can go wrong with a model call, as sentences.

use super::redact;
use serde_json::{Value, json};
use std::fmt;

/// What a server said about a failure, already scrubbed of anything that looks like a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub status: Option<u16>,
    /// The provider's own code, for example `1113`.
    pub code: Option<String>,
    /// Never empty.
    pub message: String,
}

impl Said {
    pub fn new(status: Option<u16>, code: Option<String>, message: &str) -> Self {
        let message = redact::scrub(message.trim(), &[]);
        Self {
            status,
            code,
            message,
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.status, &self.code) {
            (Some(status), Some(code)) => write!(f, " (status {status}, code {code})"),
            (Some(status), None) => write!(f, " (status {status})"),
            (None, Some(code)) => write!(f, " (code {code})"),
            (None, None) => Ok(()),
        }
    }
}

/// Why a call gave no reply that may be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LlmError {
    /// The browser tells a page nothing about why; so this never means "bad key".
    #[error("no answer from {base_url}: the browser does not say why")]
    Unreachable {
        base_url: String,
        /// What it may be, likeliest first.
        reasons: Vec<String>,
    },
    #[error("{base_url} cannot be called from {page_origin}: an https page may not load http")]
    MixedContent {
        page_origin: String,
        base_url: String,
    },
    /// The server turned this page's origin away.
    #[error("the server does not accept calls from this page's address: {0}")]
    OriginRefused(Said),
    #[error("the address {given:?} cannot be used: {why}")]
    BadAddress { given: String, why: String },
    #[error("the key was not accepted: {0}")]
    Auth(Said),
    /// The key is known but may not do this (model, region, organisation).
    #[error("not allowed: {0}")]
    Forbidden(Said),
    #[error("out of credit: {0}")]
    NoCredit(Said),
    #[error("too many requests: {said}")]
    RateLimited {
        said: Said,
        /// What the server asked for.
        wait_seconds: Option<f64>,
    },
    #[error("the prompt is too long for the model: {0}")]
    ContextOverflow(Said),
    /// 413 without a word about which limit.
    #[error("the request is too large: {0}")]
    TooLarge(Said),
    #[error("the parameter {name} was refused: {said}")]
    RefusedParameter {
        /// By wire name.
        name: String,
        said: Said,
    },
    #[error("the model was not found: {0}")]
    ModelNotFound(Said),
    #[error("the request was refused: {0}")]
    BadRequest(Said),
    #[error("the server failed: {said}")]
    Server {
        said: Said,
        wait_seconds: Option<f64>,
    },
    #[error("the stream ended before the answer did")]
    StreamCut { partial: String },
    #[error("the stream reported an error: {said}")]
    StreamError { said: Said, partial: String },
    #[error("cut off at the output limit: {what}")]
    OutputLimit { what: String, partial: String },
    #[error("the model stopped without an answer")]
    EmptyAnswer,
    #[error("a call of {tool} came with arguments that are no JSON object: {why}")]
    BrokenToolCall { tool: String, why: String },
    #[error("a content filter stopped the answer: {0}")]
    ContentFilter(Said),
    #[error("the reply could not be read: {why}")]
    Unreadable { why: String },
    #[error("no answer within {seconds} s")]
    Timeout { seconds: f64 },
    #[error("cancelled")]
    Cancelled,
}

impl LlmError {
    /// The next step, where there is one.
    pub fn hint(&self) -> Option<String> {
        todo!()
    }

    /// Whether the same request may succeed later without anybody doing anything.
    pub fn is_retryable(&self) -> bool {
        todo!()
    }

    /// A run has to stop: every further call would fail the same way.
    pub fn stops_the_run(&self) -> bool {
        todo!()
    }

    /// A stable name, for example `rate_limited`.
    pub fn kind(&self) -> &'static str {
        todo!()
    }

    /// The error with every key in `keys` taken out of its texts.
    pub fn scrubbed(self, keys: &[&super::ApiKey]) -> Self {
        todo!()
    }

    /// For `lab decode` and diagnostics.
    pub fn to_json(&self) -> Value {
        json!({})
    }
}
