//! Cases about what is sent, and about pages and addresses.

use iba_lab::llm::http::HttpRequest;
use iba_lab::llm::provider::Provider;
use iba_lab::llm::quirks::{Quirks, ReasoningReplay};
use iba_lab::llm::retry::{Decision, Policy, decide};
use iba_lab::llm::{
    ApiKey, Chat, LlmError, Message, Said, Tool, ToolCall, ToolChoice, anthropic, history, openai,
    reach, redact,
};
use serde_json::{Map, Value, json};

const KEY: &str = "sk-test-0123456789abcdef";

fn key() -> ApiKey {
    ApiKey::new(KEY).expect("a key")
}

fn user(text: &str) -> Message {
    Message::User {
        text: text.to_owned(),
    }
}

fn chat(messages: Vec<Message>) -> Chat {
    Chat {
        model: "m".to_owned(),
        messages,
        ..Chat::default()
    }
}

pub fn chat_with_tool(tool_choice: Option<ToolChoice>) -> Chat {
    Chat {
        tools: vec![Tool {
            name: "search".to_owned(),
            description: "finds".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        }],
        tool_choice,
        ..chat(vec![user("q")])
    }
}

fn body(request: &HttpRequest) -> Value {
    serde_json::from_str(&request.body).expect("a JSON body")
}

