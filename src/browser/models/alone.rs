//! One tab at a time changes the files of a model. The browser's locks hold over all tabs and end with
//! theirs; without them (plain-http pages) a page minds only itself.

use super::ModelError;
use crate::browser::abort::Abort;
use crate::browser::locks::Lock;

/// Keeps others away until it is dropped.
pub struct Alone {
    _lock: Lock,
    /// Whether somebody else was at it first.
    pub waited: bool,
}

/// Waits until nobody else is at the model `id`; `tell` is called if somebody is.
pub async fn alone(id: &str, tell: impl FnOnce(), abort: &Abort) -> Result<Alone, ModelError> {
    let name = format!("iba-lab model {id}");
    if let Some(lock) = Lock::if_free(&name).await {
        return Ok(Alone {
            _lock: lock,
            waited: false,
        });
    }
    tell();
    let lock = Lock::once_free(&name, abort).await;
    Ok(Alone {
        _lock: lock.ok_or(ModelError::Cancelled)?,
        waited: true,
    })
}
