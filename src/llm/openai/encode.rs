//! Requests.

use crate::llm::http::HttpRequest;
use crate::llm::provider::{Dialect, Provider};
use crate::llm::quirks::{
    JsonSupport, OutputLimitField, Quirks, ReasoningReplay, ToolChoiceSupport,
};
use crate::llm::{
    ApiKey, Chat, JsonMode, LlmError, Message, Tool, ToolCall, ToolChoice, address, history,
};
use serde_json::{Map, Value, json};

/// `base_url` as the visitor gave it; with or without `/v1`.
pub fn encode(
    chat: &Chat,
    key: Option<&ApiKey>,
    base_url: &str,
    quirks: &Quirks,
    stream: bool,
) -> Result<HttpRequest, LlmError> {
    let base = address::tidy(base_url, Dialect::OpenAi)?;
    let headers = headers(key, &base, quirks);
    Ok(HttpRequest {
        method: "POST",
        url: format!("{base}/chat/completions"),
        headers,
        body: Value::Object(body(chat, quirks, stream)).to_string(),
    })
}

/// Asks for the list of models.
pub fn models_request(key: Option<&ApiKey>, base_url: &str) -> Result<HttpRequest, LlmError> {
    let base = address::tidy(base_url, Dialect::OpenAi)?;
    let mut headers = headers(key, &base, &Quirks::default());
    // Without a body no content type is due, and without one many servers need no preflight.
    headers.retain(|(name, _)| name != "content-type");
    Ok(HttpRequest {
        method: "GET",
        url: format!("{base}/models"),
        headers,
        body: String::new(),
    })
}

/// Key and content type, and nothing else.
pub fn plain_headers(key: Option<&ApiKey>, base: &str) -> Vec<(String, String)> {
    headers(key, base, &Quirks::default())
}

/// Key and content type, and what the address's own provider is known to take: any other header
/// would make preflights fail.
fn headers(key: Option<&ApiKey>, base: &str, quirks: &Quirks) -> Vec<(String, String)> {
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    if let Some(key) = key {
        headers.push((
            "authorization".to_owned(),
            format!("Bearer {}", key.expose()),
        ));
    }
    let provider = Provider::from_url(base);
    let allowed = quirks
        .extra_headers
        .iter()
        .filter(|(name, _)| provider.takes_header(name));
    headers.extend(allowed.cloned());
    headers
}

fn body(chat: &Chat, quirks: &Quirks, stream: bool) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(chat.model));
    body.insert("messages".to_owned(), Value::Array(messages(chat, quirks)));
    let mut optional = Optional { body, quirks };
    if !chat.tools.is_empty() {
        optional.set("tools", Some(chat.tools.iter().map(tool).collect()));
        optional.set("tool_choice", tool_choice(chat, quirks));
    }
    optional.set("temperature", chat.temperature.map(Value::from));
    let limit = match quirks.output_limit {
        OutputLimitField::MaxTokens => "max_tokens",
        OutputLimitField::MaxCompletionTokens => "max_completion_tokens",
    };
    optional.set(limit, chat.max_tokens.map(Value::from));
    optional.set("seed", chat.seed.map(Value::from));
    optional.set("response_format", response_format(chat, quirks));
    if stream {
        optional.set("stream", Some(json!(true)));
        optional.set("stream_options", Some(json!({"include_usage": true})));
    }
    optional.body
}

/// Adds what is set and not refused by the endpoint.
struct Optional<'a> {
    body: Map<String, Value>,
    quirks: &'a Quirks,
}

impl Optional<'_> {
    fn set(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value
            && !self.quirks.omit.contains(name)
        {
            self.body.insert(name.to_owned(), value);
        }
    }
}

fn tool(tool: &Tool) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

