//! How passages are found, and what the embedding model computes with.

use super::Pick;
use super::models::EmbeddingModel;
use crate::embed::spec::Arithmetic;
use crate::settings::retriever::METHODS;
use crate::ui::state::lab;
use leptos::prelude::*;

#[component]
pub fn Retrieval() -> impl IntoView {
    let lab = lab();
    let methods = METHODS.iter().map(|info| {
        let method = info.method;
        let checked =
            Signal::derive(move || lab.settings.with(|s| s.retriever.method == method));
        let choose = Callback::new(move |()| lab.set(|s| s.retriever.method = method));
        view! { <Pick group="method" title=info.title about=info.about checked=checked on_choose=choose /> }
    });
    let exact = move || {
        lab.settings
            .with(|s| s.retriever.arithmetic == Arithmetic::Float32)
    };
    let switch = move |ev| {
        let arithmetic = match event_target_checked(&ev) {
            true => Arithmetic::Float32,
            false => Arithmetic::Int8,
        };
        lab.set(|s| s.retriever.arithmetic = arithmetic);
    };
    view! {
        <section class="block" aria-labelledby="retrieval-head">
            <h2 id="retrieval-head">"Retrieval"</h2>
            <fieldset class="options">
                <legend class="sr-only">"How passages are found"</legend>
                {methods.collect_view()}
            </fieldset>
            <EmbeddingModel />
            <label class="option" class:checked=exact>
                <input type="checkbox" id="float32" prop:checked=exact on:change=switch />
                <span>
                    <strong>"Embed in float32"</strong>
                    <span class="muted small">
                        "Models that run in this browser. The exact reference: about three times as slow, and a larger engine to load. The usual int8 vectors agree with it to four digits."
                    </span>
                </span>
            </label>
        </section>
    }
}
