//! Which embedding model finds passages: the shipped one, those kept in this browser, or one behind
//! an address.

use super::Pick;
use super::add_model::AddModel;
use super::endpoint::EndpointForm;
use super::reading::ReadingFields;
use crate::browser::models::Keeping;
use crate::embed::registry::KeptModel;
use crate::embed::spec::Arithmetic;
use crate::settings::retriever::ModelChoice;
use crate::ui::parts::{Dialog, Field, Icon, ProblemBox, ProgressLine, Shape};
use crate::ui::state::lab;
use crate::words::{sentence, size};
use leptos::prelude::*;

#[component]
pub fn EmbeddingModel() -> impl IntoView {
    let lab = lab();
    let shelf = lab.shelf;
    let is = move |choice: ModelChoice| {
        Signal::derive(move || lab.settings.with(|s| s.retriever.model == choice))
    };
    let choose = move |choice: ModelChoice| {
        Callback::new(move |()| lab.set(|s| s.retriever.model = choice.clone()))
    };
    let by_endpoint = is(ModelChoice::Endpoint);
    view! {
        <h3 id="embedding-head">"Embedding model"</h3>
        <fieldset class="options" aria-labelledby="embedding-head">
            <Pick
                group="embedding"
                title="all-MiniLM-L6-v2"
                about="Comes with this site: English, 384 numbers, 256 tokens. Vectors of the bundled datasets are shipped."
                checked=is(ModelChoice::Shipped)
                on_choose=choose(ModelChoice::Shipped)
            />
            <Keeps />
            <For each=move || shelf.list.get() key=|model| serde_json::to_string(model).unwrap_or_default() let:model>
                <Kept model=model />
            </For>
            <Pick
                group="embedding"
                title="An embedding endpoint"
                about="Any OpenAI-compatible address, for example bge-m3 of a provider or of Ollama on this machine. Passages and queries are sent there; vectors are kept, so none is paid twice."
                checked=by_endpoint
                on_choose=choose(ModelChoice::Endpoint)
            />
        </fieldset>
        {move || by_endpoint.get().then(|| view! { <ByEndpoint /> })}
        <AddModel />
        <Work />
    }
}

/// Where models lie that were added, and for how long.
#[component]
fn Keeps() -> impl IntoView {
    let shelf = lab().shelf;
    let words = move || {
        let keeping = shelf
            .keeping
            .get()
            .filter(|_| shelf.list.with(|list| !list.is_empty()));
        keeping.map(|keeping| match keeping.is_safe {
            true => format!("Models that you added are kept in {}, which has promised to leave them there.", keeping.place),
            false => format!("Models that you added are kept in {}, which may drop them when space on the disk is short.", keeping.place),
        })
    };
    move || words().map(|words| view! { <p class="muted small kept-where">{words}</p> })
}

/// What is being done, or why it failed.
#[component]
fn Work() -> impl IntoView {
    let shelf = lab().shelf;
    let busy = move || shelf.busy.with(Option::is_some);
    let part = move |part: fn(&crate::browser::engine::EngineProgress) -> u64| {
        shelf.busy.with(|busy| busy.as_ref().map_or(0, part))
    };
    let what = Signal::derive(move || {
        shelf.busy.with(|busy| {
            busy.as_ref()
                .map_or_else(String::new, |busy| sentence(&busy.what))
        })
    });
    let done = Signal::derive(move || part(|busy| busy.done));
    let total = Signal::derive(move || {
        shelf
            .busy
            .with(|busy| busy.as_ref().and_then(|busy| busy.total))
    });
    view! {
        <div class="model-work">
            <Show when=busy>
                <div class="card stack">
                    <ProgressLine what=what done=done total=total bytes=true />
                    <div class="actions">
                        <button type="button" class="button" on:click=move |_| shelf.cancel()>"Cancel"</button>
                    </div>
                </div>
            </Show>
            {move || shelf.problem.get().filter(|_| !busy()).map(|problem| view! {
                <ProblemBox problem=problem>
                    <button type="button" class="button" on:click=move |_| shelf.problem.set(None)>"Close"</button>
                </ProblemBox>
            })}
        </div>
    }
}

