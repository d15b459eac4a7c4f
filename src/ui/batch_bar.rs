//! The bar of a batch: how far it is, with pause, cancel and a way on. Stands on every page.

use super::runner::{BatchState, Phase};
use super::state::Lab;
use crate::route::{Query, Route};
use leptos::prelude::*;

#[component]
pub fn BatchBar(lab: Lab) -> impl IntoView {
    let batch = lab.batch;
    let results = Route::Results {
        query: Query::default(),
    }
    .address();
    move || {
        let BatchState { progress, phase } = batch.state.get()?;
        let words = match &phase {
            Phase::Running => format!("{}: {}", progress.title, progress.words()),
            Phase::Paused => format!("{}: paused at {}", progress.title, progress.words()),
            Phase::Stuck(why) => format!(
                "{}: stopped at {}, because the last runs failed alike: {why}",
                progress.title,
                progress.words()
            ),
            Phase::Finished => format!("{}: ended at {}", progress.title, progress.words()),
        };
        let button = |label: &'static str, act: Box<dyn Fn()>| {
            view! { <button type="button" class="button small" on:click=move |_| act()>{label}</button> }
        };
        let buttons = match phase {
            Phase::Running => vec![
                button("Pause", Box::new(move || batch.pause())),
                button("Cancel", Box::new(move || batch.cancel(lab))),
            ],
            Phase::Paused | Phase::Stuck(_) => vec![
                button("Go on", Box::new(move || batch.go_on(lab))),
                button("Cancel", Box::new(move || batch.cancel(lab))),
            ],
            Phase::Finished => vec![button("Close", Box::new(move || batch.dismiss()))],
        };
        Some(view! {
            <div class="batch-bar" role="status" aria-live="polite">
                <progress aria-label=progress.title max=progress.total.max(1).to_string() value=progress.done.to_string()></progress>
                <p class="grow">{words}</p>
                <a class="button small" href=results.clone()>"Results"</a>
                {buttons}
            </div>
        })
    }
}