/// The request that a provider's row makes, with headers meant for OpenRouter in its quirks.
fn request(provider: &Provider) -> HttpRequest {
    let mut quirks = provider.quirks();
    quirks.extra_headers = [("HTTP-Referer", "https://page"), ("X-Title", "IBA Lab")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let base = match provider.base_url {
        "" => "https://h.example/v1",
        base => base,
    };
    let chat = chat(vec![user("q")]);
    provider
        .encode(&chat, Some(&key()), base, &quirks, true)
        .expect("a request")
}

fn header_names(request: &HttpRequest) -> Vec<String> {
    request
        .headers
        .iter()
        .map(|(name, _)| name.to_lowercase())
        .collect()
}

pub fn sends_only(id: &str, allowed: &[&str]) {
    let request = request(Provider::by_id(id).expect("a row"));
    let names = header_names(&request);
    assert!(
        names.iter().all(|name| allowed.contains(&name.as_str())),
        "{id}: {names:?}"
    );
}

pub fn anthropic_headers() {
    for provider in Provider::all() {
        let names = header_names(&request(provider));
        let own = [
            "x-api-key",
            "anthropic-version",
            "anthropic-dangerous-direct-browser-access",
        ];
        for name in own {
            let sent = names.iter().any(|sent| sent == name);
            assert_eq!(sent, provider.id == "anthropic", "{} {name}", provider.id);
        }
    }
}

pub fn b02(_: &Value) {
    for provider in Provider::all() {
        let request = request(provider);
        for name in header_names(&request) {
            let common = ["authorization", "content-type"].contains(&name.as_str());
            assert!(
                common || provider.takes_header(&name),
                "{}: {name}",
                provider.id
            );
        }
        let referer = header_names(&request).contains(&"http-referer".to_owned());
        assert_eq!(referer, provider.id == "openrouter", "{}", provider.id);
        assert!(!format!("{request:?}").contains(KEY), "{}", provider.id);
        assert!(
            !request.url.contains(KEY) && !request.body.contains(KEY),
            "{}",
            provider.id
        );
    }
}

pub fn b03(_: &Value) {
    let page = "https://example.github.io";
    let base = "https://gateway.example/v1";
    let error = LlmError::Unreachable {
        base_url: base.to_owned(),
        reasons: reach::explain_unreachable(page, base),
    };
    let said = format!("{error} {}", error.hint().expect("reasons"));
    for word in ["CORS", "key", "model", "connection", "extension"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(
        !said.contains("invalid key") && !said.contains("not accepted"),
        "{said}"
    );
    assert!(!error.stops_the_run());
    let policy = Policy::default();
    let tries = (1..20)
        .take_while(|attempt| {
            decide(&error, *attempt, &Quirks::default(), None, &policy) != Decision::Stop
        })
        .count();
    assert!((1..=3).contains(&tries), "{tries} retries");
}

pub fn b05(_: &Value) {
    let page = "https://example.github.io";
    for base in ["http://localhost:11434/v1", "http://127.0.0.1:1234/v1"] {
        assert_eq!(reach::allowed_from(page, base), Ok(()), "{base}");
        let steps = reach::explain_unreachable(page, base);
        assert_eq!(steps.len(), 3, "{steps:?}");
        for (step, word) in steps.iter().zip(["local network", "CORS", "runs"]) {
            let origin = step.contains("ORIGINS");
            assert!(
                step.contains(word) || (word == "CORS" && origin),
                "{word}: {step}"
            );
        }
    }
    let error = reach::allowed_from(page, "http://192.168.1.20:11434/v1").expect_err("mixed");
    assert_eq!(error.kind(), "mixed_content");
    assert!(error.hint().expect("a hint").contains("localhost"));
    let public = reach::explain_unreachable(page, "https://api.deepseek.com").join(" ");
    assert!(!public.contains("local network"), "{public}");
}

/// Neutral messages from Anthropic's form.
fn neutral(messages: &Value) -> Vec<Message> {
    messages
        .as_array()
        .expect("messages")
        .iter()
        .flat_map(neutral_turn)
        .collect()
}

fn neutral_turn(turn: &Value) -> Vec<Message> {
    let role = turn["role"].as_str().expect("a role");
    let Some(blocks) = turn["content"].as_array() else {
        return vec![user(turn["content"].as_str().expect("text"))];
    };
    if role == "user" {
        let result = |block: &Value| Message::Tool {
            call_id: block["tool_use_id"].as_str().expect("an id").to_owned(),
            name: "search".to_owned(),
            text: block["content"].as_str().expect("text").to_owned(),
            is_error: false,
        };
        return blocks.iter().map(result).collect();
    }
    let call = |block: &Value| ToolCall {
        id: block["id"].as_str().expect("an id").to_owned(),
        name: block["name"].as_str().expect("a name").to_owned(),
        arguments: block["input"].clone(),
        extra: Map::new(),
    };
    let calls = blocks
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .map(call);
    vec![Message::Assistant {
        text: String::new(),
        reasoning: None,
        tool_calls: calls.collect(),
        extra: Map::new(),
    }]
}

pub fn b21(input: &Value) {
    let chat = chat(neutral(&input["messages"]));
    let base = "https://api.anthropic.com";
    let request = anthropic::encode(&chat, None, base, &Quirks::default(), false);
    let sent = body(&request.expect("a request"));
    let turns = sent["messages"].as_array().expect("turns");
    assert_eq!(turns.len(), 3);
    let used = turns[1]["content"].as_array().expect("blocks");
    assert!(
        used.iter().all(|block| block["type"] == "tool_use"),
        "no empty text: {used:?}"
    );
    let results = turns[2]["content"].as_array().expect("blocks");
    assert_eq!(results[0]["tool_use_id"], "t1");
    assert_eq!(results[0].get("is_error"), None);
    assert_eq!(
        (&results[1]["tool_use_id"], &results[1]["is_error"]),
        (&json!("t2"), &json!(true))
    );
    openai_pairs_too(&chat);
    let mut trimmed = chat.messages.clone();
    trimmed.push(user("next"));
    while history::drop_oldest_turn(&mut trimmed) {}
    assert_eq!(trimmed, [user("next")], "calls and results go together");
}

fn openai_pairs_too(chat: &Chat) {
    let request = openai::encode(
        chat,
        None,
        "https://h.example/v1",
        &Quirks::default(),
        false,
    );
    let sent = body(&request.expect("a request"));
    let roles: Vec<&Value> = sent["messages"]
        .as_array()
        .expect("turns")
        .iter()
        .map(|turn| &turn["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(sent["messages"][3]["tool_call_id"], "t2");
}

pub fn b22(input: &Value) {
    let turn = &input["messages"][1];
    let call = ToolCall {
        id: "a".to_owned(),
        name: "search".to_owned(),
        arguments: json!({}),
        extra: Map::new(),
    };
    let messages = vec![
        user("q"),
        Message::Assistant {
            text: String::new(),
            reasoning: turn["reasoning_content"].as_str().map(str::to_owned),
            tool_calls: vec![call],
            extra: Map::new(),
        },
        Message::Tool {
            call_id: "a".to_owned(),
            name: "search".to_owned(),
            text: "r".to_owned(),
            is_error: false,
        },
    ];
    let chat = chat(messages);
    let replayed = |quirks: &Quirks| {
        let request = openai::encode(&chat, None, "https://api.deepseek.com", quirks, false);
        body(&request.expect("a request"))["messages"][1]
            .get("reasoning_content")
            .cloned()
    };
    let deepseek = Provider::by_id("deepseek").expect("a row").quirks();
    assert_eq!(replayed(&deepseek), Some(json!("need data")));
    assert_eq!(replayed(&Quirks::default()), None);
    rule_is_flipped_once(&deepseek);
}

fn rule_is_flipped_once(quirks: &Quirks) {
    let error = LlmError::RefusedParameter {
        name: "reasoning_content".to_owned(),
        said: Said::new(Some(400), None, "reasoning_content is not allowed"),
    };
    let Decision::RetryWith {
        quirks: flipped, ..
    } = decide(&error, 1, quirks, None, &Policy::default())
    else {
        panic!("the rule is turned round");
    };
    assert_ne!(flipped.reasoning, quirks.reasoning);
    assert_eq!(flipped.reasoning, ReasoningReplay::Never);
    assert_eq!(
        decide(&error, 1, &flipped, None, &Policy::default()),
        Decision::Stop
    );
}

pub fn x05(input: &Value) {
    let text = super::text_of(input, "text");
    assert!(!redact::scrub(&text, &[]).contains("AIzaFAKE"));
    let gemini = Provider::by_id("gemini").expect("a row");
    let request = request(gemini);
    assert!(!request.url.contains("key="), "{}", request.url);
    assert!(header_names(&request).contains(&"x-goog-api-key".to_owned()));
    let error = LlmError::StreamError {
        said: Said::new(None, None, &format!("failed at https://h/x?key={KEY}")),
        partial: format!("Authorization: Bearer {KEY}, plain {KEY}"),
    };
    let exported = error.scrubbed(&[&key()]).to_json().to_string();
    assert!(
        !exported.contains(KEY) && !redact::holds_key(&exported, &[&key()]),
        "{exported}"
    );
}

pub fn x12(_: &Value) {
    let call = ToolCall {
        id: "call_0f3b-1".to_owned(),
        name: "search".to_owned(),
        arguments: json!({}),
        extra: Map::new(),
    };
    let mistral = Provider::by_id("mistral").expect("a row");
    let result = |id: &str| Message::Tool {
        call_id: id.to_owned(),
        name: "search".to_owned(),
        text: "r".to_owned(),
        is_error: false,
    };
    let chat = chat(vec![
        user("q"),
        Message::Assistant {
            text: String::new(),
            reasoning: None,
            tool_calls: vec![
                call.clone(),
                ToolCall {
                    id: "call_0f3b-2".to_owned(),
                    ..call
                },
            ],
            extra: Map::new(),
        },
        result("call_0f3b-1"),
        result("call_0f3b-2"),
    ]);
    let quirks = mistral.quirks();
    let request = mistral.encode(&chat, None, mistral.base_url, &quirks, false);
    let sent = body(&request.expect("a request"));
    let messages = sent["messages"].as_array().expect("turns");
    let ids: Vec<&str> = (0..2)
        .map(|at| messages[1]["tool_calls"][at]["id"].as_str().expect("an id"))
        .collect();
    for (id, result) in ids.iter().zip(&messages[2..]) {
        assert!(
            id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{id}"
        );
        assert_eq!(&result["tool_call_id"], id);
    }
    assert_ne!(ids[0], ids[1]);
    let made_up = history::short_id("anything");
    assert!(made_up.len() == 9 && made_up.bytes().all(|byte| byte.is_ascii_alphanumeric()));
}
