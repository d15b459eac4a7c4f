//! One tab at a time changes the files of a model. The browser's locks hold over all tabs and end with
//! theirs; without them (plain-http pages) a page minds only itself.

use super::ModelError;
use crate::browser::abort::Abort;
use crate::browser::locks::manager;
use futures::channel::oneshot;
use futures::future::{Either, select};
use js_sys::{Function, Object, Promise, Reflect};
use std::pin::pin;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};

const PREFIX: &str = "iba-lab model ";

/// Keeps others away until it is dropped.
pub struct Alone {
    /// Ends the promise that keeps the lock.
    release: Option<Function>,
    /// Whether somebody else was at it first.
    pub waited: bool,
}

impl Drop for Alone {
    fn drop(&mut self) {
        if let Some(release) = &self.release {
            let _ = release.call0(&JsValue::NULL); // resolving a promise cannot throw
        }
    }
}

/// Waits until nobody else is at the model `id`; `tell` is called if somebody is.
pub async fn alone(id: &str, tell: impl FnOnce(), abort: &Abort) -> Result<Alone, ModelError> {
    let name = format!("{PREFIX}{id}");
    let at_once = [("ifAvailable", JsValue::TRUE)];
    match request(&name, &at_once) {
        Err(_) => return Ok(free(false)),
        Ok(granted) => match granted.await {
            Ok(Some(release)) => {
                return Ok(Alone {
                    release: Some(release),
                    waited: false,
                });
            }
            Ok(None) => tell(),
            Err(_) => return Ok(free(false)),
        },
    }
    let signal = [("signal", abort.signal().into())];
    let granted = request(&name, &signal).map_err(|_| ModelError::Cancelled)?;
    match select(pin!(granted), pin!(abort.aborted())).await {
        Either::Left((Ok(Some(release)), _)) => Ok(Alone {
            release: Some(release),
            waited: true,
        }),
        _ if abort.is_aborted() => Err(ModelError::Cancelled),
        _ => Ok(free(true)),
    }
}

fn free(waited: bool) -> Alone {
    Alone {
        release: None,
        waited,
    }
}

/// Asks for a lock. What comes ends it; nothing comes when somebody else has it and it was asked for
/// at once.
fn request(
    name: &str,
    options: &[(&str, JsValue)],
) -> Result<oneshot::Receiver<Option<Function>>, JsValue> {
    let locks = manager()?;
    let request: Function = Reflect::get(&locks, &"request".into())?.dyn_into()?;
    let wanted = Object::new();
    for (name, value) in options {
        Reflect::set(&wanted, &(*name).into(), value)?;
    }
    let (tell, granted) = oneshot::channel();
    let callback = Closure::once_into_js(move |lock: JsValue| -> JsValue {
        if lock.is_null() {
            let _ = tell.send(None); // nobody waits any more
            return JsValue::UNDEFINED;
        }
        let mut release = None;
        let kept = Promise::new(&mut |resolve, _| release = Some(resolve));
        match tell.send(release) {
            Ok(()) => kept.into(),
            Err(_) => JsValue::UNDEFINED,
        }
    });
    let promise = request.call3(&locks, &name.into(), &wanted, &callback)?;
    let promise: Promise = promise.dyn_into()?;
    spawn_local(async move {
        let _ = JsFuture::from(promise).await; // ends with the lock, or with the wish for it
    });
    Ok(granted)
}
