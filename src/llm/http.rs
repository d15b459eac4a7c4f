//! Requests and responses as bytes and text; nothing here opens a connection.

use super::redact;
use serde_json::{Map, Value};
use std::fmt;

/// What the transport has to send. Holds the key in a header: never log the fields, only `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET` or `POST`.
    pub method: &'static str,
    pub url: String,
    /// All headers to send and no others: one more can fail a preflight.
    pub headers: Vec<(String, String)>,
    /// JSON; empty for `GET`.
    pub body: String,
}

impl HttpRequest {
    /// The parameters as really sent, without messages, tools and schemas: for the result file.
    pub fn parameters(&self) -> Map<String, Value> {
        const LONG: [&str; 5] = [
            "messages",
            "tools",
            "contents",
            "system",
            "systemInstruction",
        ];
        let body = serde_json::from_str(&self.body).unwrap_or_default();
        let Value::Object(mut body) = body else {
            return Map::new();
        };
        body.retain(|name, _| !LONG.contains(&name.as_str()));
        body
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &redact::scrub(&self.url, &[]))
            .field("header_names", &names)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// What came back, complete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Milliseconds since the Unix epoch, to turn dates into waits.
    pub received_ms: Option<f64>,
}

impl HttpResponse {
    /// The first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let same = |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(same)
            .map(|(_, value)| value.trim())
    }

    /// The body as text; broken UTF-8 shows as U+FFFD.
    pub fn text(&self) -> String {
        let bytes = self
            .body
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(&self.body);
        String::from_utf8_lossy(bytes).into_owned()
    }
}
