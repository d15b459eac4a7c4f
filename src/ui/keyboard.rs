//! Keys that work on every page, and the list of all keys.

use super::parts::Dialog;
use super::state::{Lab, lab};
use crate::route::Route;
use leptos::prelude::*;
use std::time::Duration;
use wasm_bindgen::JsCast;

/// How often, and how many times, to look whether a page just gone to has drawn itself: its part
/// of the program may have to load.
const LOOK_AGAIN: Duration = Duration::from_millis(60);
const LOOKS: u32 = 80;

/// Keys that work on every page. Typing and dialogs come first.
pub fn on_key(lab: Lab, ev: &web_sys::KeyboardEvent) {
    if busy(ev) {
        return;
    }
    match ev.key().as_str() {
        "?" => lab.help.set(true),
        // The instance view has a search of its own.
        "/" if lab
            .route
            .with_untracked(|route| !matches!(route, Route::Instance { .. })) =>
        {
            ev.prevent_default();
            if !focus("[data-search]") {
                lab.go(&Route::instances(lab.data.key()));
                focus_when_drawn("[data-search]", LOOKS);
            }
        }
        _ => {}
    }
}

/// Whether a key press belongs to a control, a dialog or the browser.
pub fn busy(ev: &web_sys::KeyboardEvent) -> bool {
    let typing = |element: web_sys::Element| {
        element
            .closest("input, textarea, select, [contenteditable], dialog")
            .ok()
            .flatten()
            .is_some()
    };
    let target = ev
        .target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    ev.default_prevented()
        || ev.ctrl_key()
        || ev.meta_key()
        || ev.alt_key()
        || target.is_some_and(typing)
}

/// Focuses the first element a selector finds; whether there was one.
pub fn focus(selector: &str) -> bool {
    let found = document().query_selector(selector).ok().flatten();
    found
        .and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok())
        .is_some_and(|element| element.focus().is_ok())
}

fn focus_when_drawn(selector: &'static str, looks: u32) {
    if looks > 0 && !focus(selector) {
        set_timeout(move || focus_when_drawn(selector, looks - 1), LOOK_AGAIN);
    }
}

/// Every key there is.
#[component]
pub fn Help() -> impl IntoView {
    let lab = lab();
    let keys = [
        (
            "Everywhere",
            &[
                ("?", "This list"),
                ("/", "Search instances"),
                ("Esc", "Close a dialog, clear the search"),
            ][..],
        ),
        (
            "Instances",
            &[
                ("j  k", "Next, previous row"),
                ("Enter", "Open the row"),
                ("g  G", "First, last row"),
            ][..],
        ),
        ("One instance", super::pages::INSTANCE_KEYS),
    ];
    let table = move || {
        keys.iter()
            .map(|(title, rows)| {
                let rows = rows.iter().map(|(key, what)| {
                    let keys = key.split_whitespace().map(|key| view! { <kbd>{key.to_owned()}</kbd>" " }).collect_view();
                    view! { <tr><th scope="row">{keys}</th><td>{*what}</td></tr> }
                });
                view! { <h3>{*title}</h3><table class="keys"><tbody>{rows.collect_view()}</tbody></table> }
            })
            .collect_view()
    };
    view! { <Dialog title="Keyboard" open=lab.help>{table()}</Dialog> }
}
