//! Keys kept on this device only when the visitor asks for it, encrypted with a passphrase:
//! PBKDF2 (SHA-256) and AES-GCM. Otherwise a key lives in memory only.
//!
//! `name` is the endpoint's address: it is authenticated along with the key, so that a kept key
//! cannot be moved to another endpoint.

use super::error::{BrowserError, tried};
use super::hash::{hex, subtle, unhex};
use super::page;
use super::store::{Drawer, Store};
use js_sys::{Array, Object, Promise, Reflect, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{CryptoKey, SubtleCrypto};

/// Rounds of PBKDF2; OWASP asks for at least 600 000 with SHA-256.
pub const ROUNDS: u32 = 600_000;
const SALT_BYTES: usize = 16;
/// What AES-GCM is specified for.
const NONCE_BYTES: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("the passphrase does not fit, or the kept key is damaged")]
    WrongPassphrase,
    #[error("no key is kept on this device for this endpoint")]
    NothingKept,
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    #[error(
        "browsers encrypt only on https pages and on localhost, so the key can only be kept until this tab closes"
    )]
    Insecure,
    #[error(transparent)]
    Browser(#[from] BrowserError),
}

/// As stored; bytes in hex.
#[derive(Serialize, Deserialize)]
struct Sealed {
    version: u32,
    rounds: u32,
    salt: String,
    nonce: String,
    data: String,
}

/// Encrypts `secret` and keeps it under `name`.
pub async fn keep(
    store: &Store,
    name: &str,
    secret: &str,
    passphrase: &str,
) -> Result<(), SecretError> {
    let subtle = subtle().ok_or(SecretError::Insecure)?;
    let (salt, nonce) = (random::<SALT_BYTES>()?, random::<NONCE_BYTES>()?);
    let key = derive(&subtle, passphrase, &salt, ROUNDS).await?;
    let algorithm = aes(&nonce, name)?;
    let plain = Uint8Array::from(secret.as_bytes());
    let data = wait(subtle.encrypt_with_object_and_js_u8_array(&algorithm, &key, &plain)).await?;
    let sealed = Sealed {
        version: 1,
        rounds: ROUNDS,
        salt: hex(&salt),
        nonce: hex(&nonce),
        data: hex(&Uint8Array::new(&data).to_vec()),
    };
    let text = serde_json::to_string(&sealed)
        .map_err(|error| BrowserError::new("keeping the key", error.to_string()))?;
    store.put(Drawer::Settings, &place(name), text).await;
    Ok(())
}

/// Decrypts what is kept under `name`.
pub async fn unlock(store: &Store, name: &str, passphrase: &str) -> Result<String, SecretError> {
    let subtle = subtle().ok_or(SecretError::Insecure)?;
    let text = store
        .get(Drawer::Settings, &place(name))
        .await
        .ok_or(SecretError::NothingKept)?;
    let sealed: Sealed = serde_json::from_str(&text).map_err(|_| SecretError::WrongPassphrase)?;
    let bytes = |text: &str| unhex(text).ok_or(SecretError::WrongPassphrase);
    if sealed.version != 1 {
        return Err(SecretError::WrongPassphrase);
    }
    let key = derive(&subtle, passphrase, &bytes(&sealed.salt)?, sealed.rounds).await?;
    let algorithm = aes(&bytes(&sealed.nonce)?, name)?;
    let data = Uint8Array::from(bytes(&sealed.data)?.as_slice());
    let plain = wait(subtle.decrypt_with_object_and_js_u8_array(&algorithm, &key, &data)).await;
    let plain = plain.map_err(|_| SecretError::WrongPassphrase)?;
    String::from_utf8(Uint8Array::new(&plain).to_vec()).map_err(|_| SecretError::WrongPassphrase)
}

/// Whether something is kept under `name`.
pub async fn is_kept(store: &Store, name: &str) -> bool {
    store.get(Drawer::Settings, &place(name)).await.is_some()
}

/// Forgets what is kept under `name`.
pub async fn forget(store: &Store, name: &str) {
    store.delete(Drawer::Settings, &place(name)).await;
}

/// Forgets every kept key.
pub async fn forget_all(store: &Store) {
    store.delete_prefix(Drawer::Settings, &place("")).await;
}

fn place(name: &str) -> String {
    format!("key {name}")
}

async fn derive(
    subtle: &SubtleCrypto,
    passphrase: &str,
    salt: &[u8],
    rounds: u32,
) -> Result<CryptoKey, SecretError> {
    if passphrase.is_empty() {
        return Err(SecretError::EmptyPassphrase);
    }
    let typed = Uint8Array::from(passphrase.as_bytes());
    let importing =
        subtle.import_key_with_str("raw", &typed, "PBKDF2", false, &uses(&["deriveKey"]));
    let typed: CryptoKey = wait(importing).await?.unchecked_into();
    let stretch = object(&[
        ("name", "PBKDF2".into()),
        ("hash", "SHA-256".into()),
        ("salt", Uint8Array::from(salt).into()),
        ("iterations", rounds.into()),
    ])?;
    let kind = object(&[("name", "AES-GCM".into()), ("length", 256.into())])?;
    let uses = uses(&["encrypt", "decrypt"]);
    let deriving = subtle.derive_key_with_object_and_object(&stretch, &typed, &kind, false, &uses);
    Ok(wait(deriving).await?.unchecked_into())
}

fn aes(nonce: &[u8], name: &str) -> Result<Object, BrowserError> {
    object(&[
        ("name", "AES-GCM".into()),
        ("iv", Uint8Array::from(nonce).into()),
        ("additionalData", Uint8Array::from(name.as_bytes()).into()),
    ])
}

fn random<const N: usize>() -> Result<[u8; N], BrowserError> {
    let mut bytes = [0; N];
    let crypto = page::window()
        .crypto()
        .map_err(tried("asking for random numbers"))?;
    crypto
        .get_random_values_with_u8_array(&mut bytes)
        .map_err(tried("asking for random numbers"))?;
    Ok(bytes)
}

fn object(fields: &[(&str, JsValue)]) -> Result<Object, BrowserError> {
    let object = Object::new();
    for (name, value) in fields {
        Reflect::set(&object, &(*name).into(), value).map_err(tried("preparing the encryption"))?;
    }
    Ok(object)
}

fn uses(names: &[&str]) -> Array {
    names.iter().map(|name| JsValue::from_str(name)).collect()
}

async fn wait(started: Result<Promise, JsValue>) -> Result<JsValue, BrowserError> {
    let promise = started.map_err(tried("encrypting"))?;
    JsFuture::from(promise).await.map_err(tried("encrypting"))
}
