//! The hidden half stays hidden until the visitor confirms that it may be seen.

use super::page::Page;
use crate::agent::trace_view::count;
use leptos::prelude::*;

/// A note with a button that asks before it reveals.
#[component]
pub(super) fn Reveal(page: Page) -> impl IntoView {
    let asking = RwSignal::new(false);
    // The button that asked goes away, so the answer takes the focus over.
    let ask = move |_| {
        asking.set(true);
        super::keys::focus_on("reveal-yes".to_owned());
    };
    let n = page
        .given
        .with_value(|given| given.hidden.requirements.len());
    let hidden = count(n, "requirement is", "requirements are");
    view! {
        <div class="inst-hidden">
            <p>
                {format!("{hidden} hidden from the agent, and from you until a run is judged.")}
            </p>
            <Show
                when=move || asking.get()
                fallback=move || {
                    view! {
                        <button type="button" class="button" on:click=ask>
                            "Reveal hidden requirements"
                        </button>
                    }
                }
            >
                <div role="group" aria-label="Reveal hidden requirements?">
                    <p>
                        <strong>"Reveal hidden requirements? "</strong>
                        "You will see requirements, preferences and evidence of this instance."
                    </p>
                    <p class="inst-row">
                        <button
                            type="button"
                            class="button primary"
                            id="reveal-yes"
                            on:click=move |_| page.on.reveal.run(())
                        >
                            "Reveal"
                        </button>
                        <button type="button" class="button" on:click=move |_| asking.set(false)>
                            "Keep hidden"
                        </button>
                    </p>
                </div>
            </Show>
        </div>
    }
}
