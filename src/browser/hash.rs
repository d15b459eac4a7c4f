//! SHA-256 of downloads: by the browser where it may, else in slices of our own.

use super::clock::Pace;
use super::error::{BrowserError, tried};
use super::page;
use js_sys::Uint8Array;
use sha2::{Digest, Sha256};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::SubtleCrypto;

/// Bytes hashed between two breaths: about 2 ms of wasm.
const SLICE: u32 = 256 * 1024;

/// Lower-case hex SHA-256. Browsers offer theirs only to secure pages (https, localhost); on a
/// plain-http page in a local network ours takes over.
pub async fn sha256_hex(bytes: &Uint8Array) -> String {
    if let Some(subtle) = subtle()
        && let Ok(hex) = digest(&subtle, bytes).await
    {
        return hex;
    }
    let mut pace = Pace::new();
    let mut hasher = Sha256::new();
    for start in (0..bytes.length()).step_by(SLICE as usize) {
        let end = bytes.length().min(start + SLICE);
        hasher.update(bytes.subarray(start, end).to_vec());
        pace.breathe().await;
    }
    hex(&hasher.finalize())
}

/// The browser's cryptography, absent on insecure pages.
pub(super) fn subtle() -> Option<SubtleCrypto> {
    let crypto = page::window().crypto().ok()?;
    let subtle: JsValue = crypto.subtle().into();
    subtle.is_object().then(|| subtle.unchecked_into())
}

async fn digest(subtle: &SubtleCrypto, bytes: &Uint8Array) -> Result<String, BrowserError> {
    let promise = subtle
        .digest_with_str_and_js_u8_array("SHA-256", bytes)
        .map_err(tried("hashing"))?;
    let buffer = JsFuture::from(promise).await.map_err(tried("hashing"))?;
    Ok(hex(&Uint8Array::new(&buffer).to_vec()))
}

/// Lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of lower-case hex.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits
            .chunks_exact(2)
            .map(|pair| (pair[0] * 16 + pair[1]) as u8)
            .collect(),
    )
}
