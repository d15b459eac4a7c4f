//! Why a page may not reach an address, in sentences.

use super::LlmError;

/// What to check, likeliest first, when a browser refused a call without a reason.
pub fn explain_unreachable(page_origin: &str, base_url: &str) -> Vec<String> {
    todo!()
}

/// Refuses beforehand what a browser will never send: plain http outside this machine from an
/// https page.
pub fn allowed_from(page_origin: &str, base_url: &str) -> Result<(), LlmError> {
    todo!()
}
