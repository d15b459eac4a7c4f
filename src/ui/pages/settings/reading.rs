//! How a model is read: pooling, limit, prefixes. Filled in from the folder, the visitor's to
//! correct.

use crate::embed::spec::{ModelSpec, Pooling};
use crate::ui::parts::{Field, Select};
use leptos::prelude::*;

/// Fields of a [`ModelSpec`].
#[component]
pub fn ReadingFields(
    /// Makes the ids of its fields unique.
    #[prop(into)]
    name: String,
    spec: RwSignal<ModelSpec>,
) -> impl IntoView {
    let id = move |field: &str| format!("{name}-{field}");
    let [pooling_id, limit_id, query_id, passage_id] =
        ["pooling", "limit", "query", "passage"].map(id);
    let pooling = Signal::derive(move || {
        spec.with(|spec| match spec.pooling {
            None => "graph".to_owned(),
            Some(Pooling::Mean) => "mean".to_owned(),
            Some(Pooling::Cls) => "cls".to_owned(),
        })
    });
    let pool = Callback::new(move |word: String| {
        spec.update(|spec| {
            spec.pooling = match word.as_str() {
                "mean" => Some(Pooling::Mean),
                "cls" => Some(Pooling::Cls),
                _ => None,
            };
        });
    });
    let poolings = [
        ("mean", "Mean of the tokens"),
        ("cls", "First token (CLS)"),
        ("graph", "The graph does it"),
    ];
    let poolings = poolings.map(|(value, words)| (value.to_owned(), words.to_owned()));
    let limit = move |ev| {
        if let Ok(limit) = event_target_value(&ev).trim().parse::<u32>() {
            spec.update(|spec| spec.max_tokens = limit.clamp(8, 32_768));
        }
    };
    view! {
        <div class="form two-columns">
            <Field
                id=pooling_id.clone()
                label="Pooling"
                about="A graph that gives one vector for the whole text decides by itself."
            >
                <Select id=pooling_id.clone() options=poolings.to_vec() value=pooling on_change=pool />
            </Field>
            <Field id=limit_id.clone() label="Longest input, tokens">
                <input
                    id=limit_id.clone()
                    type="number"
                    min="8"
                    max="32768"
                    prop:value=move || spec.with(|spec| spec.max_tokens.to_string())
                    on:change=limit
                />
            </Field>
            <Field id=query_id.clone() label="Before a query">
                <input
                    id=query_id.clone()
                    type="text"
                    autocomplete="off"
                    placeholder="nothing"
                    prop:value=move || spec.with(|spec| spec.query_prefix.clone())
                    on:change=move |ev| spec.update(|spec| spec.query_prefix = event_target_value(&ev))
                />
            </Field>
            <Field id=passage_id.clone() label="Before a passage">
                <input
                    id=passage_id.clone()
                    type="text"
                    autocomplete="off"
                    placeholder="nothing"
                    prop:value=move || spec.with(|spec| spec.passage_prefix.clone())
                    on:change=move |ev| spec.update(|spec| spec.passage_prefix = event_target_value(&ev))
                />
            </Field>
            <label class="switch">
                <input
                    type="checkbox"
                    prop:checked=move || spec.with(|spec| spec.normalise)
                    on:change=move |ev| spec.update(|spec| spec.normalise = event_target_checked(&ev))
                />
                <span>
                    <strong>"Compare by cosine"</strong>
                    <span class="muted small">"Vectors are made unit vectors. Off only for models made for plain products."</span>
                </span>
            </label>
        </div>
    }
}
