//! The task as the agent gets it, and, once shown, who asks.

use super::page::Page;
use crate::bench::hidden::Persona;
use crate::bench::taxonomy::{ApiTemplate, Slot};
use crate::ui::parts::markdown::Markdown;
use leptos::prelude::*;
use serde_json::Value;

/// Instruction, content, and the API template.
#[component]
pub(super) fn TaskCard(page: Page) -> impl IntoView {
    let given = page.given.get_value();
    let task = given.instance.task.clone();
    let content = (!task.content.trim().is_empty()).then(
        || view! { <div class="inst-content" tabindex="0"><Markdown text=task.content /></div> },
    );
    let api = given.instance.api.clone().map(template);
    let persona = move || {
        let persona = page.given.with_value(|given| given.persona.clone());
        persona
            .filter(|_| page.shown.get())
            .map(|persona| who(&persona))
    };
    view! {
        <section class="inst-task" aria-label="Task">
            <p class="inst-instruction">{task.instruction}</p>
            {content}
            {api}
            {persona}
        </section>
    }
}

fn template(api: ApiTemplate) -> impl IntoView {
    let rows = api.slots.into_iter().map(slot_row).collect_view();
    view! {
        <details class="inst-fold">
            <summary>
                "API template " <code>{api.name}</code>
            </summary>
            <p class="muted">{api.description}</p>
            <p>
                <code>{format!("{} {}", api.method, api.endpoint)}</code>
            </p>
            <div class="table-scroll" tabindex="0">
                <table class="inst-table">
                    <thead>
                        <tr>
                            <th scope="col">"Slot"</th>
                            <th scope="col">"Type"</th>
                            <th scope="col">"Options"</th>
                            <th scope="col">"Meaning"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </details>
    }
}

fn slot_row(slot: Slot) -> impl IntoView {
    let kind = if slot.required {
        slot.kind
    } else {
        format!("{}, optional", slot.kind)
    };
    let options = slot.options.unwrap_or_default();
    let options: Vec<String> = options.iter().map(plain).collect();
    view! {
        <tr>
            <th scope="row">
                <code>{slot.name}</code>
            </th>
            <td>{kind}</td>
            <td>{options.join(", ")}</td>
            <td>{slot.description}</td>
        </tr>
    }
}

/// A slot's value as people read it: text without quotation marks.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn who(persona: &Persona) -> impl IntoView + use<> {
    view! {
        <details class="inst-fold">
            <summary>
                {format!("Who asks: {}, {}", persona.name, persona.age)}
                <span class="inst-tag">"hidden from the agent"</span>
            </summary>
            <p>{persona.summary.clone()}</p>
        </details>
    }
}
