//! Cases that are streams. Each is read whole, byte by byte, and cut in two at every offset.

use iba_lab::llm::openai::{self, StreamDecoder};
use iba_lab::llm::quirks::Quirks;
use iba_lab::llm::retry::{Decision, Policy, decide};
use iba_lab::llm::{Chat, Delta, Finish, LlmError, Message, Reply};
use serde_json::{Value, json};

fn bytes(input: &Value) -> Vec<u8> {
    let reads = input["reads"].as_array().expect("reads").iter();
    let hex = input["form"] == "sse-reads-hex";
    let read = |read: &Value| {
        let text = read.as_str().expect("text");
        if hex {
            unhex(text)
        } else {
            text.as_bytes().to_vec()
        }
    };
    reads.flat_map(read).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair).expect("hex");
        u8::from_str_radix(digits, 16).expect("hex")
    };
    pairs.map(byte).collect()
}

/// The outcome and the text shown on the way.
fn decode_in(parts: &[&[u8]]) -> (Result<Reply, LlmError>, String) {
    let mut decoder = StreamDecoder::new();
    let mut shown = String::new();
    for part in parts {
        for delta in decoder.push(part) {
            if let Delta::Text(text) = delta {
                shown.push_str(&text);
            }
        }
    }
    (decoder.finish(), shown)
}

/// The outcome, the same for every split.
fn decode(bytes: &[u8]) -> Result<Reply, LlmError> {
    let whole = decode_in(&[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(decode_in(&single), whole, "byte by byte");
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(decode_in(&[head, tail]), whole, "split at {at}");
    }
    whole.0
}

fn reply(input: &Value) -> Reply {
    decode(&bytes(input)).unwrap_or_else(|error| panic!("{error}"))
}

fn error(stream: &str) -> LlmError {
    decode(stream.as_bytes()).expect_err(stream)
}

fn calls(reply: &Reply) -> Vec<(&str, &str, String)> {
    let calls = reply.tool_calls.iter();
    calls
        .map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.to_string()))
        .collect()
}

pub fn b07(input: &Value) {
    let reply = reply(input);
    assert_eq!(reply.text, "AB");
    assert_eq!(reply.finish, Finish::Stop);
}

pub fn b08(input: &Value) {
    let reply = reply(input);
    assert_eq!((reply.text.as_str(), &reply.finish), ("ok", &Finish::Stop));
    let whole = "\n\n\n{\"choices\":[{\"index\":0,\"message\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}";
    let response = super::http::response(200, &[], whole);
    assert_eq!(openai::decode(&response).expect("a reply").text, "ok");
    // The same body to somebody who asked for a stream.
    assert_eq!(decode(whole.as_bytes()).expect("a reply").text, "ok");
}

pub fn b09(input: &Value) {
    assert_eq!(reply(input).text, "你好😀");
}

pub fn b10(input: &Value) {
    let reply = reply(input);
    let usage = reply.usage.expect("usage");
    assert_eq!(reply.text, "hi");
    assert_eq!((usage.input, usage.output), (Some(5), Some(1)));
    let null = "data: {\"choices\":null}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n";
    assert_eq!(decode(null.as_bytes()).expect("a reply").text, "x");
}

pub fn b11(input: &Value) {
    let error = decode(&bytes(input)).expect_err("an error inside");
    assert!(error.to_string().contains("upstream gone"), "{error}");
    assert_eq!(error.said().and_then(|said| said.status), Some(502));
    assert_eq!(error.partial(), Some("The ans"));
    assert!(error.is_retryable());
    others_of_b11();
    cut_streams_are_no_success();
}

fn others_of_b11() {
    let start = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let cases = [
        ("data: {\"error\":\"text\"}\n\ndata: [DONE]\n\n", "text"),
        (
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n",
            "error",
        ),
        ("event: error\ndata: {\"message\":\"gone\"}\n\n", "gone"),
        ("event: error\ndata: plain words\n\n", "plain words"),
        (
            "data: {\"code\":50505,\"message\":\"Model service overloaded\"}\n\n",
            "overloaded",
        ),
        (
            "data: {\"object\":\"error\",\"message\":\"boom\",\"code\":500}\n\n",
            "boom",
        ),
        (
            "data: {\"choices\":[{\"error\":{\"message\":\"inner\"}}]}\n\n",
            "inner",
        ),
        ("data: {\"choi\n\ndata: [DONE]\n\n", "no JSON"),
    ];
    for (end, word) in cases {
        let error = error(&format!("{start}{end}"));
        assert!(error.to_string().contains(word), "{end}: {error}");
        assert_eq!(error.partial(), Some("a"), "{end}");
    }
    let stop = error(&format!(
        "{start}data: {{\"error\":{{\"code\":402,\"message\":\"Insufficient credits\"}}}}\n\n"
    ));
    assert!(stop.stops_the_run(), "{stop}");
}

fn cut_streams_are_no_success() {
    for stream in [
        "",
        ": ping\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"con",
    ] {
        let error = error(stream);
        assert!(
            matches!(error, LlmError::StreamCut { .. }),
            "{stream}: {error}"
        );
        assert!(error.is_retryable());
    }
    // No blank line and no [DONE] after the end was announced: whole.
    let whole = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}";
    assert_eq!(decode(whole.as_bytes()).expect("a reply").text, "a");
}

pub fn b14(input: &Value) {
    let reply = reply(input);
    let expected = [
        ("a1", "search", "{\"q\":\"x\"}".to_owned()),
        ("b2", "search", "{\"q\":\"y\"}".to_owned()),
    ];
    assert_eq!(calls(&reply), expected);
    assert_eq!(reply.finish, Finish::ToolCalls);
}

