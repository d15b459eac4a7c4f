//! A response's body, piece by piece.

use super::error::{BrowserError, tried};
use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{ReadableStreamDefaultReader, Response};

/// Reads a body; dropping it lets go of the connection.
pub(super) struct Body(Option<ReadableStreamDefaultReader>);

impl Body {
    /// Takes over the body of a response; a response without one has no pieces.
    pub fn of(response: &Response) -> Result<Self, BrowserError> {
        let Some(stream) = response.body() else {
            return Ok(Self(None));
        };
        let reader =
            ReadableStreamDefaultReader::new(&stream).map_err(tried("opening the answer"))?;
        Ok(Self(Some(reader)))
    }

    /// The next piece, `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Uint8Array>, BrowserError> {
        let Some(reader) = &self.0 else {
            return Ok(None);
        };
        let read = JsFuture::from(reader.read())
            .await
            .map_err(tried("reading the answer"))?;
        let value = Reflect::get(&read, &"value".into()).map_err(tried("reading the answer"))?;
        // `value` is undefined exactly when `done` is true.
        let piece = value.dyn_into::<Uint8Array>().ok();
        if piece.is_none() {
            self.0 = None;
        }
        Ok(piece)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(reader) = self.0.take() {
            // Nobody waits for the outcome, and an unhandled rejection would look like a fault.
            let cancelled = JsFuture::from(reader.cancel());
            wasm_bindgen_futures::spawn_local(async move {
                let _ = cancelled.await;
            });
        }
    }
}
