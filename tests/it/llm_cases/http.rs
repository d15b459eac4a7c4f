//! Cases that are whole responses.

use iba_lab::llm::http::HttpResponse;
use iba_lab::llm::provider::Provider;
use iba_lab::llm::quirks::{OutputLimitField, Quirks, ToolChoiceSupport};
use iba_lab::llm::retry::{Decision, Policy, decide};
use iba_lab::llm::{Chat, LlmError, Message, ToolChoice, openai, reach, truncation, wait};
use serde_json::{Value, json};

pub fn response(status: u16, headers: &[(&str, &str)], body: &str) -> HttpResponse {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    HttpResponse {
        status,
        headers: headers.iter().map(own).collect(),
        body: body.as_bytes().to_vec(),
        received_ms: None,
    }
}

fn of_case(input: &Value) -> HttpResponse {
    let status = input["status"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok());
    response(
        status.expect("a status"),
        &[],
        &super::text_of(input, "body"),
    )
}

fn failure(status: u16, body: &str) -> LlmError {
    openai::decode(&response(status, &[], body)).expect_err(body)
}

fn first_step(error: &LlmError, quirks: &Quirks) -> Decision {
    decide(error, 1, quirks, Some(3000), &Policy::default())
}

pub fn b01(input: &Value) {
    let anthropic = Provider::by_id("anthropic").expect("a row");
    let error = anthropic.decode(&of_case(input)).expect_err("401");
    assert_eq!(error.kind(), "origin_refused", "{error}");
    let organisation = r#"{"type":"error","error":{"type":"authentication_error","message":"CORS requests are not allowed for this Organization because of its settings"}}"#;
    let error = anthropic
        .decode(&response(401, &[], organisation))
        .expect_err("401");
    assert!(error.hint().expect("a hint").contains("organisation"));
    let bad_key =
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    let error = anthropic
        .decode(&response(401, &[], bad_key))
        .expect_err("401");
    assert_eq!(error.kind(), "auth");
    super::scenario::anthropic_headers();
}

pub fn b24(input: &Value) {
    let error = openai::decode(&of_case(input)).expect_err("400");
    let decision = first_step(&error, &Quirks::default());
    let Decision::RetryWith { quirks, .. } = decision else {
        panic!("{decision:?}");
    };
    assert_eq!(quirks.output_limit, OutputLimitField::MaxCompletionTokens);
    let chat = Chat {
        model: "m".to_owned(),
        messages: vec![Message::User {
            text: "q".to_owned(),
        }],
        temperature: Some(0.2),
        max_tokens: Some(3000),
        ..Chat::default()
    };
    let request = openai::encode(&chat, None, "https://h.example/v1", &quirks, false);
    let really_sent = Value::Object(request.expect("a request").parameters());
    let expected = json!({"model": "m", "temperature": 0.2, "max_completion_tokens": 3000});
    assert_eq!(really_sent, expected);
    other_refusals();
}

/// Body of a 400 and the parameter it names.
fn other_refusals() {
    let cases = [
        (
            r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}"#,
            "temperature",
        ),
        (
            r#"{"error":{"message":"max_completion_tokens is not supported, use max_tokens"}}"#,
            "max_completion_tokens",
        ),
        (
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}"#,
            "seed",
        ),
        (
            r#"{"error":{"message":"This response_format type is unavailable now","param":"response_format"}}"#,
            "response_format",
        ),
        (
            r#"{"error":{"message":"'response_format.type' must be 'json_schema' or 'text'"}}"#,
            "response_format",
        ),
        (
            r#"{"error":"json_schema is not supported by this model"}"#,
            "response_format",
        ),
        (
            r#"{"message":"include_usage is not allowed","code":400}"#,
            "stream_options",
        ),
        (
            r#"{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}"#,
            "reasoning_content",
        ),
    ];
    for (body, name) in cases {
        match failure(400, body) {
            LlmError::RefusedParameter { name: found, .. } => assert_eq!(found, name, "{body}"),
            other => panic!("{body}: {other:?}"),
        }
    }
    let plain = failure(
        400,
        r#"{"error":{"message":"messages: at least one message is required"}}"#,
    );
    assert_eq!(plain.kind(), "bad_request");
}

pub fn b37(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let error = openai::decode(&of_case(case)).expect_err("a failure");
        let decision = first_step(&error, &Quirks::default());
        match case["want"].as_str().expect("want") {
            "stop, no retry" => {
                assert_eq!(decision, Decision::Stop, "{case}");
                assert!(error.stops_the_run(), "{case}: {error}");
            }
            _ => assert!(
                matches!(decision, Decision::RetryAfter { .. }),
                "{case}: {decision:?}"
            ),
        }
    }
    let empty = [
        (
            403,
            r#"{"code":30001,"message":"Sorry, your account balance is insufficient","data":null}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
        ),
        (
            400,
            r#"{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}"#,
        ),
        (
            402,
            r#"{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}"#,
        ),
        (
            429,
            r#"{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended"}}"#,
        ),
        (402, ""),
    ];
    for (status, body) in empty {
        assert_eq!(failure(status, body).kind(), "no_credit", "{body}");
    }
    // Gemini's limit for each minute sounds the same but says when to come back.
    let minute = r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}]"#;
    let error = failure(429, minute);
    assert_eq!(
        (error.kind(), error.wait_seconds()),
        ("rate_limited", Some(17.0))
    );
}

