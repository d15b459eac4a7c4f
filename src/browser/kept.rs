//! The browser's Cache interface as a map from name to bytes. Where it is missing (plain-http
//! pages, some private windows) or full, nothing is kept and everything else goes on.

use super::error::{BrowserError, tried};
use super::page;
use js_sys::{Promise, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Cache, CacheStorage, Response};

const NAME: &str = "iba-lab-files-1";

/// Handle.
#[derive(Clone, Copy, Default)]
pub(super) struct Kept;

impl Kept {
    /// The name of a file that is known by its hash; the host exists nowhere (RFC 2606).
    pub fn key(sha256: &str) -> String {
        format!("https://files.invalid/sha256/{sha256}")
    }

    /// The name of something made here; `name` may hold any character.
    pub fn made(name: &str) -> String {
        format!(
            "https://files.invalid/made/{}",
            js_sys::encode_uri_component(name)
        )
    }

    pub async fn get(&self, key: &str) -> Option<Uint8Array> {
        read(key).await.ok().flatten()
    }

    pub async fn put(&self, key: &str, bytes: &Uint8Array) {
        let _ = write(key, bytes).await; // a full disk costs the next visit time, not this one its file
    }

    pub async fn delete(&self, key: &str) {
        if let Ok(cache) = open().await {
            let _ = wait(cache.delete_with_str(key)).await;
        }
    }

    pub async fn clear(&self) {
        if let Some(storage) = storage() {
            let _ = wait(storage.delete(NAME)).await;
        }
    }
}

async fn read(key: &str) -> Result<Option<Uint8Array>, BrowserError> {
    let found = wait(open().await?.match_with_str(key)).await?;
    let Ok(response) = found.dyn_into::<Response>() else {
        return Ok(None);
    };
    let buffer = wait(
        response
            .array_buffer()
            .map_err(tried("reading a kept file"))?,
    )
    .await?;
    Ok(Some(Uint8Array::new(&buffer)))
}

async fn write(key: &str, bytes: &Uint8Array) -> Result<(), BrowserError> {
    let response =
        Response::new_with_opt_js_u8_array(Some(bytes)).map_err(tried("keeping a file"))?;
    wait(open().await?.put_with_str(key, &response))
        .await
        .map(drop)
}

async fn open() -> Result<Cache, BrowserError> {
    let missing = || BrowserError::new("opening the file cache", "this browser offers none here");
    let cache = wait(storage().ok_or_else(missing)?.open(NAME)).await?;
    Ok(cache.unchecked_into())
}

/// `undefined` on insecure pages, whatever the binding's type says.
fn storage() -> Option<CacheStorage> {
    let storage: JsValue = page::window().caches().ok()?.into();
    storage.is_object().then(|| storage.unchecked_into())
}

async fn wait(promise: Promise) -> Result<JsValue, BrowserError> {
    JsFuture::from(promise)
        .await
        .map_err(tried("using the file cache"))
}
