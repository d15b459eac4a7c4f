//! Leaves for OpenRouter's sign-in and comes back. State and verifier wait in the session storage of
//! this tab; the code leaves the address bar before anything else happens.

use super::abort::Abort;
use super::error::{BrowserError, tried};
use super::hash::hex;
use super::page;
use super::transport::Transport;
use crate::llm::openrouter::{self, Returned};
use crate::llm::{ApiKey, LlmError};
use wasm_bindgen::JsValue;

const STATE: &str = "iba-lab.signin-state";
const VERIFIER: &str = "iba-lab.signin-verifier";

/// Why a sign-in gave no key.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error("the sign-in was not begun in this tab, so its code is not used")]
    Stranger,
    #[error(transparent)]
    Llm(#[from] LlmError),
    #[error(transparent)]
    Browser(#[from] BrowserError),
}

/// Sends the visitor to the provider; the page is left.
pub fn leave() -> Result<(), BrowserError> {
    let signing = || tried("signing in");
    let verifier = openrouter::verifier(&random()?);
    let state = hex(&random::<16>()?);
    let storage = page::window().session_storage().map_err(signing())?;
    let storage = storage.ok_or_else(|| {
        BrowserError::new("signing in", "this browser keeps nothing for the way back")
    })?;
    storage.set_item(STATE, &state).map_err(signing())?;
    storage.set_item(VERIFIER, &verifier).map_err(signing())?;
    let url = openrouter::authorize_url(&here()?, &state, &verifier);
    page::window().location().set_href(&url).map_err(signing())
}

/// What the provider sent back, taken out of the address at once; `None` on any other visit.
pub fn arrived() -> Option<Returned> {
    let window = page::window();
    let returned = openrouter::returned(&window.location().search().ok()?)?;
    let (here, history) = (here().ok()?, window.history().ok()?);
    // Without it the code would stay in the history; it is of use only with the verifier.
    let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("{here}#/settings")));
    Some(returned)
}

/// Exchanges the code for a key, once.
pub async fn finish(
    transport: &Transport,
    returned: Returned,
) -> Result<(ApiKey, String), SignInError> {
    let storage = page::window().session_storage().ok().flatten();
    let take = |name: &str| {
        let storage = storage.as_ref()?;
        let value = storage.get_item(name).ok().flatten();
        let _ = storage.remove_item(name); // a second use is refused by the provider as well
        value
    };
    let (state, verifier) = (take(STATE), take(VERIFIER));
    let (Some(state), Some(verifier)) = (state, verifier) else {
        return Err(SignInError::Stranger);
    };
    if state != returned.state {
        return Err(SignInError::Stranger);
    }
    let request = openrouter::exchange(&returned.code, &verifier);
    let response = transport
        .plain(openrouter::BASE_URL, &request, &Abort::new())
        .await?;
    Ok(openrouter::key_in(&response)?)
}

/// This page's address without query and fragment.
fn here() -> Result<String, BrowserError> {
    let location = page::window().location();
    let origin = location
        .origin()
        .map_err(tried("reading the page's address"))?;
    let path = location
        .pathname()
        .map_err(tried("reading the page's address"))?;
    Ok(format!("{origin}{path}"))
}

fn random<const N: usize>() -> Result<[u8; N], BrowserError> {
    let mut bytes = [0; N];
    let crypto = page::window().crypto();
    let crypto = crypto.map_err(tried("asking for random numbers"))?;
    crypto
        .get_random_values_with_u8_array(&mut bytes)
        .map_err(tried("asking for random numbers"))?;
    Ok(bytes)
}
