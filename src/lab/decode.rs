//! `lab decode`: raw bytes of a provider's response to the neutral reply or the typed error, by the
//! code of the site.

use super::error::LabError;
use crate::llm::http::HttpResponse;
use crate::llm::provider::Provider;
use crate::llm::quirks::Quirks;
use crate::llm::retry::{self, Decision, Policy};
use crate::llm::{LlmError, Reply};
use clap::Args;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Args)]
pub struct DecodeArgs {
    /// Whose dialect: openai, anthropic, gemini, deepseek, ollama, … or an address
    #[arg(long, default_value = "openai-compatible")]
    provider: String,
    /// The bytes are a stream of events
    #[arg(long)]
    stream: bool,
    #[arg(long, default_value_t = 200)]
    status: u16,
    /// A response header, `name: value`; may be repeated
    #[arg(long = "header")]
    headers: Vec<String>,
}

/// Reads what came in; prints `{"reply": …}` or `{"error": …, "next": …}`.
pub fn run(args: &DecodeArgs, bytes: Vec<u8>) -> Result<String, LabError> {
    let provider = provider(&args.provider)?;
    let headers: Result<Vec<_>, _> = args.headers.iter().map(|header| split(header)).collect();
    let response = HttpResponse {
        status: args.status,
        headers: headers?,
        body: bytes,
        received_ms: now_ms(),
    };
    let decoded = decode(provider, &response, args.stream);
    Ok(format!("{:#}", to_json(provider, decoded)))
}

/// Failures come whole, also where a stream was asked for.
fn decode(provider: &Provider, response: &HttpResponse, stream: bool) -> Result<Reply, LlmError> {
    if !stream || !(200..300).contains(&response.status) {
        return provider.decode(response);
    }
    let mut decoder = provider.stream_decoder();
    decoder.push(&response.body);
    decoder.finish()
}

fn to_json(provider: &Provider, decoded: Result<Reply, LlmError>) -> Value {
    match decoded {
        Ok(reply) => json!({ "reply": reply }),
        Err(error) => {
            let decision = retry::decide(
                &error,
                1,
                &quirks(provider, &error),
                None,
                &Policy::default(),
            );
            json!({"error": error.to_json(), "next": next(&decision)})
        }
    }
}

/// What is known of the provider before the call; a parameter it refused was evidently sent.
fn quirks(provider: &Provider, error: &LlmError) -> Quirks {
    let mut quirks = provider.quirks();
    if let LlmError::RefusedParameter { name, .. } = error {
        quirks.omit.remove(name);
    }
    quirks
}

/// What the site would do after a first failure.
fn next(decision: &Decision) -> Value {
    match decision {
        Decision::Stop => json!({"do": "stop"}),
        Decision::RetryAfter { seconds, note } => {
            json!({"do": "retry", "after_seconds": seconds, "note": note})
        }
        Decision::RetryWith { quirks, note } => {
            json!({"do": "retry_changed", "quirks": quirks, "note": note})
        }
        Decision::RetryShorter { note } => json!({"do": "retry_shorter", "note": note}),
        Decision::RetryLimit { max_tokens, note } => {
            json!({"do": "retry_changed", "max_tokens": max_tokens, "note": note})
        }
    }
}

fn provider(name: &str) -> Result<&'static Provider, LabError> {
    if name.contains("://") {
        return Ok(Provider::from_url(name));
    }
    Provider::by_id(name).ok_or_else(|| {
        let ids: Vec<&str> = Provider::all().iter().map(|provider| provider.id).collect();
        LabError::Refused(format!(
            "no provider is called {name:?}; there are {}",
            ids.join(", ")
        ))
    })
}

fn split(header: &str) -> Result<(String, String), LabError> {
    let parts = header.split_once(':');
    let (name, value) = parts.ok_or_else(|| {
        LabError::Refused(format!(
            "the header {header:?} has no colon; write 'name: value'"
        ))
    })?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn now_ms() -> Option<f64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(since.as_secs_f64() * 1000.0)
}
