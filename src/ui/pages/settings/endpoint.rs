//! Address, model and key of one endpoint, and a button that says what is wrong with them.

use super::key::KeyField;
use super::local::LocalHelp;
use crate::browser::abort::Abort;
use crate::browser::transport::Endpoint as Target;
use crate::llm::embeddings::Texts;
use crate::llm::provider::Provider;
use crate::llm::{LlmError, reach};
use crate::settings::Endpoint;
use crate::ui::keys::{ANY, known_provider};
use crate::ui::parts::{Field, Icon, Problem, Select, Shape};
use crate::ui::state::{Edge, lab};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// How the last test went.
#[derive(Clone, Debug, PartialEq)]
enum Tested {
    Waiting,
    Answered(String),
    Failed {
        problem: Problem,
        checks: Vec<String>,
    },
}

#[component]
pub fn EndpointForm(
    /// Makes the ids of its fields unique.
    name: &'static str,
    endpoint: Signal<Endpoint>,
    on_change: Callback<Endpoint>,
    /// Whether it makes vectors instead of text.
    #[prop(optional)]
    embeds: bool,
) -> impl IntoView {
    let models = RwSignal::new(Vec::<String>::new());
    let tested = RwSignal::new(None::<Tested>);
    let change = move |change: &dyn Fn(&mut Endpoint)| {
        let mut changed = endpoint.get_untracked();
        change(&mut changed);
        tested.set(None);
        on_change.run(changed);
    };
    let presets = || {
        let known = Provider::all().iter().filter(|provider| provider.id != ANY);
        known
            .map(|provider| (provider.id.to_owned(), provider.name.to_owned()))
            .chain([(String::new(), "Another address".to_owned())])
            .collect()
    };
    let choose = Callback::new(move |id: String| {
        models.set(Vec::new());
        change(&|endpoint| {
            endpoint.preset = id.clone();
            if let Some(provider) = Provider::by_id(&id) {
                endpoint.base_url = provider.base_url.to_owned();
                endpoint.model.clear();
            }
        });
    });
    let base_url = Signal::derive(move || endpoint.with(|endpoint| endpoint.base_url.clone()));
    let provider = move || known_provider(&base_url.get());
    let note = move || provider().map(|provider| provider.cors_note);
    let needs_key = Signal::derive(move || provider().is_some_and(|provider| provider.needs_key));
    let key_hint = Signal::derive(move || provider().map_or("", |provider| provider.key_hint));
    let list_id = format!("{name}-models");
    view! {
        <div class="card form">
            <Field id=format!("{name}-provider") label="Provider">
                <Select
                    id=format!("{name}-provider")
                    options=presets()
                    value=Signal::derive(move || endpoint.with(|endpoint| endpoint.preset.clone()))
                    on_change=choose
                />
            </Field>
            <Field id=format!("{name}-url") label="Address">
                <input
                    id=format!("{name}-url")
                    type="url"
                    inputmode="url"
                    spellcheck="false"
                    autocomplete="off"
                    placeholder="https://host/v1"
                    prop:value=base_url
                    on:change=move |ev| {
                        let typed = event_target_value(&ev).trim().to_owned();
                        change(&|endpoint| endpoint.base_url = typed.clone());
                    }
                />
                {move || note().filter(|note| !note.is_empty()).map(|note| view! { <p class="muted small">{note}</p> })}
            </Field>
            <KeyField name=name base_url=base_url needed=needs_key hint=key_hint />
            <Field id=format!("{name}-model") label="Model">
                <div class="row">
                    <input
                        id=format!("{name}-model")
                        class="grow"
                        type="text"
                        list=list_id.clone()
                        spellcheck="false"
                        autocomplete="off"
                        placeholder="as the provider calls it"
                        prop:value=move || endpoint.with(|endpoint| endpoint.model.clone())
                        on:change=move |ev| {
                            let typed = event_target_value(&ev).trim().to_owned();
                            change(&|endpoint| endpoint.model = typed.clone());
                        }
                    />
                    <ListModels endpoint=endpoint models=models tested=tested />
                </div>
                <datalist id=list_id>
                    {move || models.get().into_iter().map(|model| view! { <option value=model></option> }).collect_view()}
                </datalist>
            </Field>
            <TestRow endpoint=endpoint tested=tested embeds=embeds />
            <LocalHelp base_url=base_url />
        </div>
    }
}

/// Fetches the names of the models an endpoint offers.
#[component]
fn ListModels(
    endpoint: Signal<Endpoint>,
    models: RwSignal<Vec<String>>,
    tested: RwSignal<Option<Tested>>,
) -> impl IntoView {
    let lab = lab();
    let busy = RwSignal::new(false);
    let fetch = move |_| {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        let target = lab.keys.target(&endpoint.get_untracked());
        busy.set(true);
        spawn_local(async move {
            let found = edge.transport.models(&target, &Abort::new()).await;
            // The form may be gone by now; then nobody waits for the answer.
            let _ = busy.try_set(false);
            match found {
                Ok(found) => drop(models.try_set(found)),
                Err(error) => drop(tested.try_set(Some(failed(&error, "", &[])))),
            }
        });
    };
    let words = move || match (busy.get(), models.with(Vec::len)) {
        (true, _) => "Asking …".to_owned(),
        (false, 0) => "List models".to_owned(),
        (false, found) => format!("{found} found"),
    };
    let disabled =
        move || busy.get() || endpoint.with(|endpoint| endpoint.base_url.trim().is_empty());
    view! { <button type="button" class="button" disabled=disabled on:click=fetch>{words}</button> }
}

