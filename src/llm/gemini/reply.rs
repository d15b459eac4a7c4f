//! Replies, whole and streamed: a stream is a row of the same objects.

use super::{SIGNATURE, STATE};
use crate::llm::answer::Answer;
use crate::llm::http::HttpResponse;
use crate::llm::stream::{Assemble, decode_all, success_body, unreadable};
use crate::llm::tool_calls::Fragment;
use crate::llm::{Delta, Finish, LlmError, Reply, Said, Usage, failure};
use serde_json::{Map, Value, json};

/// A complete response, success or failure.
pub fn decode(response: &HttpResponse) -> Result<Reply, LlmError> {
    let Some(value) = success_body(response, error_in)? else {
        return decode_all::<Chunks>(&response.body);
    };
    let mut chunks = Chunks::default();
    // Without `alt=sse` a stream is one array of chunks.
    let all = match &value {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    for chunk in all {
        chunks.take("", chunk)?;
    }
    if !chunks.seen_candidate {
        return Err(unreadable(&value));
    }
    if !chunks.has_end() {
        let partial = chunks.answer.text;
        return Err(LlmError::StreamCut { partial });
    }
    chunks.finish()
}

/// Ids without their `models/`, of models that can chat.
pub fn decode_models(response: &HttpResponse) -> Result<Vec<String>, LlmError> {
    let value = success_body(response, error_in)?.unwrap_or_default();
    let models = value.get("models").and_then(Value::as_array);
    let models = models.ok_or_else(|| unreadable(&value))?.iter();
    let chats = |model: &&Value| match model.get("supportedGenerationMethods") {
        Some(Value::Array(methods)) => methods.contains(&json!("generateContent")),
        _ => true,
    };
    let name = |model: &Value| {
        let name = model.get("name")?.as_str()?;
        Some(name.trim_start_matches("models/").to_owned())
    };
    let mut ids: Vec<String> = models.filter(chats).filter_map(name).collect();
    ids.sort();
    ids.dedup();
    Ok(ids)
}

fn error_in(value: &Value) -> Option<Value> {
    let of = |value: &Value| value.get("error").is_some_and(|error| !error.is_null());
    let found = match value {
        Value::Array(items) => items.iter().any(of),
        one => of(one),
    };
    found.then(|| value.clone())
}

/// The chunks of a stream.
#[derive(Debug, Default)]
pub struct Chunks {
    answer: Answer,
    /// All parts, to go back in place when one of them is signed.
    parts: Vec<Value>,
    seen_candidate: bool,
}

impl Assemble for Chunks {
    fn take(&mut self, event: &str, chunk: &Value) -> Result<Vec<Delta>, LlmError> {
        if event == "error" || error_in(chunk).is_some() {
            return Err(failure::from_stream(chunk, &self.answer.text));
        }
        if let Some(reason) = blocked(chunk) {
            let message = format!("the prompt was blocked: {reason}");
            return Err(LlmError::ContentFilter(Said::new(None, None, &message)));
        }
        self.read_head(chunk);
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        let Some(candidate) = candidates.and_then(|all| all.first()) else {
            return Ok(Vec::new());
        };
        self.seen_candidate = true;
        let parts = candidate
            .get("content")
            .and_then(|content| content.get("parts"));
        let parts = parts.and_then(Value::as_array).into_iter().flatten();
        let shown = parts.filter_map(|part| self.read_part(part)).collect();
        self.read_finish(candidate)?;
        Ok(shown)
    }

    fn has_end(&self) -> bool {
        self.answer.finish.is_some()
    }

    fn partial(&self) -> &str {
        &self.answer.text
    }

    fn finish(mut self) -> Result<Reply, LlmError> {
        if self.parts.iter().any(|part| part.get(SIGNATURE).is_some()) {
            let parts = std::mem::take(&mut self.parts);
            self.answer
                .extra
                .insert(STATE.to_owned(), Value::Array(parts));
        }
        self.answer.finish()
    }

    fn decode_whole(response: &HttpResponse) -> Result<Reply, LlmError> {
        decode(response)
    }
}

fn blocked(chunk: &Value) -> Option<&str> {
    chunk.get("promptFeedback")?.get("blockReason")?.as_str()
}

impl Chunks {
    fn read_head(&mut self, chunk: &Value) {
        let text = |name: &str| chunk.get(name).and_then(Value::as_str).map(str::to_owned);
        self.answer.model = text("modelVersion").or(self.answer.model.take());
        self.answer.id = text("responseId").or(self.answer.id.take());
        if let Some(counts) = chunk.get("usageMetadata") {
            self.answer.usage = Some(usage(counts));
        }
    }

    fn read_part(&mut self, part: &Value) -> Option<Delta> {
        self.parts.push(part.clone());
        if let Some(call) = part.get("functionCall") {
            return Some(self.read_call(part, call));
        }
        let text = part.get("text")?.as_str().filter(|text| !text.is_empty())?;
        if part.get("thought") == Some(&json!(true)) {
            self.answer.reasoning.push_str(text);
            return Some(Delta::Reasoning(text.to_owned()));
        }
        self.answer.text.push_str(text);
        Some(Delta::Text(text.to_owned()))
    }

    /// Calls come whole.
    fn read_call(&mut self, part: &Value, call: &Value) -> Delta {
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let arguments = match call.get("args") {
            None | Some(Value::Null) => String::new(),
            Some(args) => args.to_string(),
        };
        let signature = part.get(SIGNATURE).cloned();
        let extra = signature.map(|value| Map::from_iter([(SIGNATURE.to_owned(), value)]));
        let place = self.answer.calls.whole(Fragment {
            index: None,
            id: text("id").to_owned(),
            name: text("name").to_owned(),
            arguments: arguments.clone(),
            extra: extra.unwrap_or_default(),
        });
        Delta::ToolCall {
            call: place,
            name: Some(text("name").to_owned()),
            arguments,
        }
    }

    fn read_finish(&mut self, candidate: &Value) -> Result<(), LlmError> {
        let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) else {
            return Ok(());
        };
        self.answer.finish = Some(match reason {
            "STOP" => Finish::Stop,
            "MAX_TOKENS" => Finish::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
                Finish::ContentFilter
            }
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
                let why = candidate.get("finishMessage").and_then(Value::as_str);
                return Err(LlmError::BrokenToolCall {
                    tool: "a tool".to_owned(),
                    why: why.unwrap_or(reason).to_owned(),
                });
            }
            other => Finish::Other(other.to_owned()),
        });
        Ok(())
    }
}

/// Thinking is billed as output and counted apart there; ours includes it.
fn usage(counts: &Value) -> Usage {
    let count = |name: &str| counts.get(name).and_then(Value::as_u64);
    let thoughts = count("thoughtsTokenCount");
    let answer = count("candidatesTokenCount");
    let output = match (answer, thoughts) {
        (None, None) => None,
        (answer, thoughts) => Some(answer.unwrap_or(0) + thoughts.unwrap_or(0)),
    };
    Usage {
        input: count("promptTokenCount"),
        output,
        cached: count("cachedContentTokenCount"),
        reasoning: thoughts,
    }
}
