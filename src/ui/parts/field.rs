//! A label, its control and a sentence about it.

use leptos::prelude::*;

/// Labels whatever control with the given `id` stands in it.
#[component]
pub fn Field(
    /// Id of the control.
    #[prop(into)]
    id: String,
    #[prop(into)] label: String,
    #[prop(optional, into)] about: Option<String>,
    children: Children,
) -> impl IntoView {
    let about_id = format!("{id}-about");
    view! {
        <div class="field">
            <label for=id>{label}</label>
            {children()}
            {about.map(|about| view! { <p class="muted small" id=about_id>{about}</p> })}
        </div>
    }
}

/// A choice among few values.
#[component]
pub fn Select(
    #[prop(into)] id: String,
    /// Value and words of each option.
    options: Vec<(String, String)>,
    #[prop(into)] value: Signal<String>,
    #[prop(into)] on_change: Callback<String>,
) -> impl IntoView {
    let items = options
        .into_iter()
        .map(|(name, words)| {
            let own = name.clone();
            view! { <option value=name selected=move || value.get() == own>{words}</option> }
        })
        .collect_view();
    view! {
        <select id=id prop:value=move || value.get() on:change=move |ev| on_change.run(event_target_value(&ev))>
            {items}
        </select>
    }
}
