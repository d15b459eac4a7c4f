//! Calls by file: OpenAI's batch format, one request a line, and its result file read back. A run
//! goes on until it needs an answer it does not have; what all runs wait for makes one file.

use super::CallRole;
use crate::agent::trace::{CallRecord, PromptRef};
use crate::llm::http::HttpResponse;
use crate::llm::quirks::Quirks;
use crate::llm::{Chat, LlmError, openai};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A call that waits for its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The name that [`super::journal`] gives; becomes `custom_id`.
    pub name: String,
    /// `agent` or `grader`.
    pub role: String,
    pub base_url: String,
    pub chat: Chat,
    pub prompt: PromptRef,
    /// Milliseconds since the Unix epoch.
    pub asked_ms: f64,
}

impl Pending {
    pub fn new(
        name: &str,
        role: CallRole,
        base_url: &str,
        chat: Chat,
        prompt: PromptRef,
        asked_ms: f64,
    ) -> Self {
        Self {
            name: name.to_owned(),
            role: role.as_str().to_owned(),
            base_url: base_url.to_owned(),
            chat,
            prompt,
            asked_ms,
        }
    }

    /// Where it is kept until its answer comes, beside the calls of its run.
    pub fn place(name: &str) -> String {
        format!("{name}?")
    }
}

/// Requests as JSON Lines, in the order given.
pub fn write(pending: &[Pending], quirks: &Quirks) -> Result<String, LlmError> {
    let mut out = String::new();
    for call in pending {
        let request = openai::encode(&call.chat, None, "https://api.openai.com/v1", quirks, false)?;
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let line = json!({
            "custom_id": call.name,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": body,
        });
        out.push_str(&line.to_string());
        out.push('\n');
    }
    Ok(out)
}

/// A line of a result file.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub name: String,
    /// The response as a server would have sent it.
    pub response: HttpResponse,
}

/// What a result file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    pub answered: Vec<Answered>,
    /// Sentences about lines that could not be used, by their number.
    pub problems: Vec<String>,
}

/// Whether a file looks like the results of a batch, by its first line.
pub fn is_results(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    let text = String::from_utf8_lossy(head);
    let line = text
        .trim_start_matches('\u{feff}')
        .lines()
        .next()
        .unwrap_or_default();
    line.trim_start().starts_with('{') && line.contains("\"custom_id\"")
}

/// Reads a result file, or an error file. Every line stands for itself.
pub fn read(bytes: &[u8]) -> Results {
    let text = String::from_utf8_lossy(bytes);
    let mut results = Results::default();
    for (at, line) in text.trim_start_matches('\u{feff}').split('\n').enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match answered(line) {
            Ok(answered) => results.answered.push(answered),
            Err(why) => results.problems.push(format!("line {}: {why}", at + 1)),
        }
    }
    results
}

fn answered(line: &str) -> Result<Answered, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("no JSON ({error})"))?;
    let name = value.get("custom_id").and_then(Value::as_str);
    let name = name.ok_or("it has no custom_id")?.to_owned();
    if value.get("body").is_some() && value.get("response").is_none() {
        return Err("it is a request; read the file of results that the provider made".to_owned());
    }
    let response = value.get("response").filter(|response| !response.is_null());
    let (status, body) = match response {
        Some(response) => (
            response.get("status_code").and_then(Value::as_u64),
            response.get("body").cloned().unwrap_or_default(),
        ),
        // An expired or refused request has only its error.
        None => (Some(500), json!({ "error": value.get("error") })),
    };
    Ok(Answered {
        name,
        response: HttpResponse {
            status: status
                .and_then(|status| u16::try_from(status).ok())
                .unwrap_or(200),
            body: body.to_string().into_bytes(),
            ..HttpResponse::default()
        },
    })
}

/// The record of a call whose answer has come, or why it is none.
pub fn record(
    pending: Pending,
    response: &HttpResponse,
    now_ms: f64,
) -> Result<CallRecord, LlmError> {
    let reply = openai::decode(response)?;
    Ok(CallRecord {
        role: pending.role,
        base_url: pending.base_url,
        request: pending.chat,
        reply,
        prompt: pending.prompt,
        started_ms: pending.asked_ms,
        duration_ms: (now_ms - pending.asked_ms).max(0.0),
        from_journal: false,
        retries: 0,
        sent: serde_json::Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::Message;

    fn pending(name: &str) -> Pending {
        let chat = Chat {
            model: "gpt-4.1-mini".to_owned(),
            messages: vec![Message::User {
                text: "Say “hi”,\nplease".to_owned(),
            }],
            max_tokens: Some(100),
            ..Chat::default()
        };
        let prompt = PromptRef::default();
        Pending::new(
            name,
            CallRole::Agent,
            "https://api.openai.com/v1",
            chat,
            prompt,
            5.0,
        )
    }

    #[test]
    fn a_file_has_one_request_a_line() {
        let text =
            write(&[pending("1:r/a"), pending("1:r/b")], &Quirks::default()).expect("requests");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let expected = json!({
            "custom_id": "1:r/b",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": "gpt-4.1-mini",
                "messages": [{"role": "user", "content": "Say “hi”,\nplease"}],
                "max_tokens": 100,
            },
        });
        assert_eq!((lines.len(), &lines[1]), (2, &expected));
        assert!(is_results(text.as_bytes()), "named by its ids");
        assert!(read(text.as_bytes()).problems[0].contains("it is a request"));
    }

    #[test]
    fn a_result_file_is_read_line_by_line() {
        // The shape of the provider's documentation.
        let text = concat!(
            "{\"id\":\"batch_req_1\",\"custom_id\":\"1:r/a\",\"response\":{\"status_code\":200,\"request_id\":\"q\",",
            "\"body\":{\"id\":\"c\",\"model\":\"gpt-4.1-mini\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"hi\"},\"finish_reason\":\"stop\"}],",
            "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}},\"error\":null}\r\n",
            "{\"custom_id\":\"1:r/b\",\"response\":{\"status_code\":400,\"body\":{\"error\":{\"message\":\"prompt is too long\"}}},\"error\":null}\n",
            "{\"custom_id\":\"1:r/c\",\"response\":null,\"error\":{\"code\":\"batch_expired\",\"message\":\"expired\"}}\n",
            "{\"half\n\n",
        );
        let results = read(text.as_bytes());
        assert_eq!(results.answered.len(), 3);
        assert!(results.problems.len() == 1 && results.problems[0].starts_with("line 4"));
        let call = record(pending("1:r/a"), &results.answered[0].response, 65.0).expect("a reply");
        assert_eq!((call.reply.text.as_str(), call.duration_ms), ("hi", 60.0));
        assert_eq!(call.reply.usage.and_then(|usage| usage.input), Some(9));
        let long =
            record(pending("1:r/b"), &results.answered[1].response, 65.0).expect_err("refused");
        assert_eq!(long.kind(), "context_overflow");
        let expired =
            record(pending("1:r/c"), &results.answered[2].response, 65.0).expect_err("expired");
        assert!(expired.to_string().contains("expired"), "{expired}");
    }
}