/// One tiny real call, and what came of it.
#[component]
fn TestRow(
    endpoint: Signal<Endpoint>,
    tested: RwSignal<Option<Tested>>,
    embeds: bool,
) -> impl IntoView {
    let lab = lab();
    let missing = move || endpoint.with(|endpoint| endpoint.missing());
    let waiting = move || tested.with(|tested| *tested == Some(Tested::Waiting));
    let test = move |_| {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        let endpoint = endpoint.get_untracked();
        let target = lab.keys.target(&endpoint);
        tested.set(Some(Tested::Waiting));
        spawn_local(async move {
            if embeds {
                let outcome = test_embedding(&edge, &target, &endpoint.model).await;
                let _ = tested.try_set(Some(outcome)); // the form may be gone by now
                return;
            }
            let answer = edge
                .transport
                .test(&target, endpoint.model.trim(), &Abort::new())
                .await;
            let outcome = match answer {
                Ok(delivered) => Tested::Answered(answered(&endpoint.model, &delivered)),
                Err(error) => {
                    let known = match error {
                        LlmError::ModelNotFound(_) => known_models(&edge, &target).await,
                        _ => Vec::new(),
                    };
                    failed(&error, &endpoint.model, &known)
                }
            };
            let _ = tested.try_set(Some(outcome)); // the form may be gone by now
        });
    };
    let outcome = move || {
        match tested.get()? {
        Tested::Waiting => Some(view! { <p class="muted">{if embeds { "Asking for one vector …" } else { "Asking for one word …" }}</p> }.into_any()),
        Tested::Answered(text) => Some(view! { <p class="answer good"><Icon shape=Shape::Check />{text}</p> }.into_any()),
        Tested::Failed { problem, checks } => Some(view! {
            <div class="answer bad">
                <p><Icon shape=Shape::Warning />{problem.text}</p>
                {problem.hint.map(|hint| view! { <p>{hint}</p> })}
                {(!checks.is_empty()).then(|| view! { <ul>{checks.into_iter().map(|check| view! { <li>{check}</li> }).collect_view()}</ul> })}
            </div>
        }
        .into_any()),
    }
    };
    view! {
        <div class="row test">
            <button type="button" class="button primary" disabled=move || waiting() || missing().is_some() on:click=test>"Test"</button>
            <div class="grow" aria-live="polite">
                {outcome}
                {move || missing().map(|missing| view! { <p class="muted">{missing}</p> })}
            </div>
        </div>
    }
}

/// One vector, asked for once.
async fn test_embedding(edge: &Edge, target: &Target, model: &str) -> Tested {
    let texts = Texts {
        model: model.trim().to_owned(),
        input: vec!["dinner at seven".to_owned()],
        dimensions: None,
    };
    match edge.transport.test_embedding(target, &texts).await {
        Ok(embedded) => {
            let vectors = &embedded.vectors;
            Tested::Answered(format!(
                "{} gave {} numbers in {:.1} s. Runs can use it now.",
                vectors.model.as_deref().unwrap_or(model),
                vectors.rows.first().map_or(0, Vec::len),
                embedded.duration_ms / 1000.0
            ))
        }
        Err(error) => failed(&error, model, &[]),
    }
}

/// What the endpoint offers, or nothing where it does not say.
async fn known_models(edge: &Edge, target: &Target) -> Vec<String> {
    let listed = edge.transport.models(target, &Abort::new()).await;
    listed.unwrap_or_default()
}

fn answered(model: &str, delivered: &crate::browser::transport::Delivered) -> String {
    let named = delivered.reply.model.as_deref().unwrap_or(model);
    format!(
        "{named} answered in {:.1} s. Runs can use it now.",
        delivered.duration_ms / 1000.0
    )
}

/// The reasons of a silent server are a list of things to check; everything else has one hint.
fn failed(error: &LlmError, model: &str, known: &[String]) -> Tested {
    let checks = match error {
        LlmError::Unreachable { reasons, .. } => reasons.clone(),
        LlmError::ModelNotFound(_) => meant(model, known),
        _ => Vec::new(),
    };
    let hint = match error {
        LlmError::Unreachable { .. } => None,
        error => error.hint(),
    };
    Tested::Failed {
        problem: Problem::new(error, hint),
        checks,
    }
}

/// Names close to the one that was not found.
fn meant(model: &str, known: &[String]) -> Vec<String> {
    let near = reach::similar(model, known);
    let likely = (!near.is_empty()).then(|| format!("Did you mean {}?", near.join(" or ")));
    likely.into_iter().collect()
}
