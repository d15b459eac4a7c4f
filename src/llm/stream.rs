//! What all streamed answers have in common: events to chunks, the end, the cut, the error within.

use super::http::HttpResponse;
use super::sse::{Event, SseParser};
use super::{Delta, LlmError, Reply, Said, failure};
use serde_json::Value;

/// Puts the chunks of one dialect together.
pub trait Assemble: Default {
    /// Takes a chunk; gives what to show, or the error the chunk reports.
    fn take(&mut self, event: &str, chunk: &Value) -> Result<Vec<Delta>, LlmError>;
    /// The provider said why the model stopped.
    fn has_end(&self) -> bool;
    /// Text so far.
    fn partial(&self) -> &str;
    fn finish(self) -> Result<Reply, LlmError>;
    /// Reads an answer that came in one piece after all.
    fn decode_whole(response: &HttpResponse) -> Result<Reply, LlmError>;
}

/// Puts a streamed answer together; the result is the same for any split of the bytes.
#[derive(Debug, Default)]
pub struct Decoder<A> {
    parser: SseParser,
    assembler: A,
    /// The bytes before the first event, should it be no stream.
    head: Vec<u8>,
    seen_event: bool,
    done: bool,
    failure: Option<LlmError>,
}

impl<A: Assemble> Decoder<A> {
    pub fn new() -> Self {
        Self {
            parser: SseParser::new(),
            assembler: A::default(),
            head: Vec::new(),
            seen_event: false,
            done: false,
            failure: None,
        }
    }

    /// Pieces to show. Every call, also one that gives none, is a sign of life.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Delta> {
        if !self.seen_event {
            self.head.extend_from_slice(bytes);
        }
        let events = self.parser.push(bytes);
        events.iter().flat_map(|event| self.take(event)).collect()
    }

    /// Whether the answer is complete, so that the connection may be closed.
    pub fn is_done(&self) -> bool {
        self.done || self.failure.is_some()
    }

    /// The reply once the connection has closed; a cut stream is an error.
    pub fn finish(mut self) -> Result<Reply, LlmError> {
        if let Some(event) = std::mem::take(&mut self.parser).finish() {
            self.take_last(&event);
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if !self.seen_event && looks_whole(&self.head) {
            let text = String::from_utf8_lossy(&self.head).into_owned();
            return A::decode_whole(&HttpResponse {
                status: 200,
                body: without_comments(&text).as_bytes().to_vec(),
                ..HttpResponse::default()
            });
        }
        if !self.done && !self.assembler.has_end() {
            let partial = self.assembler.partial().to_owned();
            return Err(LlmError::StreamCut { partial });
        }
        self.assembler.finish()
    }

    /// The last event may be half: then the stream was cut, not broken.
    fn take_last(&mut self, event: &Event) {
        let whole = serde_json::from_str::<Value>(&event.data).is_ok();
        if whole || event.data.trim() == "[DONE]" {
            self.take(event);
        } else if event.data.contains('\n') {
            self.take_row(event);
        }
        self.seen_event = true;
    }

    /// Events that no blank line parts; the last of them may be half.
    fn take_row(&mut self, event: &Event) {
        let whole = |line: &&str| is_chunk(line);
        let lines: Vec<&str> = event.data.lines().take_while(whole).collect();
        for line in lines {
            self.take_line(event, line);
        }
    }

    fn take(&mut self, event: &Event) -> Vec<Delta> {
        self.seen_event = true;
        self.head = Vec::new();
        let data = event.data.trim();
        if self.is_done() || data.is_empty() {
            return Vec::new();
        }
        if data == "[DONE]" {
            self.done = true;
            return Vec::new();
        }
        let taken = match serde_json::from_str::<Value>(data) {
            Ok(chunk) => self.assembler.take(&event.name, &chunk),
            Err(_) if is_row(data) => {
                return data
                    .lines()
                    .flat_map(|line| self.take_line(event, line))
                    .collect();
            }
            Err(_) => Err(self.unreadable(data, &event.name)),
        };
        taken.unwrap_or_else(|error| {
            self.failure = Some(error);
            Vec::new()
        })
    }

    fn take_line(&mut self, event: &Event, line: &str) -> Vec<Delta> {
        self.take(&Event {
            name: event.name.clone(),
            data: line.to_owned(),
        })
    }

    fn unreadable(&self, data: &str, name: &str) -> LlmError {
        let shown = failure::details(data).message;
        let message = match name {
            "error" => shown,
            _ => format!("an event is no JSON: {shown}"),
        };
        LlmError::StreamError {
            said: Said::new(None, None, &message),
            partial: self.assembler.partial().to_owned(),
        }
    }
}

fn looks_whole(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    without_comments(&text).starts_with(['{', '[', '<', '"'])
}

/// The body behind blank lines and the comments that keep a connection alive.
fn without_comments(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
        if !rest.starts_with(':') {
            return rest;
        }
        rest = rest.find(['\n', '\r']).map_or("", |end| &rest[end..]);
    }
}

fn is_chunk(line: &str) -> bool {
    let line = line.trim();
    line == "[DONE]" || line.starts_with('{') && serde_json::from_str::<Value>(line).is_ok()
}

/// Some servers end an event with one line feed instead of two; then several arrive as one.
fn is_row(data: &str) -> bool {
    data.contains('\n') && data.lines().all(is_chunk)
}

/// The JSON of a success; `None` when a stream came although none was asked for. `error_in` finds
/// an error where a success should be.
pub fn success_body(
    response: &HttpResponse,
    error_in: impl Fn(&Value) -> Option<Value>,
) -> Result<Option<Value>, LlmError> {
    if !(200..300).contains(&response.status) {
        return Err(failure::from_response(response));
    }
    let text = response.text();
    let body = without_comments(&text);
    let stream_starts = ["data:", "event:"];
    if stream_starts.iter().any(|start| body.starts_with(start)) {
        return Ok(None);
    }
    let value = serde_json::from_str(body).map_err(|error| broken_body(body, &error))?;
    match error_in(&value) {
        Some(error) => Err(failure::from_body(&error)),
        None => Ok(Some(value)),
    }
}

fn broken_body(body: &str, error: &serde_json::Error) -> LlmError {
    let why = match body.trim().is_empty() {
        true => "the body is empty".to_owned(),
        false if error.is_eof() => {
            let partial = String::new();
            return LlmError::StreamCut { partial };
        }
        false => format!("it is no JSON but {}", failure::details(body).message),
    };
    LlmError::Unreadable { why }
}

/// JSON of a success without the fields of an answer.
pub fn unreadable(value: &Value) -> LlmError {
    let shown = failure::details(&value.to_string()).message;
    let why = format!("it has none of the expected fields: {shown}");
    LlmError::Unreadable { why }
}

/// Decodes a whole body as the stream it turned out to be.
pub fn decode_all<A: Assemble>(body: &[u8]) -> Result<Reply, LlmError> {
    let mut decoder = Decoder::<A>::new();
    decoder.push(body);
    decoder.finish()
}
