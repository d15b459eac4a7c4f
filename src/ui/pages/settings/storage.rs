//! What this browser keeps, and how to be rid of it.

use crate::browser::{files, secrets};
use crate::ui::files::ask;
use crate::ui::parts::{Dialog, Problem};
use crate::ui::state::lab;
use crate::words::size;
use js_sys::Reflect;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

#[component]
pub fn Storage() -> impl IntoView {
    let lab = lab();
    let cleared = RwSignal::new(0_u32);
    let asking = RwSignal::new(false);
    let used = LocalResource::new(move || {
        cleared.track();
        estimate()
    });
    let lasting = move || {
        lab.edge
            .with(|edge| edge.as_ref().is_none_or(|edge| edge.store.is_lasting()))
    };
    let words = move || match used.get().flatten() {
        Some((used, quota)) => format!(
            "{} used of {} that the browser allows.",
            size(used),
            size(quota)
        ),
        None => "This browser does not say how much is used.".to_owned(),
    };
    let runs = move || match lab.runner.records.with(Vec::len) {
        0 => "No runs are kept.".to_owned(),
        1 => "One run is kept.".to_owned(),
        many => format!("{many} runs are kept."),
    };
    let clear = move |_| {
        asking.set(false);
        spawn_local(async move {
            lab.clear_local_data().await;
            lab.notices.good("Local data is cleared");
            let _ = cleared.try_update(|cleared| *cleared += 1); // the page may be gone by now
        });
    };
    let back_up = move |_| {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        spawn_local(async move {
            let text = edge.runs.backup().await.write();
            let saved = files::download(
                "iba-lab-backup.json",
                "application/json",
                &[text.as_bytes()],
            );
            if let Err(error) = saved {
                lab.notices.bad(Problem::new(&error, None::<&str>));
            }
        });
    };
    let restore = move |_| {
        ask(false, move |picked| lab.opened.open(lab, picked));
    };
    let forget_keys = move |_| {
        lab.keys.forget_all();
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        spawn_local(async move {
            secrets::forget_all(&edge.store).await;
            lab.notices
                .good("All keys are forgotten, in this tab and on this device");
        });
    };
    let held = move || match lab.keys.count() {
        0 => "No key is held in this tab.".to_owned(),
        1 => "One key is held in this tab.".to_owned(),
        many => format!("{many} keys are held in this tab."),
    };
    view! {
        <section class="block" aria-labelledby="storage-head">
            <h2 id="storage-head">"Local data"</h2>
            <div class="card row">
                <div class="grow">
                    <p>{held}</p>
                    <p class="muted small">"Keys stay in memory. Those you chose to keep on this device are encrypted with your passphrase. Files and copied texts are searched for keys in use before they leave the page."</p>
                </div>
                <button type="button" class="button" on:click=forget_keys>"Forget all keys"</button>
            </div>
            <div class="card stack">
                <div>
                    <p><Suspense fallback=|| "…">{words}</Suspense>" "{runs}</p>
                    <p class="muted small">"Runs, their journal of answered calls, files of datasets and models for the next visit. Browsers may drop them when space is short: export what matters."</p>
                    {move || (!lasting()).then(|| view! { <p class="small">"This window keeps nothing: all of it goes when the tab is closed."</p> })}
                </div>
                <div class="actions">
                    <button type="button" class="button" on:click=back_up>"Download backup"</button>
                    <button type="button" class="button" on:click=restore>"Restore backup …"</button>
                    <button type="button" class="button danger" on:click=move |_| asking.set(true)>"Clear local data"</button>
                </div>
            </div>
            <Dialog title="Clear local data?" open=asking>
                <p>"Runs, kept keys, cached files and settings of this site are removed from this browser. This cannot be undone."</p>
                <div class="actions">
                    <button type="button" class="button danger" on:click=clear>"Clear everything"</button>
                    <button type="button" class="button" on:click=move |_| asking.set(false)>"Keep it"</button>
                </div>
            </Dialog>
        </section>
    }
}

/// Bytes used and allowed, where the browser says so.
async fn estimate() -> Option<(u64, u64)> {
    let storage = window().navigator().storage();
    let estimate = JsFuture::from(storage.estimate().ok()?).await.ok()?;
    let number = |name: &str| Some(Reflect::get(&estimate, &name.into()).ok()?.as_f64()? as u64);
    Some((number("usage")?, number("quota")?))
}
