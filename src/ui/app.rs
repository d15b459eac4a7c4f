//! The frame of the page: start-up, the page of the moment, and what lies over all of them (help,
//! notices, dropped files).

use super::files::DropAnywhere;
use super::keyboard::{Help, on_key};
use super::late;
use super::pages::LostPage;
use super::parts::Toasts;
use super::state::Lab;
use super::topbar::Topbar;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Takes over from the static skeleton.
pub fn start() {
    std::panic::set_hook(Box::new(|info| {
        console_error_panic_hook::hook(info);
        show_crash(&info.to_string());
    }));
    if let Some(skeleton) = document().get_element_by_id("skeleton") {
        skeleton.remove();
    }
    leptos::mount::mount_to_body(App);
}

/// A panic ends the program; what is left is the box that was in the page from the start.
fn show_crash(text: &str) {
    let document = document();
    if let Some(words) = document.get_element_by_id("crashed-text") {
        let first = text.lines().last().unwrap_or_default();
        words.set_text_content(Some(&format!(
            "The program met a state it cannot go on from: {first}"
        )));
    }
    if let Some(shown) = document.get_element_by_id("crashed") {
        // The attribute's name is valid, so this cannot fail.
        let _ = shown.remove_attribute("hidden");
    }
}

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let lab = Lab::new();
    provide_context(lab);
    lab.start();
    let listeners = [
        // The first of both lets the view be as it was before the browser scrolls back to its place.
        window_event_listener_untyped("popstate", move |_| lab.visit_address()),
        window_event_listener_untyped("hashchange", move |_| lab.visit_address()),
        window_event_listener_untyped("keydown", move |ev| {
            if let Some(ev) = ev.dyn_ref::<web_sys::KeyboardEvent>() {
                on_key(lab, ev);
            }
        }),
    ];
    on_cleanup(move || listeners.into_iter().for_each(|listener| listener.remove()));
    // The kind of page alone decides what is drawn anew: a page follows its own query, so that
    // typing in a filter does not build it again.
    let kind = Memo::new(move |_| {
        let known = lab.lost.with(Option::is_none);
        known.then(|| lab.route.with(std::mem::discriminant))
    });
    view! {
        <Topbar />
        <DropAnywhere />
        {late::overlays(lab)}
        <main id="main" tabindex="-1">{move || kind.get().map_or_else(|| view! { <LostPage /> }.into_any(), |_| late::page(lab.route.get_untracked()))}</main>
        <Help />
        <Toasts notices=lab.notices />
    }
}
