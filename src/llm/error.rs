//! Everything that can go wrong with a model call, as sentences.

use super::{ApiKey, redact};
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
    /// Nothing speaks this dialect there.
    #[error("there is no such interface at this address: {0}")]
    WrongAddress(Said),
    #[error("the request was refused: {0}")]
    BadRequest(Said),
    #[error("the server failed: {said}")]
    Server {
        said: Said,
        wait_seconds: Option<f64>,
    },
    #[error("the connection ended before the answer did")]
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
    /// The visitor's own cap, before anything was sent.
    #[error("not sent, to stay within the budget: {why}")]
    OverBudget { why: String },
    #[error("cancelled")]
    Cancelled,
}

impl LlmError {
    /// The next step, where there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            LlmError::Unreachable { reasons, .. } => return Some(reasons.join(" ")),
            LlmError::MixedContent { .. } => {
                "Serve this page by http, or reach the server by https or on this very machine \
                 (http://localhost)."
            }
            LlmError::OriginRefused(said) => return Some(origin_hint(said)),
            LlmError::BadAddress { .. } => {
                "Give the base address of the provider, for example https://api.openai.com/v1."
            }
            LlmError::Auth(_) => "Check the key and that it belongs to this provider.",
            LlmError::Forbidden(_) => {
                "The provider limits this key, this model or this region; see its console."
            }
            LlmError::NoCredit(_) => {
                "Top up the account, then resume: what is finished is kept and not paid again."
            }
            LlmError::RateLimited { .. } => "Wait, or lower the number of parallel calls.",
            LlmError::ContextOverflow(_) | LlmError::TooLarge(_) => {
                "Use fewer or shorter passages, or a model with a larger context."
            }
            LlmError::RefusedParameter { .. } => {
                "Clear this parameter in the settings, or choose a value the model takes."
            }
            LlmError::ModelNotFound(_) => "Choose a name from the provider's list of models.",
            LlmError::WrongAddress(_) => {
                "Check the base address: most providers need a path such as /v1 at its end."
            }
            LlmError::BadRequest(said) => return tools_hint(said),
            LlmError::Server { .. } | LlmError::StreamError { .. } => {
                "The provider has trouble; try again later."
            }
            LlmError::StreamCut { .. } => "Try again; if it keeps happening, switch streaming off.",
            LlmError::OutputLimit { .. } => "Raise the limit of output tokens.",
            LlmError::EmptyAnswer | LlmError::BrokenToolCall { .. } => {
                "Try again, or use another model."
            }
            LlmError::Unreadable { .. } => {
                "Check that the address belongs to a server of the chosen kind."
            }
            LlmError::Timeout { .. } => "Try again, or allow more time in the settings.",
            LlmError::OverBudget { .. } => {
                "Raise the cap or complete the price table in Settings, then resume: what is \
                 finished is kept and not paid again."
            }
            LlmError::ContentFilter(_) | LlmError::Cancelled => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether the same request may succeed later without anybody doing anything.
    pub fn is_retryable(&self) -> bool {
        match self {
            LlmError::Unreachable { .. }
            | LlmError::RateLimited { .. }
            | LlmError::Server { .. }
            | LlmError::StreamCut { .. }
            | LlmError::EmptyAnswer
            | LlmError::BrokenToolCall { .. }
            | LlmError::Timeout { .. } => true,
            LlmError::StreamError { said, .. } => said
                .status
                .is_none_or(|status| status >= 500 || status == 408),
            _ => false,
        }
    }

    /// Whether the provider may have charged for a call that ended so: the model had begun.
    pub fn may_be_charged(&self) -> bool {
        matches!(
            self,
            LlmError::StreamCut { .. }
                | LlmError::StreamError { .. }
                | LlmError::OutputLimit { .. }
                | LlmError::EmptyAnswer
                | LlmError::BrokenToolCall { .. }
                | LlmError::ContentFilter(_)
                | LlmError::Unreadable { .. }
                | LlmError::Timeout { .. }
                | LlmError::Cancelled
        )
    }

    /// A run has to stop: every further call would fail the same way.
    pub fn stops_the_run(&self) -> bool {
        matches!(
            self,
            LlmError::NoCredit(_)
                | LlmError::Auth(_)
                | LlmError::Forbidden(_)
                | LlmError::OriginRefused(_)
                | LlmError::MixedContent { .. }
                | LlmError::BadAddress { .. }
                | LlmError::WrongAddress(_)
                | LlmError::ModelNotFound(_)
                | LlmError::OverBudget { .. }
                | LlmError::Cancelled
        )
    }

