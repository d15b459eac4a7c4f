//! The final action: text as Markdown or as it is, or the slots of a call.

use super::page::Page;
use super::task::plain;
use crate::agent::trace::Output;
use crate::bench::taxonomy::Slot;
use crate::judge::opinion::Standing;
use crate::markdown::find_quote;
use crate::ui::parts::copy::CopyButton;
use crate::ui::parts::markdown::Markdown;
use leptos::prelude::*;
use serde_json::{Map, Value};

/// The output of the run, or what to do to get one.
#[component]
pub(super) fn OutputPanel(page: Page) -> impl IntoView {
    let panel = move || match page.output.get() {
        None if page.running() => {
            view! { <p class="inst-empty">"The output comes last."</p> }.into_any()
        }
        None => {
            view! { <p class="inst-empty">"Run a system to see its output and the verdicts."</p> }
                .into_any()
        }
        Some(Output::GenerateText { text }) => view! { <Text page text /> }.into_any(),
        Some(Output::CallApi { slots, description }) => {
            view! { <Call page slots description /> }.into_any()
        }
    };
    view! {
        <div class="zone-head">
            <h2 id="output">"Output"</h2>
        </div>
        {panel}
    }
}

#[component]
fn Text(page: Page, text: String) -> impl IntoView {
    let raw = RwSignal::new(false);
    let words = text.split_whitespace().count();
    let text = StoredValue::new(text);
    let copy = Callback::new(move |()| text.get_value());
    let marks = Memo::new(move |_| {
        let quote = page.quote.get().unwrap_or_default();
        text.with_value(|text| find_quote(text, &quote))
    });
    let shown = move || match raw.get() {
        true => view! { <pre class="raw" tabindex="0">{text.get_value()}</pre> }.into_any(),
        false => view! { <Markdown text=text.get_value() marks=marks.get() /> }.into_any(),
    };
    let missing = move || {
        page.quote.get().filter(|_| marks.with(Vec::is_empty)).map(|quote| {
            view! {
                <p class="inst-note">{format!("The output does not hold these words: “{quote}”")}</p>
            }
        })
    };
    view! {
        <div class="output-text" tabindex="0">{shown}</div>
        {missing}
        <p class="inst-row">
            <label class="inst-check">
                <input
                    type="checkbox"
                    prop:checked=move || raw.get()
                    on:change=move |event| raw.set(event_target_checked(&event))
                />
                "raw"
            </label>
            <span class="muted">{format!("{words} words")}</span>
            <CopyButton text=copy label="Copy" />
            <Show when=move || page.quote.get().is_some()>
                <button type="button" class="button small quiet" on:click=move |_| page.quote.set(None)>
                    "Unmark quote"
                </button>
            </Show>
        </p>
    }
}

#[component]
fn Call(page: Page, slots: Map<String, Value>, description: String) -> impl IntoView {
    let template = page.given.with_value(|given| given.instance.api.clone());
    let name = template
        .as_ref()
        .map(|api| format!("{} {}", api.method, api.endpoint));
    let known: Vec<Slot> = template.map(|api| api.slots).unwrap_or_default();
    let extra: Vec<String> = slots
        .keys()
        .filter(|key| known.iter().all(|slot| slot.name != **key))
        .cloned()
        .collect();
    let rows = known
        .iter()
        .map(|slot| row(page, &slot.name, &slot.description, slots.get(&slot.name)))
        .collect_view();
    let extra = extra
        .iter()
        .map(|key| row(page, key, "not in the template", slots.get(key)))
        .collect_view();
    let copied = StoredValue::new(slots);
    let json = Callback::new(move |()| {
        copied.with_value(|slots| serde_json::to_string_pretty(slots).unwrap_or_default())
    });
    view! {
        <p>{description}</p>
        {name.map(|name| view! { <p class="muted"><code>{name}</code></p> })}
        <div class="table-scroll" tabindex="0">
            <table class="inst-table">
                <thead>
                    <tr>
                        <th scope="col">"Slot"</th>
                        <th scope="col">"Value"</th>
                        <th scope="col">"Requirement"</th>
                    </tr>
                </thead>
                <tbody>{rows} {extra}</tbody>
            </table>
        </div>
        <p class="inst-row">
            <CopyButton text=json label="Copy as JSON" />
        </p>
    }
}

fn row(page: Page, slot: &str, meaning: &str, value: Option<&Value>) -> impl IntoView + use<> {
    let value = match value {
        Some(value) => view! { <strong>{plain(value)}</strong> }.into_any(),
        None => view! { <span class="muted">"left out"</span> }.into_any(),
    };
    let name = slot.to_owned();
    let verdict = move || {
        let rows = page.rows.get();
        let row = rows.iter().find(|row| row.slot.as_deref() == Some(&name))?;
        let state = row.standing.filter(|_| page.shown.get())?;
        let id = row.id.clone();
        Some(view! {
            <button
                type="button"
                class="link"
                title="Show the verdict"
                on:click=move |_| page.show_requirement(&id)
            >
                <super::verdict::State state />
            </button>
        })
    };
    view! {
        <tr>
            <th scope="row">
                <code>{slot.to_owned()}</code>
                <small class="slot-meaning">{meaning.to_owned()}</small>
            </th>
            <td>{value}</td>
            <td>{verdict}</td>
        </tr>
    }
}

/// Colour and word of a state.
pub(super) fn state_word(state: Standing) -> (&'static str, &'static str) {
    match state {
        Standing::Met => ("met", "met"),
        Standing::NotMet => ("not-met", "not met"),
        Standing::Disputed => ("disputed", "disputed"),
        Standing::Unscored => ("unscored", "unscored"),
    }
}
