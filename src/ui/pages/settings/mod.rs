//! Everything a visitor can choose.

mod add_model;
mod endpoint;
mod judges;
mod key;
mod local;
mod models;
mod params;
mod prices;
mod reading;
mod retriever;
mod spending;
mod storage;

use crate::settings::{ByHand, Choice, Judge, Theme};
use crate::ui::parts::Field;
use crate::ui::state::lab;
use endpoint::EndpointForm;
use judges::Judges;
use leptos::prelude::*;
use params::Params;
use retriever::Retrieval;
use spending::Spending;
use storage::Storage;

#[component]
pub fn SettingsPage() -> impl IntoView {
    view! {
        <div class="page narrow">
            <header class="page-head">
                <h1>"Settings"</h1>
                <p class="muted">"Kept in this browser. Keys are not: see below."</p>
            </header>
            <Agent />
            <JudgeSection />
            <Spending />
            <Retrieval />
            <Params />
            <Look />
            <Storage />
        </div>
    }
}

/// One of several choices, with a sentence about it.
#[component]
fn Pick(
    group: &'static str,
    title: &'static str,
    about: &'static str,
    #[prop(into)] checked: Signal<bool>,
    #[prop(optional, into)] disabled: Signal<bool>,
    on_choose: Callback<()>,
) -> impl IntoView {
    view! {
        <label class="option" class:checked=checked class:disabled=disabled>
            <input type="radio" name=group prop:checked=checked disabled=disabled on:change=move |_| on_choose.run(()) />
            <span>
                <strong>{title}</strong>
                <span class="muted small">{about}</span>
            </span>
        </label>
    }
}

#[component]
fn Agent() -> impl IntoView {
    let lab = lab();
    let is = move |choice| {
        Signal::derive(move || lab.settings.with(|settings| settings.agent == choice))
    };
    let choose = move |choice| Callback::new(move |()| lab.set(|settings| settings.agent = choice));
    let endpoint = Signal::derive(move || lab.settings.with(|settings| settings.endpoint.clone()));
    view! {
        <section class="block" aria-labelledby="model-head">
            <h2 id="model-head">"Model"</h2>
            <fieldset class="options">
                <legend class="sr-only">"Who does the agent's work"</legend>
                <Pick
                    group="agent"
                    title="Embedded baseline"
                    about="Rules instead of a language model: weak, deterministic, free, and nothing leaves this browser."
                    checked=is(Choice::Embedded)
                    on_choose=choose(Choice::Embedded)
                />
                <Pick
                    group="agent"
                    title="A model behind an endpoint"
                    about="Any OpenAI-compatible address, Anthropic, Gemini, or a server on this machine. Calls go there directly from this browser."
                    checked=is(Choice::Endpoint)
                    on_choose=choose(Choice::Endpoint)
                />
                <Pick
                    group="agent"
                    title="By hand"
                    about="Each prompt is shown to copy into any chat window, and its answer pasted back. No key, no network."
                    checked=is(Choice::ByHand)
                    on_choose=choose(Choice::ByHand)
                />
            </fieldset>
            {move || is(Choice::ByHand).get().then(|| view! {
                <div class="card form">
                    <Field id="by-hand-model" label="Name of the model">
                        <input
                            id="by-hand-model"
                            type="text"
                            autocomplete="off"
                            placeholder="for the results"
                            prop:value=move || lab.settings.with(|settings| settings.by_hand.0.model.clone())
                            on:change=move |ev| lab.set(|settings| settings.by_hand = ByHand::named(&event_target_value(&ev)))
                        />
                    </Field>
                </div>
            })}
            {move || is(Choice::Endpoint).get().then(|| view! {
                <EndpointForm
                    name="agent"
                    endpoint=endpoint
                    on_change=Callback::new(move |endpoint| lab.set(|settings| settings.endpoint = endpoint))
                />
            })}
        </section>
    }
}

#[component]
fn JudgeSection() -> impl IntoView {
    let lab = lab();
    let is = move |choice| {
        Signal::derive(move || lab.settings.with(|settings| settings.judge == choice))
    };
    let choose = move |choice| Callback::new(move |()| lab.set(|settings| settings.judge = choice));
    let endpoint = Signal::derive(move || {
        lab.settings
            .with(|settings| settings.judge_endpoint.clone())
    });
    let embedded = Signal::derive(move || {
        lab.settings
            .with(|settings| settings.agent == Choice::Embedded)
    });
    view! {
        <section class="block" aria-labelledby="judge-head">
            <h2 id="judge-head">"Judge"</h2>
            <p class="muted">
                "Slots of an API call are decided by their reference, and many requirements by a programmatic check. "
                "A judge model decides the rest; without one they stay unscored and count for nothing."
            </p>
            <fieldset class="options">
                <legend class="sr-only">"Who judges the rest"</legend>
                <Pick group="judge" title="References and checks only" about="No model is asked." checked=is(Judge::Programmatic) on_choose=choose(Judge::Programmatic) />
                <Pick group="judge" title="The agent's model" about="The same endpoint and model as above; a model judging itself tends to be kind." checked=is(Judge::Same) disabled=embedded on_choose=choose(Judge::Same) />
                <Pick group="judge" title="Another endpoint" about="Its own address, model and key." checked=is(Judge::Other) on_choose=choose(Judge::Other) />
            </fieldset>
            {move || is(Judge::Other).get().then(|| view! {
                <EndpointForm
                    name="judge"
                    endpoint=endpoint
                    on_change=Callback::new(move |endpoint| lab.set(|settings| settings.judge_endpoint = endpoint))
                />
            })}
            <Judges />
        </section>
    }
}

#[component]
fn Look() -> impl IntoView {
    let lab = lab();
    let is =
        move |theme| Signal::derive(move || lab.settings.with(|settings| settings.theme == theme));
    let choose = move |theme| Callback::new(move |()| lab.set(|settings| settings.theme = theme));
    view! {
        <section class="block" aria-labelledby="look-head">
            <h2 id="look-head">"Look"</h2>
            <fieldset class="options three">
                <legend class="sr-only">"Colours"</legend>
                <Pick group="theme" title="As the device" about="Follows its setting." checked=is(Theme::System) on_choose=choose(Theme::System) />
                <Pick group="theme" title="Light" about="Dark text on paper." checked=is(Theme::Light) on_choose=choose(Theme::Light) />
                <Pick group="theme" title="Dark" about="Light text on slate." checked=is(Theme::Dark) on_choose=choose(Theme::Dark) />
            </fieldset>
            <label class="switch">
                <input
                    type="checkbox"
                    prop:checked=move || lab.settings.with(|settings| settings.large_type)
                    on:change=move |ev| lab.set(|settings| settings.large_type = event_target_checked(&ev))
                />
                <span><strong>"Larger type"</strong><span class="muted small">"For a projector, or for the eyes."</span></span>
            </label>
        </section>
    }
}