fn tool_choice(chat: &Chat, quirks: &Quirks) -> Option<Value> {
    let wanted = match chat.tool_choice.as_ref()? {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
    };
    match quirks.tool_choice {
        ToolChoiceSupport::Any => Some(wanted),
        ToolChoiceSupport::AutoOnly => Some(json!("auto")),
        ToolChoiceSupport::Omit => None,
    }
}

fn response_format(chat: &Chat, quirks: &Quirks) -> Option<Value> {
    let mode = chat.json.as_ref()?;
    match (mode, quirks.json) {
        (_, JsonSupport::None) => None,
        (JsonMode::Schema { name, schema }, JsonSupport::Schema) => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": name, "schema": schema, "strict": is_strict(schema)},
        })),
        // Several providers refuse this mode unless the prompt speaks of JSON.
        _ => mentions_json(chat).then(|| json!({"type": "json_object"})),
    }
}

fn mentions_json(chat: &Chat) -> bool {
    chat.messages.iter().any(|message| match message {
        Message::System { text } | Message::User { text } => {
            text.to_ascii_lowercase().contains("json")
        }
        _ => false,
    })
}

/// Strict mode refuses schemas with optional or open fields.
fn is_strict(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else {
        return schema
            .as_array()
            .is_none_or(|items| items.iter().all(is_strict));
    };
    let closed = match fields.get("properties").and_then(Value::as_object) {
        Some(properties) => {
            let required = fields.get("required").and_then(Value::as_array);
            let count = required.map_or(0, Vec::len);
            fields.get("additionalProperties") == Some(&json!(false)) && count == properties.len()
        }
        None => fields.get("type") != Some(&json!("object")),
    };
    closed && fields.values().all(is_strict)
}

fn messages(chat: &Chat, quirks: &Quirks) -> Vec<Value> {
    let mut prepared = history::prepare(&chat.messages);
    if quirks.nine_char_ids {
        prepared = history::with_short_ids(prepared);
    }
    let last_user = prepared
        .iter()
        .rposition(|message| matches!(message, Message::User { .. }));
    let write = |(at, message): (usize, &Message)| {
        let in_loop = last_user.is_none_or(|user| at > user);
        let replay = in_loop && quirks.reasoning == ReasoningReplay::ToolLoop;
        wire_message(message, replay)
    };
    prepared.iter().enumerate().map(write).collect()
}

fn wire_message(message: &Message, replay: bool) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Tool { call_id, text, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
        Message::Assistant {
            text,
            reasoning,
            tool_calls,
            extra,
        } => {
            let mut wire = Map::new();
            wire.insert("role".to_owned(), json!("assistant"));
            wire.insert("content".to_owned(), json!(text));
            if let Some(reasoning) = reasoning.as_ref().filter(|_| replay) {
                wire.insert("reasoning_content".to_owned(), json!(reasoning));
            }
            if !tool_calls.is_empty() {
                let calls = tool_calls.iter().map(wire_call).collect();
                wire.insert("tool_calls".to_owned(), Value::Array(calls));
            }
            add_unknown(&mut wire, extra);
            Value::Object(wire)
        }
    }
}

fn wire_call(call: &ToolCall) -> Value {
    let mut wire = Map::new();
    wire.insert("id".to_owned(), json!(call.id));
    wire.insert("type".to_owned(), json!("function"));
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    wire.insert("function".to_owned(), function);
    add_unknown(&mut wire, &call.extra);
    Value::Object(wire)
}

/// State of other dialects, which only they understand.
const FOREIGN: [&str; 3] = ["anthropic_content", "gemini_parts", "thoughtSignature"];

/// Puts unknown fields back where they came from; known ones are never overwritten.
fn add_unknown(wire: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (name, value) in extra {
        if FOREIGN.contains(&name.as_str()) {
            continue;
        }
        match (wire.get_mut(name), value) {
            (Some(Value::Object(held)), Value::Object(more)) => add_unknown(held, more),
            (Some(_), _) => {}
            (None, _) => {
                wire.insert(name.clone(), value.clone());
            }
        }
    }
}
