//! Replies, whole and streamed.

use super::STATE;
use crate::llm::answer::Answer;
use crate::llm::http::HttpResponse;
use crate::llm::stream::{Assemble, decode_all, success_body, unreadable};
use crate::llm::tool_calls::Fragment;
use crate::llm::{Delta, Finish, LlmError, Reply, Usage, failure};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A complete response, success or failure.
pub fn decode(response: &HttpResponse) -> Result<Reply, LlmError> {
    let Some(value) = success_body(response, error_in)? else {
        return decode_all::<Events>(&response.body);
    };
    let blocks = value.get("content").and_then(Value::as_array);
    let blocks = blocks.ok_or_else(|| unreadable(&value))?;
    let mut events = Events::default();
    events.read_head(&value);
    for (index, block) in (0..).zip(blocks) {
        events.start_block(index, block);
    }
    events.read_stop(&value);
    events.finish()
}

fn error_in(value: &Value) -> Option<Value> {
    let is_error = value.get("type").and_then(Value::as_str) == Some("error")
        || value.get("error").is_some_and(|error| !error.is_null());
    is_error.then(|| value.clone())
}

/// The events of a stream.
#[derive(Debug, Default)]
pub struct Events {
    answer: Answer,
    blocks: BTreeMap<u64, Block>,
    counts: Map<String, Value>,
}

#[derive(Debug)]
enum Block {
    Text,
    /// Place among the calls.
    Call(usize),
    /// Kept as it came, to go back: thinking with its signature.
    State(Map<String, Value>),
}

impl Assemble for Events {
    fn take(&mut self, event: &str, chunk: &Value) -> Result<Vec<Delta>, LlmError> {
        if event == "error" || error_in(chunk).is_some() {
            return Err(failure::from_stream(chunk, &self.answer.text));
        }
        let index = chunk.get("index").and_then(Value::as_u64).unwrap_or(0);
        let part = |name: &str| chunk.get(name).unwrap_or(&Value::Null);
        match chunk.get("type").and_then(Value::as_str).unwrap_or(event) {
            "message_start" => self.read_head(part("message")),
            "content_block_start" => return Ok(self.start_block(index, part("content_block"))),
            "content_block_delta" => return Ok(self.extend_block(index, part("delta"))),
            "message_delta" => {
                self.read_stop(part("delta"));
                self.read_usage(chunk);
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    fn has_end(&self) -> bool {
        self.answer.finish.is_some()
    }

    fn partial(&self) -> &str {
        &self.answer.text
    }

    fn finish(mut self) -> Result<Reply, LlmError> {
        let state =
            std::mem::take(&mut self.blocks)
                .into_values()
                .filter_map(|block| match block {
                    Block::State(fields) => Some(Value::Object(fields)),
                    _ => None,
                });
        let state: Vec<Value> = state.collect();
        if !state.is_empty() {
            self.answer
                .extra
                .insert(STATE.to_owned(), Value::Array(state));
        }
        self.answer.usage = usage(&self.counts);
        self.answer.finish()
    }

    fn decode_whole(response: &HttpResponse) -> Result<Reply, LlmError> {
        decode(response)
    }
}

impl Events {
    fn read_head(&mut self, message: &Value) {
        let text = |name: &str| message.get(name).and_then(Value::as_str).map(str::to_owned);
        self.answer.id = text("id");
        self.answer.model = text("model");
        self.read_usage(message);
    }

    /// Counts come in two events; the later ones are totals.
    fn read_usage(&mut self, holder: &Value) {
        let usage = holder.get("usage").and_then(Value::as_object);
        let counts = usage
            .into_iter()
            .flatten()
            .filter(|(_, count)| count.is_u64());
        self.counts
            .extend(counts.map(|(name, count)| (name.clone(), count.clone())));
    }

    fn read_stop(&mut self, holder: &Value) {
        let Some(reason) = holder.get("stop_reason").and_then(Value::as_str) else {
            return;
        };
        self.answer.finish = Some(match reason {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_use" => Finish::ToolCalls,
            "refusal" => Finish::ContentFilter,
            other => Finish::Other(other.to_owned()),
        });
    }

    fn start_block(&mut self, index: u64, block: &Value) -> Vec<Delta> {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => {
                self.blocks.insert(index, Block::Text);
                self.add_text(text("text"))
            }
            "tool_use" => self.start_call(index, block),
            _ => {
                let fields = block.as_object().cloned().unwrap_or_default();
                self.blocks.insert(index, Block::State(fields));
                self.add_reasoning(text("thinking"))
            }
        }
    }

    fn start_call(&mut self, index: u64, block: &Value) -> Vec<Delta> {
        let mut call = Fragment::from_openai(block);
        // In a stream the input starts as `{}` and comes in pieces; whole replies have it at once.
        let input = block.get("input").and_then(Value::as_object);
        if let Some(input) = input.filter(|input| !input.is_empty()) {
            call.arguments = json!(input).to_string();
        }
        call.extra = Map::new();
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        let call = self.answer.calls.whole(call);
        self.blocks.insert(index, Block::Call(call));
        vec![Delta::ToolCall {
            call,
            name: Some(name),
            arguments,
        }]
    }

    fn extend_block(&mut self, index: u64, delta: &Value) -> Vec<Delta> {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), self.blocks.get_mut(&index)) {
            ("text_delta", _) => self.add_text(text("text")),
            ("input_json_delta", Some(Block::Call(call))) => {
                let (call, arguments) = (*call, text("partial_json").to_owned());
                self.answer.calls.extend_arguments(call, &arguments);
                vec![Delta::ToolCall {
                    call,
                    name: None,
                    arguments,
                }]
            }
            (_, Some(Block::State(fields))) => {
                append_texts(fields, delta);
                self.add_reasoning(text("thinking"))
            }
            _ => Vec::new(),
        }
    }

    fn add_text(&mut self, text: &str) -> Vec<Delta> {
        self.answer.text.push_str(text);
        let shown = (!text.is_empty()).then(|| Delta::Text(text.to_owned()));
        shown.into_iter().collect()
    }

    fn add_reasoning(&mut self, text: &str) -> Vec<Delta> {
        self.answer.reasoning.push_str(text);
        let shown = (!text.is_empty()).then(|| Delta::Reasoning(text.to_owned()));
        shown.into_iter().collect()
    }
}

/// `thinking_delta` and `signature_delta` name the field they extend.
fn append_texts(fields: &mut Map<String, Value>, delta: &Value) {
    for (name, more) in delta.as_object().into_iter().flatten() {
        let (Some(more), false) = (more.as_str(), name == "type") else {
            continue;
        };
        let held = fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let joined = format!("{held}{more}");
        fields.insert(name.clone(), Value::String(joined));
    }
}

/// Cached tokens are counted apart there; ours are part of the input.
fn usage(counts: &Map<String, Value>) -> Option<Usage> {
    let count = |name: &str| counts.get(name).and_then(Value::as_u64);
    let cached = count("cache_read_input_tokens");
    let written = count("cache_creation_input_tokens");
    let usage = Usage {
        input: count("input_tokens")
            .map(|input| input + cached.unwrap_or(0) + written.unwrap_or(0)),
        output: count("output_tokens"),
        cached,
        reasoning: None,
    };
    (usage != Usage::default()).then_some(usage)
}
