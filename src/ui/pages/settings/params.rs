//! The parameters of a run, as published unless changed.

use super::Pick;
use crate::run::record::Params as RunParams;
use crate::settings::params::{CHUNK_UNITS, PARAMS, ParamInfo, param_value, with_param};
use crate::ui::state::lab;
use leptos::prelude::*;

#[component]
pub fn Params() -> impl IntoView {
    let lab = lab();
    let changed = move || {
        lab.settings
            .with(|settings| settings.params != RunParams::default())
    };
    let reset = move |_| lab.set(|settings| settings.params = RunParams::default());
    let units = CHUNK_UNITS.iter().map(|info| {
        let unit = info.unit;
        let checked =
            Signal::derive(move || lab.settings.with(|s| s.params.chunk_unit == unit));
        let choose = Callback::new(move |()| lab.set(|s| s.params.chunk_unit = unit));
        view! { <Pick group="chunk-unit" title=info.title about=info.about checked=checked on_choose=choose /> }
    });
    view! {
        <section class="block" aria-labelledby="params-head">
            <div class="row">
                <h2 id="params-head" class="grow">"Parameters"</h2>
                <button type="button" class="button" disabled=move || !changed() on:click=reset>"Reset to published"</button>
            </div>
            <p class="muted">"Every result carries them. Runs with different parameters are never averaged."</p>
            <fieldset class="options">
                <legend>"A passage is"</legend>
                {units.collect_view()}
            </fieldset>
            <div class="card form">{PARAMS.iter().map(|info| view! { <Param info=info /> }).collect_view()}</div>
        </section>
    }
}

#[component]
fn Param(info: &'static ParamInfo) -> impl IntoView {
    let lab = lab();
    let wrong = RwSignal::new(None::<String>);
    let written = |params: &RunParams| {
        param_value(params, info.name).map_or_else(String::new, |value| value.to_string())
    };
    let published = written(&RunParams::default());
    let value = move || lab.settings.with(|settings| written(&settings.params));
    let original = published.clone();
    let differs = move || value() != original;
    let change = move |ev| {
        let typed = event_target_value(&ev);
        match with_param(
            &lab.settings
                .with_untracked(|settings| settings.params.clone()),
            info,
            &typed,
        ) {
            Ok(params) => {
                wrong.set(None);
                lab.set(|settings| settings.params = params);
            }
            Err(text) => {
                let holds = match untrack(value) {
                    empty if empty.is_empty() => "Nothing is sent, as before.".to_owned(),
                    value => format!("{value} is still in force."),
                };
                wrong.set(Some(format!("{text} {holds}")));
            }
        }
    };
    // What the paper does not state it has not published either.
    let stated = !info.about.contains("Not stated in the paper");
    let default_words = match (stated, published.is_empty()) {
        (_, true) => "default: not sent".to_owned(),
        (true, false) => format!("published: {published}"),
        (false, false) => format!("default: {published}"),
    };
    let id = format!("param-{}", info.name);
    let about_id = format!("{id}-about");
    view! {
        <div class="param" class:changed=differs>
            <div>
                <label for=id.clone()>{info.label}</label>
                <p class="muted small" id=about_id.clone()>{info.about}</p>
                <p class="wrong small" role="alert">{wrong}</p>
            </div>
            <div>
                <input
                    id=id
                    type="text"
                    inputmode="decimal"
                    autocomplete="off"
                    aria-describedby=about_id
                    aria-invalid=move || wrong.with(Option::is_some).to_string()
                    prop:value=value
                    on:change=change
                />
                <p class="muted small">{default_words}</p>
            </div>
        </div>
    }
}
