//! Streamed answers.

use super::message::{self, Form};
use crate::llm::answer::Answer;
use crate::llm::http::HttpResponse;
use crate::llm::stream::Assemble;
use crate::llm::{Delta, LlmError, Reply, failure};
use serde_json::Value;

/// Chunks of `chat.completion.chunk` objects.
#[derive(Debug, Default)]
pub struct Chunks {
    answer: Answer,
}

impl Assemble for Chunks {
    fn take(&mut self, event: &str, chunk: &Value) -> Result<Vec<Delta>, LlmError> {
        let choice = message::first_choice(chunk);
        let error = match event {
            "error" => Some(chunk.clone()),
            _ => message::error_in(chunk),
        };
        if let Some(error) = error.or_else(|| choice.and_then(message::error_in_choice)) {
            return Err(failure::from_stream(&error, &self.answer.text));
        }
        message::read_head(&mut self.answer, chunk);
        let read = |choice| message::read_choice(&mut self.answer, choice, Form::Piece);
        Ok(choice.map(read).unwrap_or_default())
    }

    fn has_end(&self) -> bool {
        self.answer.finish.is_some()
    }

    fn partial(&self) -> &str {
        &self.answer.text
    }

    fn finish(self) -> Result<Reply, LlmError> {
        self.answer.finish()
    }

    fn decode_whole(response: &HttpResponse) -> Result<Reply, LlmError> {
        super::decode(response)
    }
}
