//! How a server on the visitor's own machine is made to answer this very page.

use crate::browser::page;
use crate::llm::reach::{self, Step};
use crate::ui::parts::copy::CopyButton;
use leptos::prelude::*;

/// Steps for the server at an address; nothing for servers of the public network.
#[component]
pub fn LocalHelp(base_url: Signal<String>) -> impl IntoView {
    move || {
        let steps = reach::local_help(&page::origin(), &base_url.get());
        if steps.is_empty() {
            return ().into_any();
        }
        view! {
            <details class="keep" open>
                <summary>"Let your server answer this page"</summary>
                <ol class="steps">{steps.into_iter().map(step).collect_view()}</ol>
            </details>
        }
        .into_any()
    }
}

fn step(step: Step) -> impl IntoView {
    let command = |(place, text): (&'static str, String)| {
        let copied = text.clone();
        let copy = Callback::new(move |()| copied.clone());
        view! {
            <div class="command">
                <span class="muted small">{place}</span>
                <code>{text}</code>
                <CopyButton text=copy label="Copy" />
            </div>
        }
    };
    view! {
        <li>
            {step.text}
            {step.commands.into_iter().map(command).collect_view()}
        </li>
    }
}
