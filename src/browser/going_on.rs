//! Which runs go on right now, in any tab of this site. The browser's locks tell it truly: they
//! end with their tab, however it ends. Without them (plain-http pages) no run looks busy.

use super::locks::{Lock, manager};
use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};

const PREFIX: &str = "iba-lab run ";

/// Says that a run goes on, until it is dropped.
pub(super) struct GoingOn {
    _lock: Lock,
}

impl GoingOn {
    /// Marks a run; a run that is marked elsewhere stays so.
    pub fn mark(run_id: &str) -> Self {
        let (_lock, kept) = Lock::new();
        let callback = Closure::once_into_js(move || kept);
        let _ = request(&format!("{PREFIX}{run_id}"), callback); // no locks, no marks
        Self { _lock }
    }
}

/// Ids of the runs that are marked.
pub(super) async fn going_on() -> Vec<String> {
    names().await.unwrap_or_default()
}

fn request(name: &str, callback: JsValue) -> Result<(), JsValue> {
    let locks = manager()?;
    let request: Function = Reflect::get(&locks, &"request".into())?.dyn_into()?;
    let promise: Promise = request.call2(&locks, &name.into(), &callback)?.dyn_into()?;
    spawn_local(async move {
        let _ = JsFuture::from(promise).await; // ends with the lock
    });
    Ok(())
}

async fn names() -> Result<Vec<String>, JsValue> {
    let locks = manager()?;
    let query: Function = Reflect::get(&locks, &"query".into())?.dyn_into()?;
    let snapshot = JsFuture::from(query.call0(&locks)?.dyn_into::<Promise>()?).await?;
    let held: Array = Reflect::get(&snapshot, &"held".into())?.dyn_into()?;
    let name = |lock: JsValue| Reflect::get(&lock, &"name".into()).ok()?.as_string();
    let ours = |name: String| Some(name.strip_prefix(PREFIX)?.to_owned());
    Ok(held.iter().filter_map(name).filter_map(ours).collect())
}
