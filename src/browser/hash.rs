//! SHA-256 of downloads: by the browser where it may, else in slices of our own.

use super::clock::Pace;
use crate::browser::error::{BrowserError, tried};
use sha2::{Digest, Sha256};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::SubtleCrypto;

/// Bytes hashed between two breaths: about 2 ms of wasm.
const SLICE: usize = 256 * 1024;

/// Lower-case hex SHA-256. Browsers offer their own only to secure pages (https, localhost); on a
/// plain-http page in a local network ours takes over.
pub async fn sha256_hex(bytes: &[u8]) -> String {
    if let Some(subtle) = subtle()
        && let Ok(hex) = digest(&subtle, bytes).await
    {
        return hex;
    }
    let mut pace = Pace::new();
    let mut hasher = Sha256::new();
    for slice in bytes.chunks(SLICE) {
        hasher.update(slice);
        pace.breathe().await;
    }
    hex(&hasher.finalize())
}

/// The browser's cryptography, absent on insecure pages.
pub(super) fn subtle() -> Option<SubtleCrypto> {
    let crypto = web_sys::window()?.crypto().ok()?;
    let subtle: JsValue = crypto.subtle().into();
    subtle.is_object().then(|| subtle.unchecked_into())
}

async fn digest(subtle: &SubtleCrypto, bytes: &[u8]) -> Result<String, BrowserError> {
    let promise = subtle
        .digest_with_str_and_js_u8_array("SHA-256", &js_sys::Uint8Array::from(bytes))
        .map_err(tried("hashing"))?;
    let buffer = JsFuture::from(promise).await.map_err(tried("hashing"))?;
    Ok(hex(&js_sys::Uint8Array::new(&buffer).to_vec()))
}

/// Lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
