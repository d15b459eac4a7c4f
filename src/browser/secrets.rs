//! Keys kept on this device only when the visitor asks for it, encrypted with a passphrase:
//! PBKDF2 (SHA-256) and AES-GCM. Otherwise a key lives in memory only.

use super::error::BrowserError;
use super::store::Store;

/// Rounds of PBKDF2; OWASP asks for at least 600 000 with SHA-256.
pub const ROUNDS: u32 = 600_000;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SecretError {
    #[error("the passphrase does not fit, or the kept key is damaged")]
    WrongPassphrase,
    #[error("no key is kept on this device")]
    NothingKept,
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    #[error("browsers encrypt only on https pages and on localhost")]
    Insecure,
    #[error(transparent)]
    Browser(#[from] BrowserError),
}

/// Encrypts `secret` and keeps it under `name`.
pub async fn keep(
    _store: &Store,
    _name: &str,
    _secret: &str,
    _passphrase: &str,
) -> Result<(), SecretError> {
    todo!()
}

/// Decrypts what is kept under `name`.
pub async fn unlock(_store: &Store, _name: &str, _passphrase: &str) -> Result<String, SecretError> {
    todo!()
}

/// Whether something is kept under `name`.
pub async fn is_kept(_store: &Store, _name: &str) -> bool {
    todo!()
}

/// Forgets what is kept under `name`.
pub async fn forget(_store: &Store, _name: &str) {
    todo!()
}
