//! What the browser refused, with the operation that was tried.

use wasm_bindgen::{JsCast, JsValue};

/// A browser interface threw or rejected. Other errors of this module's neighbours wrap it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{tried} did not work: {cause}")]
pub struct BrowserError {
    /// What was tried, as a noun phrase: "opening the database".
    pub tried: String,
    /// Name of the exception (`QuotaExceededError`), empty when a bare value was thrown.
    pub name: String,
    /// The browser's own words.
    pub cause: String,
}

impl BrowserError {
    /// An error of our own in the same shape.
    pub fn new(tried: impl Into<String>, cause: impl Into<String>) -> Self {
        Self {
            tried: tried.into(),
            name: String::new(),
            cause: cause.into(),
        }
    }

    /// Names the operation behind a thrown value.
    pub fn from_js(tried: impl Into<String>, thrown: &JsValue) -> Self {
        let (name, cause) = describe(thrown);
        Self {
            tried: tried.into(),
            name,
            cause,
        }
    }
}

/// For `map_err`: `promise.await.map_err(tried("reading the file"))`.
pub fn tried(operation: impl Into<String>) -> impl FnOnce(JsValue) -> BrowserError {
    move |thrown| BrowserError::from_js(operation, &thrown)
}

/// Name and text of a thrown value; a `DOMException` is an `Error` as well.
fn describe(thrown: &JsValue) -> (String, String) {
    if let Some(error) = thrown.dyn_ref::<js_sys::Error>() {
        return (String::from(error.name()), String::from(error.message()));
    }
    let text = thrown.as_string().unwrap_or_else(|| format!("{thrown:?}"));
    (String::new(), text)
}
