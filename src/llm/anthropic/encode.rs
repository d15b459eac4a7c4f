//! Requests.

use super::STATE;
use crate::llm::http::HttpRequest;
use crate::llm::provider::Dialect;
use crate::llm::quirks::{Quirks, ToolChoiceSupport};
use crate::llm::{ApiKey, Chat, LlmError, Message, Tool, ToolChoice, address, history};
use serde_json::{Map, Value, json};

/// The dialect wants a limit; this one is sent when none is set.
const USUAL_LIMIT: u32 = 4096;

/// `base_url` as the visitor gave it.
pub fn encode(
    chat: &Chat,
    key: Option<&ApiKey>,
    base_url: &str,
    quirks: &Quirks,
    stream: bool,
) -> Result<HttpRequest, LlmError> {
    let base = address::tidy(base_url, Dialect::Anthropic)?;
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    headers.extend(headers_of(key));
    Ok(HttpRequest {
        method: "POST",
        url: format!("{base}/messages"),
        headers,
        body: Value::Object(body(chat, quirks, stream)).to_string(),
    })
}

/// Asks for the list of models.
pub fn models_request(key: Option<&ApiKey>, base_url: &str) -> Result<HttpRequest, LlmError> {
    let base = address::tidy(base_url, Dialect::Anthropic)?;
    Ok(HttpRequest {
        method: "GET",
        url: format!("{base}/models?limit=1000"),
        headers: headers_of(key),
        body: String::new(),
    })
}

/// Without the last header the server answers no web page; no other provider may get it.
fn headers_of(key: Option<&ApiKey>) -> Vec<(String, String)> {
    let version = ("anthropic-version".to_owned(), "2023-06-01".to_owned());
    let browser = (
        "anthropic-dangerous-direct-browser-access".to_owned(),
        "true".to_owned(),
    );
    let key = key.map(|key| ("x-api-key".to_owned(), key.expose().to_owned()));
    key.into_iter().chain([version, browser]).collect()
}

fn body(chat: &Chat, quirks: &Quirks, stream: bool) -> Map<String, Value> {
    let prepared = history::prepare(&chat.messages);
    let mut body = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|_| !quirks.omit.contains(name)) {
            body.insert(name.to_owned(), value);
        }
    };
    set("model", Some(json!(chat.model)));
    set(
        "max_tokens",
        Some(json!(chat.max_tokens.unwrap_or(USUAL_LIMIT))),
    );
    set("system", system(&prepared));
    set("messages", Some(Value::Array(messages(&prepared))));
    if !chat.tools.is_empty() {
        set("tools", Some(chat.tools.iter().map(tool).collect()));
        set("tool_choice", tool_choice(chat, quirks));
    }
    set("temperature", chat.temperature.map(Value::from));
    set("stream", stream.then_some(json!(true)));
    body
}

fn system(messages: &[Message]) -> Option<Value> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        _ => None,
    });
    let joined = texts.collect::<Vec<_>>().join("\n\n");
    (!joined.is_empty()).then(|| json!(joined))
}

fn tool(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    })
}

fn tool_choice(chat: &Chat, quirks: &Quirks) -> Option<Value> {
    if quirks.tool_choice != ToolChoiceSupport::Any {
        return None;
    }
    Some(match chat.tool_choice.as_ref()? {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
    })
}

/// Turns of one side are joined; results stand first in the turn after their calls.
fn messages(prepared: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in prepared {
        let (role, blocks) = match message {
            Message::System { .. } => continue,
            Message::User { text } => ("user", vec![text_block(text)]),
            Message::Tool { .. } => ("user", vec![result_block(message)]),
            Message::Assistant { .. } => ("assistant", assistant_blocks(message)),
        };
        match turns.last_mut() {
            Some((last, held)) if *last == role => held.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let wire = |(role, content): (&str, Vec<Value>)| json!({"role": role, "content": content});
    turns.into_iter().map(wire).collect()
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn result_block(message: &Message) -> Value {
    let Message::Tool {
        call_id,
        text,
        is_error,
        ..
    } = message
    else {
        return Value::Null;
    };
    let mut block = json!({"type": "tool_result", "tool_use_id": call_id});
    if !text.trim().is_empty() {
        block["content"] = json!(text);
    }
    if *is_error {
        block["is_error"] = json!(true);
    }
    block
}

fn assistant_blocks(message: &Message) -> Vec<Value> {
    let Message::Assistant {
        text,
        tool_calls,
        extra,
        ..
    } = message
    else {
        return Vec::new();
    };
    let mut blocks: Vec<Value> = Vec::new();
    // Thinking blocks are valid only as they came and in front of the rest.
    if let Some(Value::Array(state)) = extra.get(STATE) {
        blocks.extend(state.iter().cloned());
    }
    if !text.trim().is_empty() {
        // White space at the end of the last turn is refused.
        blocks.push(text_block(text.trim_end()));
    }
    blocks.extend(tool_calls.iter().map(|call| {
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    }));
    blocks
}