pub fn b15(input: &Value) {
    let reply = reply(input);
    let expected = [
        ("a1", "get", "{\"k\":1}".to_owned()),
        ("b2", "get", "{\"k\":2}".to_owned()),
    ];
    assert_eq!(calls(&reply), expected);
}

pub fn b17(input: &Value) {
    let whole = reply(input);
    assert_eq!(calls(&whole), [("n1", "now", "{}".to_owned())]);
    assert_eq!(
        sent_back(&whole)["tool_calls"][0]["function"]["arguments"],
        "{}"
    );
    for arguments in ["null", "\"  \"", "\"{}\"", "\"null\""] {
        let stream = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"n1\",\
             \"function\":{{\"name\":\"now\",\"arguments\":{arguments}}}}}]}},\
             \"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
        );
        let reply = decode(stream.as_bytes()).expect(arguments);
        assert_eq!(
            calls(&reply),
            [("n1", "now", "{}".to_owned())],
            "{arguments}"
        );
    }
}

pub fn b20(input: &Value) {
    let error = decode(&bytes(input)).expect_err("cut arguments");
    assert!(
        error.to_string().contains("cut off at the output limit"),
        "{error}"
    );
    let decision = decide(
        &error,
        1,
        &Quirks::default(),
        Some(1000),
        &Policy::default(),
    );
    assert!(
        matches!(
            decision,
            Decision::RetryLimit {
                max_tokens: 2000,
                ..
            }
        ),
        "{decision:?}"
    );
    let again = decide(
        &error,
        2,
        &Quirks::default(),
        Some(2000),
        &Policy::default(),
    );
    assert_eq!(again, Decision::Stop);
    let lying = String::from_utf8(bytes(input))
        .expect("text")
        .replace("\"length\"", "\"tool_calls\"");
    assert_eq!(self::error(&lying).kind(), "output_limit");
}

/// The assistant turn of the next request.
fn sent_back(reply: &Reply) -> Value {
    let mut messages = vec![
        Message::User {
            text: "q".to_owned(),
        },
        reply.to_message(),
    ];
    messages.extend(reply.tool_calls.iter().map(|call| Message::Tool {
        call_id: call.id.clone(),
        name: call.name.clone(),
        text: "r".to_owned(),
        is_error: false,
    }));
    let chat = Chat {
        model: "m".to_owned(),
        messages,
        ..Chat::default()
    };
    let request = openai::encode(
        &chat,
        None,
        "https://h.example/v1",
        &Quirks::default(),
        false,
    );
    let body: Value = serde_json::from_str(&request.expect("a request").body).expect("JSON");
    body["messages"][1].clone()
}

pub fn b23(input: &Value) {
    let reply = reply(input);
    let back = sent_back(&reply);
    let expected = json!({"google": {"thought_signature": "AbC="}});
    assert_eq!(back["tool_calls"][0]["extra_content"], expected);
    native_signatures_go_back();
}

fn native_signatures_go_back() {
    use iba_lab::llm::gemini;
    let body = json!({"candidates": [{"content": {"role": "model", "parts": [
        {"functionCall": {"name": "search", "args": {"q": "x"}}, "thoughtSignature": "AbC="},
        {"functionCall": {"name": "search", "args": {"q": "y"}}},
    ]}, "finishReason": "STOP"}]});
    let response = super::http::response(200, &[], &body.to_string());
    let reply = gemini::decode(&response).expect("a reply");
    assert_eq!(reply.tool_calls.len(), 2);
    let chat = Chat {
        model: "g".to_owned(),
        messages: vec![
            Message::User {
                text: "q".to_owned(),
            },
            reply.to_message(),
        ],
        ..Chat::default()
    };
    let base = "https://generativelanguage.googleapis.com/v1beta";
    let request = gemini::encode(&chat, None, base, &Quirks::default(), false);
    let sent: Value = serde_json::from_str(&request.expect("a request").body).expect("JSON");
    let parts = &body["candidates"][0]["content"]["parts"];
    assert_eq!(&sent["contents"][1]["parts"], parts);
}

pub fn x09(input: &Value) {
    let reply = reply(input);
    let expected = [
        ("a", "f", "{\"x\":1}".to_owned()),
        ("b", "g", "{\"y\":2}".to_owned()),
    ];
    assert_eq!(calls(&reply), expected);
    assert_eq!(reply.text, "Let me look. ");
    assert_eq!(sent_back(&reply)["content"], "Let me look. ");
}

pub fn x24(input: &Value) {
    let reply = reply(input);
    assert_eq!((reply.text.as_str(), reply.usage), ("hi", None));
    for usage in [
        "null",
        "{}",
        "{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}",
    ] {
        let stream = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"hi\"}},\"finish_reason\":\"stop\"}}],\
             \"usage\":{usage}}}\n\ndata: [DONE]\n\n"
        );
        assert_eq!(
            decode(stream.as_bytes()).expect("a reply").usage,
            None,
            "{usage}"
        );
    }
    include_usage_is_dropped_when_refused();
}

fn include_usage_is_dropped_when_refused() {
    let chat = Chat {
        model: "m".to_owned(),
        messages: vec![Message::User {
            text: "q".to_owned(),
        }],
        ..Chat::default()
    };
    let sent = |quirks: &Quirks| {
        let request = openai::encode(&chat, None, "http://localhost:1/v1", quirks, true);
        request.expect("a request").parameters()
    };
    assert_eq!(
        sent(&Quirks::default())["stream_options"],
        json!({"include_usage": true})
    );
    let body = r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#;
    let error = openai::decode(&super::http::response(400, &[], body)).expect_err("refused");
    let decision = decide(&error, 1, &Quirks::default(), None, &Policy::default());
    let Decision::RetryWith { quirks, .. } = decision else {
        panic!("{decision:?}");
    };
    assert!(!sent(&quirks).contains_key("stream_options"));
}