pub fn b38(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let place = case[0].as_str().expect("a place");
        let value = case[1].as_str().expect("a value");
        let (headers, body) = match place {
            "body" => (vec![], json!({"error": {"message": value}}).to_string()),
            "body RetryInfo" => (vec![], format!("{{\"error\":{{\"details\":[{value}]}}}}")),
            header => (vec![(header, value)], String::new()),
        };
        let mut response = response(429, &headers, &body);
        response.received_ms = Some(1_767_225_600_000.0);
        let asked = wait::asked_seconds(&response);
        match &case[2] {
            Value::Number(seconds) => assert_eq!(asked, seconds.as_f64(), "{case}"),
            Value::String(word) if word == "fallback" => assert_eq!(asked, None, "{case}"),
            _ => assert_capped(&response),
        }
    }
}

fn assert_capped(response: &HttpResponse) {
    let error = openai::decode(response).expect_err("429");
    let policy = Policy::default();
    let Decision::RetryAfter { seconds, note } =
        decide(&error, 1, &Quirks::default(), None, &policy)
    else {
        panic!("{error}");
    };
    assert_eq!(seconds, policy.max_wait_seconds);
    assert!(note.expect("the visitor is told").contains("999999"));
}

pub fn b42(input: &Value) {
    let reply = openai::decode(&of_case(input)).expect("a reply");
    let chat = Chat {
        model: "m".to_owned(),
        messages: vec![Message::User {
            text: "Some plain English words. ".repeat(2308),
        }],
        ..Chat::default()
    };
    let warning = truncation::check(&chat, &reply, "http://localhost:11434/v1").expect("a warning");
    let said = "server probably truncated the prompt (saw 4096 tokens, expected ≈15";
    assert!(warning.contains(said), "{warning}");
    assert!(warning.contains("OLLAMA_CONTEXT_LENGTH"));
    let short = Chat {
        messages: vec![Message::User {
            text: "Some plain English words. ".repeat(500),
        }],
        ..chat
    };
    assert_eq!(
        truncation::check(&short, &reply, "http://localhost:11434/v1"),
        None
    );
}

pub fn x02(input: &Value) {
    let ollama = Provider::by_id("ollama").expect("a row");
    let error = ollama.decode(&of_case(input)).expect_err("403");
    assert_eq!(error.kind(), "origin_refused");
    assert!(error.hint().expect("a hint").contains("OLLAMA_ORIGINS"));
    let page = "https://someone.github.io";
    let steps = reach::explain_unreachable(page, "http://localhost:11434/v1").join(" ");
    assert!(
        steps.contains("OLLAMA_ORIGINS=https://someone.github.io"),
        "{steps}"
    );
    super::scenario::sends_only("ollama", &["authorization", "content-type"]);
}

pub fn x14(input: &Value) {
    let error = openai::decode(&of_case(input)).expect_err("400");
    let decision = first_step(&error, &Quirks::default());
    let Decision::RetryWith { quirks, .. } = decision else {
        panic!("{error}: {decision:?}");
    };
    assert_eq!(quirks.tool_choice, ToolChoiceSupport::Omit);
    assert_eq!(first_step(&error, &quirks), Decision::Stop);
    let chat = super::scenario::chat_with_tool(Some(ToolChoice::Required));
    let sent = |quirks: &Quirks| {
        let request = openai::encode(&chat, None, "https://h.example/v1", quirks, false);
        let body: Value = serde_json::from_str(&request.expect("a request").body).expect("JSON");
        body.get("tool_choice").cloned()
    };
    assert_eq!(sent(&Quirks::default()), Some(json!("required")));
    assert_eq!(sent(&quirks), None);
    for id in ["siliconflow", "zhipu"] {
        let known = Provider::by_id(id).expect("a row").quirks();
        assert_eq!(sent(&known), Some(json!("auto")), "{id}");
    }
    let flags = r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}"#;
    let error = failure(400, flags);
    assert!(
        error
            .hint()
            .expect("a hint")
            .contains("--enable-auto-tool-choice"),
        "{error}"
    );
    assert_eq!(first_step(&error, &Quirks::default()), Decision::Stop);
}

