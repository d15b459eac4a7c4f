//! A button that copies text.

use crate::browser::files::guarded;
use leptos::prelude::*;
use std::time::Duration;

/// Copies what `text` returns when pressed, and says so for a moment.
#[component]
pub fn CopyButton(
    /// Made only when the button is pressed.
    text: Callback<(), String>,
    /// What the button says.
    label: &'static str,
) -> impl IntoView {
    let copied = RwSignal::new(false);
    let copy = move |_| {
        // The promise is dropped: a refusal leaves the label as it was only a moment longer.
        let text = guarded("the copied text", text.run(()));
        let _ = window().navigator().clipboard().write_text(&text);
        copied.set(true);
        set_timeout(
            move || _ = copied.try_set(false),
            Duration::from_millis(1500),
        );
    };
    view! {
        <button type="button" class="button small quiet" on:click=copy>
            {move || if copied.get() { "Copied" } else { label }}
        </button>
    }
}
