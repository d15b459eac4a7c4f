//! From what a server answered to a typed error.

mod classify;
mod details;
#[cfg(test)]
mod tests;

use super::http::HttpResponse;
use super::{LlmError, wait};
use classify::{classify, said};
pub use details::details;
use details::{Details, details_of, shorten};
use serde_json::Value;

/// The error of a response that is no success.
pub fn from_response(response: &HttpResponse) -> LlmError {
    let body = response.text();
    let details = details(&body);
    classify(
        Some(response.status),
        details,
        &body,
        wait::asked_seconds(response),
    )
}

/// The error of an error body that came with a status of success.
pub fn from_body(value: &Value) -> LlmError {
    let (status, details, body) = parts(value);
    classify(status, details, &body, wait::in_body(&body))
}

/// The error of an error object inside a stream, after `partial`.
pub fn from_stream(value: &Value, partial: &str) -> LlmError {
    let (status, details, body) = parts(value);
    let said = said(status, &details);
    match classify(status, details, &body, wait::in_body(&body)) {
        LlmError::Server { .. }
        | LlmError::BadRequest(_)
        | LlmError::WrongAddress(_)
        | LlmError::TooLarge(_)
        | LlmError::Forbidden(_) => LlmError::StreamError {
            said,
            partial: partial.to_owned(),
        },
        other => other,
    }
}

fn parts(value: &Value) -> (Option<u16>, Details, String) {
    let body = value.to_string();
    let details = details_of(value, 0).unwrap_or_else(|| Details {
        message: shorten(&body),
        ..Details::default()
    });
    let status = details.code.as_deref().and_then(status_in_code);
    (status, details, body)
}

fn status_in_code(code: &str) -> Option<u16> {
    code.parse().ok().filter(|code| (400..600).contains(code))
}
