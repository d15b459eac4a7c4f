//! The list itself and its keys.

use super::View;
use super::row::{ROW_REM, row};
use crate::ui::keyboard;
use crate::ui::parts::window::{WindowedList, rem, reveal};
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Pixels the sticky head takes, in `rem`.
const HEAD_REM: f64 = 8.5;

#[component]
pub fn InstanceList(view: View) -> impl IntoView {
    let node = NodeRef::<html::Ol>::new();
    let rows = Signal::derive(move || view.filtered.with(|filtered| filtered.rows.len()));
    let revision = Memo::new(move |last: Option<&u32>| {
        view.filtered.track();
        last.map_or(0, |last| last.wrapping_add(1))
    });
    let keys = window_event_listener_untyped("keydown", move |ev| {
        let Some(ev) = ev.dyn_ref::<web_sys::KeyboardEvent>() else {
            return;
        };
        if keyboard::busy(ev) || ev.repeat() && matches!(ev.key().as_str(), "g" | "G") {
            return;
        }
        let last = rows.get_untracked().saturating_sub(1);
        let at = focused();
        let to = match ev.key().as_str() {
            "j" => at.map_or(0, |at| (at + 1).min(last)),
            "k" => at.map_or(0, |at| at.saturating_sub(1)),
            "ArrowDown" if at.is_some() => at.map_or(0, |at| (at + 1).min(last)),
            "ArrowUp" if at.is_some() => at.map_or(0, |at| at.saturating_sub(1)),
            "g" => 0,
            "G" => last,
            _ => return,
        };
        ev.prevent_default();
        if let Some(list) = node.get_untracked() {
            reveal(&list, to, rem(ROW_REM), rem(HEAD_REM));
        }
        // The row exists once the list has heard of the scrolling.
        request_animation_frame(move || request_animation_frame(move || focus_row(to)));
    });
    on_cleanup(move || keys.remove());
    let draw = Callback::new(move |number: usize| row(view, number));
    view! { <WindowedList rows=rows row_height=ROW_REM node=node row=draw revision=revision /> }
}

/// Number of the row that has the focus.
fn focused() -> Option<usize> {
    document()
        .active_element()?
        .get_attribute("data-row")?
        .parse()
        .ok()
}

/// Focuses a row that is in sight.
pub fn focus_row(number: usize) {
    keyboard::focus(&format!("[data-row=\"{number}\"]"));
}
