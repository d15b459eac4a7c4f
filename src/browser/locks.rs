//! The browser's locks: who works on what, in any tab of this site. They end with their tab, however
//! it ends. Where there are none (plain-http pages) each tab knows of itself only.

use super::page;
use futures::channel::oneshot;
use futures::future::{Either, select};
use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// A lock, held until it is dropped.
pub(super) struct Lock {
    /// Ends the promise that keeps it.
    release: Option<Function>,
}

impl Lock {
    /// A lock whose promise still has to be given to the browser.
    pub fn new() -> (Self, Promise) {
        let mut release = None;
        let kept = Promise::new(&mut |resolve, _| release = Some(resolve));
        (Self { release }, kept)
    }

    /// Takes the lock of that name, or none if somebody holds it.
    pub async fn if_free(name: &str) -> Option<Self> {
        let (lock, kept) = Self::new();
        let (told, free) = oneshot::channel();
        let callback = Closure::once_into_js(move |granted: JsValue| -> JsValue {
            // Nobody hears it who no longer waits; the lock went with them.
            let _ = told.send(!granted.is_null());
            match granted.is_null() {
                true => JsValue::UNDEFINED,
                false => kept.into(),
            }
        });
        let Ok(ended) = request_if_available(name, &callback) else {
            return Some(lock);
        };
        match select(free, JsFuture::from(ended)).await {
            Either::Left((Ok(false), _)) => None,
            // A browser that refuses to say has nobody else in it that could be told apart.
            _ => Some(lock),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(release) = &self.release {
            let _ = release.call0(&JsValue::NULL); // resolving a promise cannot throw
        }
    }
}

fn request_if_available(name: &str, callback: &JsValue) -> Result<Promise, JsValue> {
    let options = Object::new();
    Reflect::set(&options, &"ifAvailable".into(), &JsValue::TRUE)?;
    let locks = manager()?;
    let request: Function = Reflect::get(&locks, &"request".into())?.dyn_into()?;
    request
        .call3(&locks, &name.into(), &options, callback)?
        .dyn_into()
}

/// `navigator.locks`; undefined on insecure pages.
pub(super) fn manager() -> Result<JsValue, JsValue> {
    Reflect::get(page::window().navigator().as_ref(), &"locks".into())
}
