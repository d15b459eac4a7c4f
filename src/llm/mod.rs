//! Neutral chat types and the providers behind them. A provider is two pure functions, encode and
//! decode; the transport that carries the bytes lives in `browser`.
//!
//! A call goes: [`Chat`] → `encode` → [`http::HttpRequest`] → transport →
//! [`http::HttpResponse`] or bytes of a stream → `decode` → [`Reply`] or [`LlmError`] →
//! [`retry::decide`]. What a model wrote is read by [`read`], which rests on [`json`]. Before a call,
//! [`pace`] says when an endpoint may be asked and [`budget`] whether the visitor wants to pay for
//! it, by the table of [`price`]. [`embeddings`] asks for vectors. [`reach`] explains why a page gets no answer.

pub mod address;
mod answer;
pub mod anthropic;
pub mod budget;
pub mod embeddings;
mod error;
mod failure;
pub mod gemini;
pub mod history;
pub mod http;
pub mod json;
pub mod key;
pub mod openai;
pub mod openrouter;
pub mod pace;
pub mod price;
pub mod provider;
pub mod quirks;
pub mod reach;
pub mod read;
pub mod redact;
pub mod retry;
pub mod sse;
pub mod stream;
pub mod think;
mod tool_calls;
pub mod truncation;
pub mod wait;

pub use error::{LlmError, Said};
pub use key::ApiKey;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request in no provider's dialect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chat {
    pub model: String,
    pub messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Which tool the model has to use; absent leaves the choice to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Limit of the answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Ask for JSON where the provider can force it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<JsonMode>,
}

/// How free the model is in its use of tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    Auto,
    None,
    Required,
    /// The tool of this name.
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonMode {
    Object,
    Schema { name: String, schema: Value },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System {
        text: String,
    },
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// State of the provider that has to go back with the turn, unchanged.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    Tool {
        call_id: String,
        name: String,
        text: String,
        /// The call failed or was not carried out; `text` says why.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
}

/// A complete call; broken arguments never get this far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// Always an object.
    pub arguments: Value,
    /// What else the provider attached, for example a thought signature; goes back unchanged.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// A complete answer; a cut stream never becomes one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    pub finish: Finish,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model as the provider names it in the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Sentences about what deserves a flag, for example a prompt the server cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// State of the provider that has to go back with this turn, unchanged.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Reply {
    /// The turn this answer becomes in the history of the next request.
    pub fn to_message(&self) -> Message {
        Message::Assistant {
            text: self.text.clone(),
            reasoning: self.reasoning.clone(),
            tool_calls: self.tool_calls.clone(),
            extra: self.extra.clone(),
        }
    }
}

/// A piece of an answer while it streams: for showing, never for scoring.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// More of the call that came `call`-th, counted from 0.
    ToolCall {
        call: usize,
        name: Option<String>,
        arguments: String,
    },
}

/// Why the model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    #[default]
    Stop,
    /// The output limit cut the answer.
    Length,
    ToolCalls,
    ContentFilter,
    Other(String),
}

/// Tokens as the provider counts them; absent numbers stay absent, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}
