//! A list of which only the rows in sight are in the document. Scrolls with the page, so that it
//! behaves like any long page on a phone.

use crate::chart::rows::visible;
use leptos::prelude::*;
use leptos::{ev, html};

/// Height of `rem` units in pixels, whatever the visitor's type size is.
pub fn rem(units: f64) -> f64 {
    let style = document()
        .document_element()
        .and_then(|root| window().get_computed_style(&root).ok().flatten());
    let size = style.and_then(|style| style.get_property_value("font-size").ok());
    let pixels = size.and_then(|size| size.trim_end_matches("px").parse::<f64>().ok());
    units * pixels.unwrap_or(16.0)
}

/// Scrolls the page so that a row lies between the sticky head and the foot of the window.
pub fn reveal(list: &web_sys::Element, row: usize, row_height: f64, head: f64) {
    let top = list.get_bounding_client_rect().top() + row as f64 * row_height;
    let height = window()
        .inner_height()
        .ok()
        .and_then(|h| h.as_f64())
        .unwrap_or(800.0);
    let foot = height - row_height * 1.5;
    let by = if top < head {
        top - head
    } else {
        (top - foot).max(0.0)
    };
    window().scroll_by_with_x_and_y(0.0, by);
}

/// Draws `rows` rows of equal height by `row`, which gets a row's number.
#[component]
pub fn WindowedList(
    #[prop(into)] rows: Signal<usize>,
    /// In `rem`.
    row_height: f64,
    node: NodeRef<html::Ol>,
    row: Callback<usize, AnyView>,
    /// Changes when the same row numbers mean other rows.
    #[prop(into)]
    revision: Signal<u32>,
) -> impl IntoView {
    let tick = RwSignal::new(0_u32);
    let scrolled = move || tick.update(|tick| *tick = tick.wrapping_add(1));
    let listeners = [
        window_event_listener(ev::scroll, move |_| scrolled()),
        window_event_listener(ev::resize, move |_| scrolled()),
    ];
    on_cleanup(move || listeners.into_iter().for_each(|listener| listener.remove()));
    let range = Memo::new(move |_| {
        tick.track();
        let top = node
            .get()
            .map_or(0.0, |list| list.get_bounding_client_rect().top());
        let height = window()
            .inner_height()
            .ok()
            .and_then(|h| h.as_f64())
            .unwrap_or(800.0);
        visible(top, height, rem(row_height), rows.get())
    });
    let numbers = move || {
        let ((first, end), revision) = (range.get(), revision.get());
        (first..end)
            .map(|number| (number, revision))
            .collect::<Vec<_>>()
    };
    view! {
        <ol node_ref=node class="windowed" style:height=move || format!("{}rem", rows.get() as f64 * row_height)>
            <For each=numbers key=|key| *key let:key>
                <li
                    style:top=format!("{}rem", key.0 as f64 * row_height)
                    style:height=format!("{row_height}rem")
                    aria-posinset=(key.0 + 1).to_string()
                    aria-setsize=move || rows.get().to_string()
                >
                    {row.run(key.0)}
                </li>
            </For>
        </ol>
    }
}
