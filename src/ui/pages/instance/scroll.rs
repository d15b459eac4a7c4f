//! Brings what is in focus into sight.

use super::page::Page;
use crate::ui::parts::after_frames;
use leptos::prelude::*;
use leptos::web_sys::{ScrollBehavior, ScrollIntoViewOptions, ScrollLogicalPosition};

/// How many frames an element may take to be drawn: the zones come one after another.
const FRAMES: u32 = 30;

/// Scrolls the element with this id into view as soon as it is drawn.
pub(super) fn to(id: &str) {
    when_drawn(id.to_owned(), ScrollLogicalPosition::Nearest, FRAMES);
}

/// Scrolls to where the element begins.
pub(super) fn to_start(id: &str) {
    when_drawn(id.to_owned(), ScrollLogicalPosition::Start, FRAMES);
}

fn when_drawn(id: String, place: ScrollLogicalPosition, frames: u32) {
    after_frames(1, move || {
        if let Some(element) = document().get_element_by_id(&id) {
            let options = ScrollIntoViewOptions::new();
            options.set_behavior(ScrollBehavior::Smooth);
            options.set_block(place);
            element.scroll_into_view_with_scroll_into_view_options(&options);
        } else if frames > 0 {
            when_drawn(id, place, frames - 1);
        }
    });
}

/// Follows the focus: whenever session, stage or requirement change, scrolls there.
pub(super) fn follow(page: Page) {
    let focus = page.focus;
    let part = |part: fn(&crate::run::focus::Focus) -> Option<String>| {
        Memo::new(move |_| focus.with(part))
    };
    let parts = [
        part(|focus| {
            focus
                .session
                .as_ref()
                .map(|id| format!("session-{id}-line"))
        }),
        part(|focus| {
            focus
                .stage
                .map(|stage| super::stages::anchor(stage, focus.nth))
        }),
        part(|focus| {
            focus
                .requirement
                .as_ref()
                .map(|id| format!("requirement-{id}"))
        }),
    ];
    for part in parts {
        Effect::new(move || {
            if let Some(id) = part.get() {
                to(&id);
            }
        });
    }
}