    /// A stable name, for example `rate_limited`.
    pub fn kind(&self) -> &'static str {
        match self {
            LlmError::Unreachable { .. } => "unreachable",
            LlmError::MixedContent { .. } => "mixed_content",
            LlmError::OriginRefused(_) => "origin_refused",
            LlmError::BadAddress { .. } => "bad_address",
            LlmError::Auth(_) => "auth",
            LlmError::Forbidden(_) => "forbidden",
            LlmError::NoCredit(_) => "no_credit",
            LlmError::RateLimited { .. } => "rate_limited",
            LlmError::ContextOverflow(_) => "context_overflow",
            LlmError::TooLarge(_) => "too_large",
            LlmError::RefusedParameter { .. } => "refused_parameter",
            LlmError::ModelNotFound(_) => "model_not_found",
            LlmError::WrongAddress(_) => "wrong_address",
            LlmError::BadRequest(_) => "bad_request",
            LlmError::Server { .. } => "server",
            LlmError::StreamCut { .. } => "stream_cut",
            LlmError::StreamError { .. } => "stream_error",
            LlmError::OutputLimit { .. } => "output_limit",
            LlmError::EmptyAnswer => "empty_answer",
            LlmError::BrokenToolCall { .. } => "broken_tool_call",
            LlmError::ContentFilter(_) => "content_filter",
            LlmError::Unreadable { .. } => "unreadable",
            LlmError::Timeout { .. } => "timeout",
            LlmError::OverBudget { .. } => "over_budget",
            LlmError::Cancelled => "cancelled",
        }
    }

    /// What the server said, where it said something.
    pub fn said(&self) -> Option<&Said> {
        match self {
            LlmError::OriginRefused(said)
            | LlmError::Auth(said)
            | LlmError::Forbidden(said)
            | LlmError::NoCredit(said)
            | LlmError::RateLimited { said, .. }
            | LlmError::ContextOverflow(said)
            | LlmError::TooLarge(said)
            | LlmError::RefusedParameter { said, .. }
            | LlmError::ModelNotFound(said)
            | LlmError::WrongAddress(said)
            | LlmError::BadRequest(said)
            | LlmError::Server { said, .. }
            | LlmError::StreamError { said, .. }
            | LlmError::ContentFilter(said) => Some(said),
            _ => None,
        }
    }

    /// Seconds the server asked to wait.
    pub fn wait_seconds(&self) -> Option<f64> {
        match self {
            LlmError::RateLimited { wait_seconds, .. } | LlmError::Server { wait_seconds, .. } => {
                *wait_seconds
            }
            _ => None,
        }
    }

    /// The unfinished answer: for diagnostics, never for scoring.
    pub fn partial(&self) -> Option<&str> {
        match self {
            LlmError::StreamCut { partial }
            | LlmError::StreamError { partial, .. }
            | LlmError::OutputLimit { partial, .. } => Some(partial),
            _ => None,
        }
    }

    /// The error with every key in `keys` taken out of its texts.
    pub fn scrubbed(mut self, keys: &[&ApiKey]) -> Self {
        for text in self.texts() {
            *text = redact::scrub(text, keys);
        }
        self
    }

    fn texts(&mut self) -> Vec<&mut String> {
        match self {
            LlmError::Unreachable { base_url, reasons } => {
                reasons.iter_mut().chain([base_url]).collect()
            }
            LlmError::MixedContent { base_url, .. } => vec![base_url],
            LlmError::BadAddress { given, why } => vec![given, why],
            LlmError::OriginRefused(said)
            | LlmError::Auth(said)
            | LlmError::Forbidden(said)
            | LlmError::NoCredit(said)
            | LlmError::RateLimited { said, .. }
            | LlmError::ContextOverflow(said)
            | LlmError::TooLarge(said)
            | LlmError::RefusedParameter { said, .. }
            | LlmError::ModelNotFound(said)
            | LlmError::WrongAddress(said)
            | LlmError::BadRequest(said)
            | LlmError::Server { said, .. }
            | LlmError::ContentFilter(said) => vec![&mut said.message],
            LlmError::StreamCut { partial } => vec![partial],
            LlmError::StreamError { said, partial } => vec![&mut said.message, partial],
            LlmError::OutputLimit { what, partial } => vec![what, partial],
            LlmError::BrokenToolCall { tool, why } => vec![tool, why],
            LlmError::Unreadable { why } | LlmError::OverBudget { why } => vec![why],
            LlmError::EmptyAnswer | LlmError::Timeout { .. } | LlmError::Cancelled => vec![],
        }
    }

    /// For `lab decode` and diagnostics.
    pub fn to_json(&self) -> Value {
        let said = self.said();
        let mut out = json!({
            "kind": self.kind(),
            "message": self.to_string(),
            "said": said.map(|said| said.message.clone()),
            "status": said.and_then(|said| said.status),
            "code": said.and_then(|said| said.code.clone()),
            "wait_seconds": self.wait_seconds(),
            "retryable": self.is_retryable(),
            "hint": self.hint(),
            "partial": self.partial(),
        });
        if let (LlmError::RefusedParameter { name, .. }, Some(fields)) = (self, out.as_object_mut())
        {
            fields.insert("parameter".to_owned(), json!(name));
        }
        if let Some(fields) = out.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        out
    }
}

fn origin_hint(said: &Said) -> String {
    let text = said.message.to_lowercase();
    if text.contains("organization") || text.contains("organisation") {
        return "The organisation behind this key has switched calls from browsers off; ask its \
                administrator, or use another key."
            .to_owned();
    }
    "Allow this page's address at the server (for Ollama: OLLAMA_ORIGINS), then restart it."
        .to_owned()
}

/// vLLM says which flags it was started without.
fn tools_hint(said: &Said) -> Option<String> {
    let flags = said.message.contains("--enable-auto-tool-choice");
    flags.then(|| {
        "Start vLLM with --enable-auto-tool-choice and --tool-call-parser for the model, or choose \
         a system that needs no tool calls."
            .to_owned()
    })
}
