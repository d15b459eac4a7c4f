//! OpenRouter's sign-in without a key of one's own: PKCE (RFC 7636), which a static site can do. The
//! provider sends the visitor back with a code; the code and a verifier that never left this tab
//! are exchanged for a key.

use super::http::{HttpRequest, HttpResponse};
use super::{ApiKey, LlmError, failure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The address whose key the sign-in gives.
pub const BASE_URL: &str = "https://openrouter.ai/api/v1";

/// The query parameter of ours that comes back with the code.
const STATE: &str = "signin";

/// What came back in the page's address.
#[derive(Clone, PartialEq, Eq)]
pub struct Returned {
    pub code: String,
    pub state: String,
}

/// A code is worth a key until it is used: it is never printed.
impl std::fmt::Debug for Returned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Returned([code])")
    }
}

/// Where to send the visitor. `page` is this page's address without query and fragment.
pub fn authorize_url(page: &str, state: &str, verifier: &str) -> String {
    let callback = format!("{page}?{STATE}={state}");
    format!(
        "https://openrouter.ai/auth?callback_url={}&code_challenge={}&code_challenge_method=S256",
        encoded(&callback),
        challenge(verifier)
    )
}

/// The S256 challenge of a verifier.
pub fn challenge(verifier: &str) -> String {
    base64url(&Sha256::digest(verifier.as_bytes()))
}

/// Random bytes as a verifier; 32 bytes make 43 characters, the fewest that are allowed.
pub fn verifier(random: &[u8; 32]) -> String {
    base64url(random)
}

/// Code and state out of a page's query, such as `?signin=ab&code=xyz`.
pub fn returned(query: &str) -> Option<Returned> {
    let value = |name: &str| {
        let pairs = query.trim_start_matches('?').split('&');
        let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(key, value)| *key == name && !value.is_empty())
            .map(|(_, value)| value.to_owned())
    };
    Some(Returned {
        code: value("code")?,
        state: value(STATE)?,
    })
}

/// Asks for the key.
pub fn exchange(code: &str, verifier: &str) -> HttpRequest {
    let body = json!({
        "code": code,
        "code_verifier": verifier,
        "code_challenge_method": "S256",
    });
    HttpRequest {
        method: "POST",
        url: format!("{BASE_URL}/auth/keys"),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string(),
    }
}

/// The key as text, for the one place that holds keys.
pub fn key_in(response: &HttpResponse) -> Result<(ApiKey, String), LlmError> {
    if !(200..300).contains(&response.status) {
        return Err(failure::from_response(response));
    }
    let value: Option<Value> = serde_json::from_str(&response.text()).ok();
    let text = value.as_ref().and_then(|value| value.get("key")?.as_str());
    let unreadable = || LlmError::Unreadable {
        why: "the sign-in gave no key".to_owned(),
    };
    let text = text.ok_or_else(unreadable)?;
    let key = ApiKey::new(text).ok_or_else(unreadable)?;
    Ok((key, text.to_owned()))
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=group.len() {
            let index = (bits >> (18 - 6 * digit)) & 63;
            out.push(char::from(DIGITS[index as usize]));
        }
    }
    out
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let random = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];
        let verifier = verifier(&random);
        assert_eq!(verifier, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(
            challenge(&verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn the_visitor_is_sent_away_and_comes_back() {
        let url = authorize_url("https://example.github.io/lab/", "s7", "v");
        let start = "https://openrouter.ai/auth?callback_url=https%3A%2F%2Fexample.github.io%2Flab%2F%3Fsignin%3Ds7&code_challenge=";
        assert!(url.starts_with(start), "{url}");
        let back = returned("?signin=s7&code=abc-1").expect("code and state");
        assert_eq!((back.code.as_str(), back.state.as_str()), ("abc-1", "s7"));
        assert!(!format!("{back:?}").contains("abc"));
        for other in ["", "?code=abc", "?signin=s7", "?signin=s7&code=", "?x=1"] {
            assert_eq!(returned(other), None, "{other}");
        }
    }

    #[test]
    fn the_exchange_sends_no_key_and_reads_one() {
        let request = exchange("abc", "v");
        let names: Vec<&str> = request
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["content-type"]);
        let answer = |status: u16, body: &str| HttpResponse {
            status,
            body: body.as_bytes().to_vec(),
            ..HttpResponse::default()
        };
        let (_, text) =
            key_in(&answer(200, r#"{"key":"sk-or-v1-x","user_id":"u"}"#)).expect("a key");
        assert_eq!(text, "sk-or-v1-x");
        let refused = key_in(&answer(
            403,
            r#"{"error":{"message":"Invalid code","code":403}}"#,
        ));
        assert_eq!(refused.expect_err("refused").kind(), "forbidden");
        assert_eq!(
            key_in(&answer(200, "{}")).expect_err("no key").kind(),
            "unreadable"
        );
    }
}
