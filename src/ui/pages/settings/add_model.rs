//! Looks for an embedding model at an address or in a folder, shows what it would take, and fetches
//! it.

use super::reading::ReadingFields;
use crate::browser::models::{Found, device_memory};
use crate::embed::registry::{KNOWN, Known};
use crate::embed::spec::ModelSpec;
use crate::ui::files::ask;
use crate::ui::parts::{Field, Select};
use crate::ui::state::lab;
use crate::words::size;
use leptos::prelude::*;

/// Address or folder, then what was found there.
#[component]
pub fn AddModel() -> impl IntoView {
    let lab = lab();
    let shelf = lab.shelf;
    let wanted = RwSignal::new(String::new());
    let chosen = move || Known::named(&wanted.get_untracked());
    let address = RwSignal::new(String::new());
    let busy = move || shelf.busy.with(Option::is_some);
    let known = KNOWN[1..].iter().map(|known| {
        let words = format!("{}, {} MB", known.title, known.megabytes);
        (known.name.to_owned(), words)
    });
    let known = [(String::new(), "As its folder says".to_owned())]
        .into_iter()
        .chain(known)
        .collect::<Vec<_>>();
    let about = move || {
        match Known::named(&wanted.get()) {
        Some(known) => format!(
            "{} Look for the repository {} on a host of models, or on one of your own. Pooling, prefixes and limit are those of its card, as far as its folder does not say otherwise.",
            known.about, known.repository
        ),
        None => "Any encoder of texts: a folder with an ONNX file and tokenizer.json. Its own files say how it is read; you can correct that before it is fetched.".to_owned(),
    }
    };
    let look = move |ev: leptos::ev::SubmitEvent| {
        ev.prevent_default();
        shelf.look(lab, address.get_untracked(), chosen());
    };
    view! {
        <details class="card stack" open=move || shelf.found.with(Option::is_some)>
            <summary><strong>"Add a model"</strong></summary>
            <form class="form" on:submit=look>
                <Field id="model-wanted" label="Model">
                    <Select id="model-wanted" options=known value=wanted on_change=Callback::new(move |name| {
                        wanted.set(name);
                        shelf.read_as(chosen());
                    }) />
                    <p class="muted small">{about}</p>
                </Field>
                <Field
                    id="model-address"
                    label="Address of its folder"
                    about="Nothing is fetched before you say so; the host has to let other sites read it (CORS)."
                >
                    <div class="row">
                        <input
                            id="model-address"
                            class="grow"
                            type="url"
                            inputmode="url"
                            spellcheck="false"
                            autocomplete="off"
                            placeholder="https://host/name/model/"
                            prop:value=address
                            on:input=move |ev| address.set(event_target_value(&ev))
                        />
                        <button type="submit" class="button" disabled=move || busy() || address.with(|a| a.trim().is_empty())>"Look"</button>
                    </div>
                </Field>
                <p>
                    <button type="button" class="button" disabled=busy on:click=move |_| ask(true, move |files| {
                        if !files.is_empty() {
                            shelf.look_in(lab, files, chosen());
                        }
                    })>"Choose a folder of this device …"</button>
                </p>
            </form>
            {move || shelf.found.get().map(|found| view! { <FoundModel found=found /> })}
        </details>
    }
}

/// What was found, what it takes, and how it will be read.
#[component]
fn FoundModel(found: Found) -> impl IntoView {
    let lab = lab();
    let shelf = lab.shelf;
    let card = found.card.clone();
    let (name, assumed) = card.as_ref().map_or_else(Default::default, |card| {
        (card.name.clone(), card.assumed.clone())
    });
    let spec = RwSignal::new(card.map_or_else(|| ModelSpec::plain(512), |card| card.spec));
    let chosen = RwSignal::new("0".to_owned());
    let at = move || chosen.get().parse::<usize>().unwrap_or(0);
    let options = found.graphs.iter().enumerate().map(|(at, graph)| {
        let bytes = graph.bytes().map_or("size not told".to_owned(), size);
        (at.to_string(), format!("{}, {bytes}", graph.name))
    });
    let options: Vec<(String, String)> = options.collect();
    let several = options.len() > 1;
    let here = StoredValue::new_local(found.clone());
    let needs = move || here.with_value(|found| found.needs(at()));
    let words = move || here.with_value(|found| takes(found, at()));
    let too_large = move || needs()?.too_large(device_memory());
    let fetches = found
        .graphs
        .iter()
        .any(|graph| matches!(graph.place, crate::browser::models::Place::Web { .. }));
    let verb = move || {
        let bytes = needs().map(|needs| needs.weights + needs.tokenizer);
        match (fetches, bytes) {
            (true, Some(bytes)) => format!("Download {}", size(bytes)),
            (true, None) => "Download".to_owned(),
            (false, _) => "Take it in".to_owned(),
        }
    };
    view! {
        <section class="form found" aria-label="What was found">
            <div>
                <h3>{name}</h3>
                <p class="muted small">{found.from.clone()}</p>
                <p>{words}</p>
                {assumed.into_iter().map(|sentence| view! { <p class="small">{sentence}</p> }).collect_view()}
            </div>
            {several.then(|| view! {
                <Field id="model-graph" label="File" about="int8 weights take a quarter of the space and are what the fast encoder computes with.">
                    <Select id="model-graph" options=options value=chosen on_change=Callback::new(move |at| chosen.set(at)) />
                </Field>
            })}
            <ReadingFields name="found" spec=spec />
            {move || too_large().map(|why| view! { <p class="answer bad">{crate::words::sentence(&why)}</p> })}
            <div class="actions">
                <button
                    type="button"
                    class="button primary"
                    disabled=move || shelf.busy.with(Option::is_some) || too_large().is_some()
                    on:click=move |_| shelf.add(lab, at(), spec.get_untracked())
                >
                    {verb}
                </button>
                <button type="button" class="button" on:click=move |_| shelf.found.set(None)>"Leave it"</button>
            </div>
        </section>
    }
}

/// Disk and memory, in a sentence.
fn takes(found: &Found, graph: usize) -> String {
    let Some(needs) = found.needs(graph) else {
        return "The host does not say how large it is.".to_owned();
    };
    let untold = match found.tokenizer_bytes() {
        Some(_) => "",
        None => " The host does not say how large its tokenizer is.",
    };
    format!(
        "Takes {} of this browser's storage and, while it is used, about {} of memory.{untold}",
        size(needs.weights + needs.tokenizer),
        size(needs.encoder())
    )
}
