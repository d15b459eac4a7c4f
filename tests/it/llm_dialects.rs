//! The native dialects, on shapes as the providers document and record them.

use iba_lab::llm::http::HttpResponse;
use iba_lab::llm::provider::Provider;
use iba_lab::llm::quirks::Quirks;
use iba_lab::llm::{
    ApiKey, Chat, Finish, JsonMode, LlmError, Message, Reply, Tool, ToolChoice, Usage,
};
use serde_json::{Value, json};

fn provider(id: &str) -> &'static Provider {
    Provider::by_id(id).expect("a row")
}

fn whole(id: &str, body: &Value) -> Result<Reply, LlmError> {
    provider(id).decode(&HttpResponse {
        status: 200,
        body: body.to_string().into_bytes(),
        ..HttpResponse::default()
    })
}

/// The outcome of a stream, the same for every cut in two.
fn streamed(id: &str, stream: &str) -> Result<Reply, LlmError> {
    let outcome = |parts: [&[u8]; 2]| {
        let mut decoder = provider(id).stream_decoder();
        for part in parts {
            decoder.push(part);
        }
        decoder.finish()
    };
    let first = outcome([stream.as_bytes(), b""]);
    for at in 0..stream.len() {
        let (head, tail) = stream.as_bytes().split_at(at);
        assert_eq!(outcome([head, tail]), first, "cut at {at}");
    }
    first
}

fn events(chunks: &[Value]) -> String {
    let event = |chunk: &Value| match chunk["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {chunk}\n\n"),
        None => format!("data: {chunk}\n\n"),
    };
    chunks.iter().map(event).collect()
}

fn encoded(id: &str, chat: &Chat, stream: bool) -> (String, Value) {
    let key = ApiKey::new("secret-key-1");
    let row = provider(id);
    let request = row.encode(chat, key.as_ref(), row.base_url, &Quirks::default(), stream);
    let request = request.expect("a request");
    (
        request.url,
        serde_json::from_str(&request.body).expect("JSON"),
    )
}

/// A question, an answer with a call, and its result.
fn conversation(reply: &Reply) -> Chat {
    let call = &reply.tool_calls[0];
    Chat {
        model: "m".to_owned(),
        messages: vec![
            Message::System {
                text: "be brief".to_owned(),
            },
            Message::User {
                text: "q".to_owned(),
            },
            reply.to_message(),
            Message::Tool {
                call_id: call.id.clone(),
                name: call.name.clone(),
                text: "found".to_owned(),
                is_error: false,
            },
        ],
        tools: vec![Tool {
            name: "search".to_owned(),
            description: "finds".to_owned(),
            parameters: json!({"type": "object"}),
        }],
        tool_choice: Some(ToolChoice::Required),
        temperature: Some(0.5),
        max_tokens: Some(100),
        ..Chat::default()
    }
}

fn anthropic_stream() -> Vec<Value> {
    let delta = |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1}}}),
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, json!({"type": "thinking_delta", "thinking": "look it "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "up"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "ping"}),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Let me look."})),
        start(
            2,
            json!({"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}),
        ),
        delta(2, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": "{\"q\": \"x"}),
        ),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": "\"}"}),
        ),
        start(
            3,
            json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}),
        ),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 42}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn anthropic_streams_become_replies() {
    let reply = streamed("anthropic", &events(&anthropic_stream())).expect("a reply");
    assert_eq!(reply.text, "Let me look.");
    assert_eq!(reply.reasoning.as_deref(), Some("look it up"));
    assert_eq!(reply.finish, Finish::ToolCalls);
    let arguments: Vec<&Value> = reply
        .tool_calls
        .iter()
        .map(|call| &call.arguments)
        .collect();
    assert_eq!(arguments, [&json!({"q": "x"}), &json!({})]);
    let usage = Usage {
        input: Some(100),
        output: Some(42),
        cached: Some(90),
        reasoning: None,
    };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(reply.model.as_deref(), Some("claude-x"));
}

#[test]
fn anthropic_gets_its_thinking_back_unchanged() {
    let reply = streamed("anthropic", &events(&anthropic_stream())).expect("a reply");
    let (url, body) = encoded("anthropic", &conversation(&reply), true);
    assert_eq!(url, "https://api.anthropic.com/v1/messages");
    assert_eq!(body["system"], "be brief");
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
    let turn = &body["messages"][1]["content"];
    assert_eq!(
        turn[0],
        json!({"type": "thinking", "thinking": "look it up", "signature": "c2ln"})
    );
    assert_eq!(turn[2]["input"], json!({"q": "x"}));
    let results = &body["messages"][2]["content"];
    assert_eq!(
        (&results[0]["content"], &results[1]["is_error"]),
        (&json!("found"), &json!(true))
    );
}

#[test]
fn anthropic_streams_fail_as_others_do() {
    let start = events(&anthropic_stream()[..9]);
    assert_eq!(
        streamed("anthropic", &start).expect_err("cut").kind(),
        "stream_cut"
    );
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error =
        streamed("anthropic", &format!("{start}{}", events(&[overloaded]))).expect_err("error");
    assert_eq!(
        (error.kind(), error.partial()),
        ("stream_error", Some("Let me look."))
    );
    assert!(error.is_retryable());
    let mut half: Vec<Value> = anthropic_stream()[..12].to_vec();
    half.push(json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}));
    assert_eq!(
        streamed("anthropic", &events(&half))
            .expect_err("half a call")
            .kind(),
        "output_limit"
    );
}

