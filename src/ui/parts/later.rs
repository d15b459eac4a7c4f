//! Parts of a view that are drawn one after another, so that a heavy view does not hold the page up.

use leptos::prelude::*;
use std::time::Duration;

/// Draws its children once the page has been painted `turn` times, in a task of their own.
#[component]
pub fn Later(
    /// How many frames to leave to what is more urgent.
    turn: u32,
    children: ChildrenFn,
) -> impl IntoView {
    let due = RwSignal::new(false);
    // The visitor may have gone on meanwhile.
    after_frames(turn, move || _ = due.try_set(true));
    view! { <Show when=move || due.get()>{children()}</Show> }
}

/// Does something in a task after the next `frames` frames; in a tab that is not painted, soon.
pub fn after_frames(frames: u32, then: impl FnOnce() + 'static) {
    if frames == 0 {
        return then();
    }
    let next = move || set_timeout(move || after_frames(frames - 1, then), Duration::ZERO);
    match document().hidden() {
        true => next(),
        false => request_animation_frame(next),
    }
}