/// One model on the shelf.
#[component]
fn Kept(model: KeptModel) -> impl IntoView {
    let lab = lab();
    let shelf = lab.shelf;
    let id = model.id.clone();
    let choice = ModelChoice::Kept { id: id.clone() };
    let own = choice.clone();
    let checked = Signal::derive(move || lab.settings.with(|s| s.retriever.model == own));
    let ready = model.is_ready();
    let known = model.clone();
    let facts = move || facts(&known, shelf.keeping.get());
    let spec = RwSignal::new(model.spec.clone());
    let asking = RwSignal::new(false);
    let (name, whole) = (model.name.clone(), model.is_whole());
    let busy = move || shelf.busy.with(Option::is_some);
    let going_on = id.clone();
    let rereading = id.clone();
    let fault = model.fault.clone();
    let title = format!("Delete {name}?");
    let kept = size(model.kept());
    view! {
        <div class="option kept-model" class:checked=checked class:disabled=!ready>
            <input
                type="radio"
                name="embedding"
                id=format!("model-{id}")
                prop:checked=checked
                disabled=!ready
                on:change=move |_| lab.set(|s| s.retriever.model = choice.clone())
            />
            <div class="grow">
                <label for=format!("model-{id}")><strong>{name.clone()}</strong></label>
                <p class="muted small">{facts}</p>
                {fault.map(|fault| view! { <p class="answer bad small"><Icon shape=Shape::Warning />{sentence(&fault)}</p> })}
                {(!whole).then(|| view! { <p class="small">"Only a part has come so far; it is kept."</p> })}
                <details class="small">
                    <summary>"How it is read"</summary>
                    <ReadingFields name=id.clone() spec=spec />
                    <p>
                        <button
                            type="button"
                            class="button"
                            disabled=move || busy() || !whole
                            on:click=move |_| shelf.reread(lab, rereading.clone(), spec.get_untracked())
                        >
                            "Read it so"
                        </button>
                    </p>
                </details>
                <div class="actions">
                    {(!ready).then(|| view! {
                        <button type="button" class="button" disabled=busy on:click=move |_| shelf.go_on(lab, going_on.clone())>
                            {if whole { "Try again" } else { "Go on" }}
                        </button>
                    })}
                    <button type="button" class="button danger" disabled=busy on:click=move |_| asking.set(true)>"Delete …"</button>
                </div>
            </div>
        </div>
        <Dialog title=title open=asking>
            <p>{format!("{kept} are freed. Vectors made with it are kept; to use it again it has to be fetched again.")}</p>
            <div class="actions">
                <button type="button" class="button danger" on:click={
                    let id = id.clone();
                    move |_| {
                        asking.set(false);
                        shelf.delete(lab, id.clone());
                    }
                }>"Delete"</button>
                <button type="button" class="button" on:click=move |_| asking.set(false)>"Keep it"</button>
            </div>
        </Dialog>
    }
}

/// Size, place, date, dimension, origin, hash.
fn facts(model: &KeptModel, keeping: Option<Keeping>) -> String {
    let date = js_sys::Date::new(&(model.added_ms as f64).into());
    let date = String::from(date.to_iso_string());
    let bytes = match (model.is_whole(), model.bytes()) {
        (false, Some(all)) => format!("{} of {}", size(model.kept()), size(all)),
        _ => size(model.kept()),
    };
    let place = keeping.map(|keeping| format!(" in {}", keeping.place));
    let mut facts = vec![
        format!("{bytes}{}", place.unwrap_or_default()),
        format!("added {}", date.get(..10).unwrap_or_default()),
    ];
    if let Some(tried) = &model.tried {
        facts.push(format!("{} numbers", tried.dim));
        facts.push(match tried.arithmetic {
            Arithmetic::Int8 => "fast encoder".to_owned(),
            Arithmetic::Float32 => "general engine, slow".to_owned(),
        });
    }
    if model.is_whole() {
        facts.push(format!(
            "sha256 {}",
            model.sha256().get(..12).unwrap_or_default()
        ));
    }
    facts.push(model.from.clone());
    facts.join(" · ")
}

/// Address, model and key of the embedding endpoint.
#[component]
fn ByEndpoint() -> impl IntoView {
    let lab = lab();
    let endpoint =
        Signal::derive(move || lab.settings.with(|s| s.retriever.endpoint.endpoint.clone()));
    let dimensions = move || {
        lab.settings.with(|s| {
            s.retriever
                .endpoint
                .dimensions
                .map_or_else(String::new, |n| n.to_string())
        })
    };
    let limit = move |ev| {
        let number = event_target_value(&ev)
            .trim()
            .parse::<u32>()
            .ok()
            .filter(|n| *n > 0);
        lab.set(|s| s.retriever.endpoint.dimensions = number);
    };
    view! {
        <EndpointForm
            name="embedding"
            embeds=true
            endpoint=endpoint
            on_change=Callback::new(move |endpoint| lab.set(|s| s.retriever.endpoint.endpoint = endpoint))
        />
        <div class="card form two-columns">
            <Field id="embedding-dimensions" label="Numbers of a vector" about="Only for models that let one choose; empty leaves it to the model.">
                <input id="embedding-dimensions" type="number" min="1" placeholder="as the model has" prop:value=dimensions on:change=limit />
            </Field>
            <Field id="embedding-query" label="Before a query">
                <input id="embedding-query" type="text" autocomplete="off" placeholder="nothing"
                    prop:value=move || lab.settings.with(|s| s.retriever.endpoint.query_prefix.clone())
                    on:change=move |ev| lab.set(|s| s.retriever.endpoint.query_prefix = event_target_value(&ev)) />
            </Field>
            <Field id="embedding-passage" label="Before a passage">
                <input id="embedding-passage" type="text" autocomplete="off" placeholder="nothing"
                    prop:value=move || lab.settings.with(|s| s.retriever.endpoint.passage_prefix.clone())
                    on:change=move |ev| lab.set(|s| s.retriever.endpoint.passage_prefix = event_target_value(&ev)) />
            </Field>
            <p class="muted small">"Histories are cut by the shipped model's tokens, as the endpoint's are not known. Texts that are longer than the endpoint takes are shortened, and the run says how many."</p>
        </div>
    }
}