#[test]
fn anthropic_bodies_become_replies() {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 2}});
    let reply = whole("anthropic", &body).expect("a reply");
    assert_eq!(
        (reply.text.as_str(), &reply.tool_calls[0].arguments),
        ("hi", &json!({"x": 1}))
    );
    let empty = json!({"content": [], "stop_reason": "refusal"});
    assert_eq!(
        whole("anthropic", &empty).expect_err("no text").kind(),
        "content_filter"
    );
}

fn gemini_chunks() -> Vec<Value> {
    let chunk = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}], "modelVersion": "gemini-x"});
    let mut last = chunk(json!([{"functionCall": {"name": "search", "args": {"q": "y"}}}]));
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] = json!({"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "totalTokenCount": 14});
    vec![
        chunk(json!([{"text": "hm", "thought": true}])),
        chunk(json!([{"text": "Let me "}])),
        chunk(json!([{"text": "look."}])),
        chunk(
            json!([{"functionCall": {"name": "search", "args": {"q": "x"}}, "thoughtSignature": "AbC="}]),
        ),
        last,
    ]
}

#[test]
fn gemini_streams_become_replies() {
    let reply = streamed("gemini", &events(&gemini_chunks())).expect("a reply");
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_deref()),
        ("Let me look.", Some("hm"))
    );
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(reply.tool_calls.len(), 2);
    assert_ne!(reply.tool_calls[0].id, reply.tool_calls[1].id);
    let usage = Usage {
        input: Some(7),
        output: Some(7),
        cached: None,
        reasoning: Some(4),
    };
    assert_eq!(reply.usage, Some(usage));
    // The same chunks as one array, which is what comes without `alt=sse`.
    let array = whole("gemini", &Value::Array(gemini_chunks())).expect("a reply");
    assert_eq!(array.text, reply.text);
}

#[test]
fn gemini_gets_its_signatures_back_in_place() {
    let reply = streamed("gemini", &events(&gemini_chunks())).expect("a reply");
    let (url, body) = encoded("gemini", &conversation(&reply), true);
    assert!(
        url.ends_with("/v1beta/models/m:streamGenerateContent?alt=sse"),
        "{url}"
    );
    let parts = body["contents"][1]["parts"].as_array().expect("parts");
    assert_eq!(parts.len(), 5);
    assert_eq!(parts[3]["thoughtSignature"], "AbC=");
    assert_eq!(
        body["contents"][2]["parts"][0]["functionResponse"]["response"],
        json!({"result": "found"})
    );
    assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "ANY");
    assert_eq!(
        body["generationConfig"],
        json!({"temperature": 0.5, "maxOutputTokens": 100})
    );
}

#[test]
fn gemini_failures_are_typed() {
    let cut = events(&gemini_chunks()[..3]);
    assert_eq!(
        streamed("gemini", &cut).expect_err("cut").kind(),
        "stream_cut"
    );
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    assert_eq!(
        whole("gemini", &blocked).expect_err("blocked").kind(),
        "content_filter"
    );
    let unsafe_answer = json!({"candidates": [{"finishReason": "SAFETY"}]});
    assert_eq!(
        whole("gemini", &unsafe_answer).expect_err("stopped").kind(),
        "content_filter"
    );
    let malformed = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]});
    assert_eq!(
        whole("gemini", &malformed).expect_err("malformed").kind(),
        "broken_tool_call"
    );
    let thought_only = json!({"candidates": [{"content": {"parts": [{"text": "x", "thought": true}]}, "finishReason": "MAX_TOKENS"}]});
    assert_eq!(
        whole("gemini", &thought_only)
            .expect_err("no answer")
            .kind(),
        "output_limit"
    );
    let bad_key = r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#;
    let response = HttpResponse {
        status: 400,
        body: bad_key.as_bytes().to_vec(),
        ..HttpResponse::default()
    };
    assert_eq!(
        provider("gemini")
            .decode(&response)
            .expect_err("bad key")
            .kind(),
        "auth"
    );
}

#[test]
fn json_modes_are_asked_for_where_they_exist() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let chat = Chat {
        model: "m".to_owned(),
        messages: vec![Message::User {
            text: "Answer in JSON.".to_owned(),
        }],
        json: Some(JsonMode::Schema {
            name: "x".to_owned(),
            schema: schema.clone(),
        }),
        ..Chat::default()
    };
    let format = |id: &str| {
        let row = provider(id);
        let request = row.encode(&chat, None, row.base_url, &row.quirks(), false);
        let body: Value = serde_json::from_str(&request.expect("a request").body).expect("JSON");
        body.get("response_format")
            .or(body.get("generationConfig"))
            .cloned()
    };
    let strict = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": true}});
    assert_eq!(format("openai"), Some(strict));
    assert_eq!(format("deepseek"), Some(json!({"type": "json_object"})));
    let gemini = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    assert_eq!(format("gemini"), Some(gemini));
    assert_eq!(format("anthropic"), None);
}

#[test]
fn lists_of_models_come_in_two_forms() {
    let list = |id: &str, body: Value| {
        provider(id).decode_models(&HttpResponse {
            status: 200,
            body: body.to_string().into_bytes(),
            ..HttpResponse::default()
        })
    };
    let openai = json!({"object": "list", "data": [{"id": "b"}, {"id": "a"}, {"id": "b"}]});
    assert_eq!(
        list("openai", openai),
        Ok(vec!["a".to_owned(), "b".to_owned()])
    );
    let gemini = json!({"models": [
        {"name": "models/g", "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/e", "supportedGenerationMethods": ["embedContent"]},
    ]});
    assert_eq!(list("gemini", gemini), Ok(vec!["g".to_owned()]));
    assert!(list("openai", json!({"hello": 1})).is_err());
}
