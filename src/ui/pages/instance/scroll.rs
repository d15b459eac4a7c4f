//! Brings what is in focus into sight.

use super::page::Page;
use leptos::prelude::*;
use leptos::web_sys::{ScrollBehavior, ScrollIntoViewOptions, ScrollLogicalPosition};

/// Scrolls the element with this id into view after the next frame, when it is rendered.
pub(super) fn to(id: &str) {
    let id = id.to_owned();
    request_animation_frame(move || {
        request_animation_frame(move || {
            let Some(element) = document().get_element_by_id(&id) else {
                return;
            };
            let options = ScrollIntoViewOptions::new();
            options.set_behavior(ScrollBehavior::Smooth);
            options.set_block(ScrollLogicalPosition::Nearest);
            element.scroll_into_view_with_scroll_into_view_options(&options);
        });
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
