//! Requests.

use super::{SIGNATURE, STATE};
use crate::llm::http::HttpRequest;
use crate::llm::provider::Dialect;
use crate::llm::quirks::{JsonSupport, Quirks, ToolChoiceSupport};
use crate::llm::{
    ApiKey, Chat, JsonMode, LlmError, Message, Tool, ToolCall, ToolChoice, address, history,
};
use serde_json::{Map, Value, json};

/// `base_url` as the visitor gave it. The key goes into a header, never into the address, which
/// ends up in logs.
pub fn encode(
    chat: &Chat,
    key: Option<&ApiKey>,
    base_url: &str,
    quirks: &Quirks,
    stream: bool,
) -> Result<HttpRequest, LlmError> {
    let base = address::tidy(base_url, Dialect::Gemini)?;
    let model = chat.model.trim().trim_start_matches("models/");
    let call = match stream {
        true => "streamGenerateContent?alt=sse",
        false => "generateContent",
    };
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    headers.extend(key_header(key));
    Ok(HttpRequest {
        method: "POST",
        url: format!("{base}/models/{model}:{call}"),
        headers,
        body: Value::Object(body(chat, quirks)).to_string(),
    })
}

/// Asks for the list of models.
pub fn models_request(key: Option<&ApiKey>, base_url: &str) -> Result<HttpRequest, LlmError> {
    let base = address::tidy(base_url, Dialect::Gemini)?;
    Ok(HttpRequest {
        method: "GET",
        url: format!("{base}/models?pageSize=1000"),
        headers: key_header(key).into_iter().collect(),
        body: String::new(),
    })
}

fn key_header(key: Option<&ApiKey>) -> Option<(String, String)> {
    key.map(|key| ("x-goog-api-key".to_owned(), key.expose().to_owned()))
}

fn body(chat: &Chat, quirks: &Quirks) -> Map<String, Value> {
    let prepared = history::prepare(&chat.messages);
    let mut body = Map::new();
    body.insert("contents".to_owned(), Value::Array(contents(&prepared)));
    if let Some(system) = system(&prepared) {
        body.insert("systemInstruction".to_owned(), system);
    }
    if !chat.tools.is_empty() {
        let declarations: Vec<Value> = chat.tools.iter().map(declaration).collect();
        let tools = json!([{"functionDeclarations": declarations}]);
        body.insert("tools".to_owned(), tools);
        if let Some(config) = tool_config(chat, quirks) {
            body.insert("toolConfig".to_owned(), config);
        }
    }
    let config = generation_config(chat, quirks);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    body
}

fn system(messages: &[Message]) -> Option<Value> {
    let parts = messages.iter().filter_map(|message| match message {
        Message::System { text } => Some(json!({"text": text})),
        _ => None,
    });
    let parts: Vec<Value> = parts.collect();
    (!parts.is_empty()).then(|| json!({"parts": parts}))
}

fn declaration(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    })
}

fn tool_config(chat: &Chat, quirks: &Quirks) -> Option<Value> {
    if quirks.tool_choice == ToolChoiceSupport::Omit {
        return None;
    }
    let config = match chat.tool_choice.as_ref()? {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    };
    Some(json!({"functionCallingConfig": config}))
}

/// Names of the common dialect on the left, as refusals are remembered by them.
fn generation_config(chat: &Chat, quirks: &Quirks) -> Map<String, Value> {
    let json_mode = chat
        .json
        .as_ref()
        .filter(|_| quirks.json != JsonSupport::None);
    let schema = match json_mode {
        Some(JsonMode::Schema { schema, .. }) if quirks.json == JsonSupport::Schema => Some(schema),
        _ => None,
    };
    let values = [
        (
            "temperature",
            "temperature",
            chat.temperature.map(Value::from),
        ),
        (
            "max_tokens",
            "maxOutputTokens",
            chat.max_tokens.map(Value::from),
        ),
        ("seed", "seed", chat.seed.map(Value::from)),
        (
            "response_format",
            "responseMimeType",
            json_mode.map(|_| json!("application/json")),
        ),
        ("response_format", "responseJsonSchema", schema.cloned()),
    ];
    let sent = values
        .into_iter()
        .filter(|(common, ..)| !quirks.omit.contains(*common));
    sent.filter_map(|(_, name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn contents(prepared: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in prepared {
        let (role, parts) = match message {
            Message::System { .. } => continue,
            Message::User { text } => ("user", vec![json!({"text": text})]),
            Message::Tool { .. } => ("user", vec![result_part(message)]),
            Message::Assistant { .. } => ("model", model_parts(message)),
        };
        match turns.last_mut() {
            Some((last, held)) if *last == role => held.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    let wire = |(role, parts): (&str, Vec<Value>)| json!({"role": role, "parts": parts});
    turns.into_iter().map(wire).collect()
}

fn result_part(message: &Message) -> Value {
    let Message::Tool {
        call_id,
        name,
        text,
        is_error,
    } = message
    else {
        return Value::Null;
    };
    let said = if *is_error { "error" } else { "result" };
    with_id(
        json!({"name": name, "response": {said: text}}),
        "functionResponse",
        call_id,
    )
}

fn model_parts(message: &Message) -> Vec<Value> {
    let Message::Assistant {
        text,
        tool_calls,
        extra,
        ..
    } = message
    else {
        return Vec::new();
    };
    if let Some(Value::Array(state)) = extra.get(STATE) {
        return state.clone();
    }
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(json!({"text": text}));
    }
    parts.extend(tool_calls.iter().map(call_part));
    parts
}

fn call_part(call: &ToolCall) -> Value {
    let inner = json!({"name": call.name, "args": call.arguments});
    let mut part = with_id(inner, "functionCall", &call.id);
    // The signature may have come through the OpenAI-compatible interface.
    let nested = || {
        call.extra
            .get("extra_content")?
            .get("google")?
            .get("thought_signature")
    };
    if let Some(signature) = call.extra.get(SIGNATURE).or_else(nested) {
        part[SIGNATURE] = signature.clone();
    }
    part
}

/// Ids go back only where Gemini gave them; ours would match nothing there.
fn with_id(mut inner: Value, name: &str, id: &str) -> Value {
    if !history::fits(id) {
        inner["id"] = json!(id);
    }
    json!({ name: inner })
}