pub fn x17(input: &Value) {
    let error = openai::decode(&of_case(input)).expect_err("no answer");
    assert!(error.to_string().contains("output limit"), "{error}");
    assert!(error.to_string().contains("reasoning"), "{error}");
    assert!(
        !error.to_json().to_string().contains("long thought"),
        "reasoning is no answer"
    );
    let decision = decide(&error, 1, &Quirks::default(), Some(256), &Policy::default());
    assert!(matches!(
        decision,
        Decision::RetryLimit {
            max_tokens: 512,
            ..
        }
    ));
    let unclosed =
        r#"{"choices":[{"message":{"content":"<think>long thought"},"finish_reason":"length"}]}"#;
    assert_eq!(failure(200, unclosed).kind(), "output_limit");
    let stopped = r#"{"choices":[{"message":{"content":"","reasoning_content":"x"},"finish_reason":"stop"}]}"#;
    assert_eq!(failure(200, stopped).kind(), "empty_answer");
    let closed =
        r#"{"choices":[{"message":{"content":"<think>x</think>\n\nyes"},"finish_reason":"stop"}]}"#;
    let reply = openai::decode(&response(200, &[], closed)).expect("a reply");
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_deref()),
        ("yes", Some("x"))
    );
}

pub fn x22(input: &Value) {
    let wanted = [
        "bad key",
        "model 'x' not found",
        "bad arg",
        "Model does not exist",
        "敏感内容",
        "invalid id",
        "Unauthorized",
        "Invalid token",
        "body.model: field required",
    ];
    let bodies = input["bodies"].as_array().expect("bodies");
    assert_eq!(bodies.len(), wanted.len());
    for (body, wanted) in bodies.iter().zip(wanted) {
        let error = failure(400, body.as_str().expect("a body"));
        let said = error.said().expect("a server's word");
        assert_eq!(said.message, wanted, "{body}");
    }
    let kinds = [
        (
            401,
            r#"{"error":{"message":"bad key","type":"auth","code":null}}"#,
            "auth",
        ),
        (404, r#"{"error":"model 'x' not found"}"#, "model_not_found"),
        (
            400,
            r#"{"code":20012,"message":"Model does not exist","data":null}"#,
            "model_not_found",
        ),
        (
            400,
            r#"{"error":{"code":"1301","message":"敏感内容"}}"#,
            "content_filter",
        ),
        (403, r#"{"detail":"Unauthorized"}"#, "auth"),
        (401, r#""Invalid token""#, "auth"),
        (404, "404 page not found", "wrong_address"),
        (
            404,
            "<!DOCTYPE html><html><head><title>Not here</title></head></html>",
            "wrong_address",
        ),
        (500, "", "server"),
        (
            503,
            r#"{"error":{"message":"The model is overloaded"}}"#,
            "server",
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "server",
        ),
        (
            200,
            r#"{"error":{"message":"Rate limit exceeded","code":429}}"#,
            "rate_limited",
        ),
        (200, "<html><body>Welcome</body></html>", "unreadable"),
        (
            200,
            "{\"choices\":[{\"message\":{\"content\":\"ha",
            "stream_cut",
        ),
        (200, "{}", "unreadable"),
    ];
    for (status, body, kind) in kinds {
        let error = failure(status, body);
        assert_eq!(error.kind(), kind, "{status} {body}: {error}");
        assert!(
            error.said().is_none_or(|said| !said.message.is_empty()),
            "{body}"
        );
    }
    let unknown = format!("{{\"weird\":\"{}\"}}", "y".repeat(500));
    let shown = failure(400, &unknown)
        .said()
        .expect("a word")
        .message
        .clone();
    assert_eq!(shown.chars().count(), 301, "300 characters and a mark");
}

pub fn x23(input: &Value) {
    for case in input["cases"].as_array().expect("cases") {
        let line = case[0].as_str().expect("a text");
        let (status, body) = line.split_once(' ').expect("status and body");
        let error = failure(status.parse().expect("a status"), body);
        let fits = match case[1].as_str().expect("a class") {
            "overflow" => error.kind() == "context_overflow",
            "bad parameter" => error.kind() == "refused_parameter",
            _ => matches!(error.kind(), "context_overflow" | "too_large"),
        };
        assert!(fits, "{line}: {error:?}");
        assert!(
            !error.is_retryable(),
            "{line}: the same prompt is not sent again"
        );
    }
    let others = [
        (
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion).",
            "context_overflow",
        ),
        (
            400,
            "Range of input length should be [1, 30720]",
            "context_overflow",
        ),
        (
            400,
            "the request exceeds the available context size (4096 tokens), try increasing it",
            "context_overflow",
        ),
        (
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "context_overflow",
        ),
        (
            429,
            "Request too large for gpt-x on tokens per min (TPM): Limit 10000, Requested 20000.",
            "context_overflow",
        ),
        (
            400,
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
            "refused_parameter",
        ),
        (
            400,
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for m",
            "refused_parameter",
        ),
    ];
    for (status, message, kind) in others {
        let body = json!({"error": {"message": message}}).to_string();
        assert_eq!(failure(status, &body).kind(), kind, "{message}");
    }
}
