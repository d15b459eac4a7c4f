//! One piece of work under way, in words and as a bar.

use crate::words::size;
use leptos::prelude::*;

/// `done` of `total`; without a total the bar only shows that something happens.
#[component]
pub fn ProgressLine(
    #[prop(into)] what: Signal<String>,
    #[prop(into)] done: Signal<u64>,
    #[prop(into)] total: Signal<Option<u64>>,
    /// Whether the numbers are bytes.
    #[prop(optional)]
    bytes: bool,
) -> impl IntoView {
    let number = move |n: u64| if bytes { size(n) } else { n.to_string() };
    let numbers = move || match (done.get(), total.get().filter(|total| *total > 0)) {
        (done, Some(total)) => format!("{} of {}", number(done.min(total)), number(total)),
        (0, None) => String::new(),
        (done, None) => number(done),
    };
    let part = move || {
        total
            .get()
            .filter(|total| *total > 0)
            .map(|total| (done.get() as f64 / total as f64).min(1.0).to_string())
    };
    view! {
        <div class="progress">
            <p aria-live="polite">
                <span>{what}</span>
                <span class="muted">{numbers}</span>
            </p>
            <progress max="1" value=part aria-label=what></progress>
        </div>
    }
}
