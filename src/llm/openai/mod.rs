//! The OpenAI-compatible dialect: `/chat/completions` and `/models`.
//!
//! Replies are read field by field from JSON values, not through derived structs: servers that call
//! themselves compatible send numbers as text, `null` for lists and objects for text, and a strict
//! struct would lose the whole answer over one of them.

mod encode;
mod message;
mod stream;

pub use encode::{encode, models_request, plain_headers};

use super::answer::Answer;
use super::http::HttpResponse;
use super::stream::{decode_all, success_body, unreadable};
use super::{LlmError, Reply, failure};
use serde_json::Value;
use stream::Chunks;

/// Puts a streamed answer together; the result is the same for any split of the bytes.
pub type StreamDecoder = super::stream::Decoder<Chunks>;

/// A complete response, success or failure.
pub fn decode(response: &HttpResponse) -> Result<Reply, LlmError> {
    let Some(value) = success_body(response, message::error_in)? else {
        return decode_all::<Chunks>(&response.body);
    };
    let choice = message::first_choice(&value).ok_or_else(|| no_choice(&value))?;
    let mut answer = Answer::default();
    message::read_head(&mut answer, &value);
    message::read_choice(&mut answer, choice, message::Form::Whole);
    if let Some(error) = message::error_in_choice(choice) {
        return Err(failure::from_stream(&error, &answer.text));
    }
    answer.finish()
}

/// An empty list is an answer without content; anything else is no answer of this dialect.
fn no_choice(value: &Value) -> LlmError {
    match value.get("choices") {
        Some(Value::Array(choices)) if choices.is_empty() => LlmError::EmptyAnswer,
        _ => unreadable(value),
    }
}

/// The body of an answer with embeddings, or the error in its place.
pub fn embeddings_body(response: &HttpResponse) -> Result<Value, LlmError> {
    Ok(success_body(response, message::error_in)?.unwrap_or_default())
}

/// Ids, sorted, without doubles.
pub fn decode_models(response: &HttpResponse) -> Result<Vec<String>, LlmError> {
    let value = success_body(response, message::error_in)?.unwrap_or_default();
    let list = ["data", "models"].iter().find_map(|name| value.get(*name));
    let items = list.unwrap_or(&value).as_array();
    let name = |item: &Value| {
        let named = ["id", "name", "model"]
            .iter()
            .find_map(|name| item.get(*name));
        named.unwrap_or(item).as_str().map(str::to_owned)
    };
    let named = items
        .ok_or_else(|| unreadable(&value))?
        .iter()
        .filter_map(name);
    let mut ids: Vec<String> = named.collect();
    ids.sort();
    ids.dedup();
    Ok(ids)
}
