//! What went into a stage, each kind in its own form.

use super::page::Page;
use super::stage_body::{compact, filtered, plan, preferences, query};
use crate::agent::inputs::{Input, inputs};
use crate::agent::trace::{StageRecord, System};
use crate::agent::trace_view::count;
use crate::bench::ids::SessionId;
use leptos::prelude::*;

/// The inputs of one stage of the run that is shown.
pub(super) fn stage_input(page: Page, record: &StageRecord) -> Option<AnyView> {
    let system = untrack(|| system(page));
    let inputs = page.stages.with_untracked(|stages| {
        let at = stages.iter().position(|other| other == record)?;
        Some(inputs(stages, at, system))
    })?;
    if inputs.is_empty() {
        return None;
    }
    let words: Vec<String> = inputs.iter().map(words).collect();
    let parts: Vec<AnyView> = inputs.into_iter().map(|input| part(page, input)).collect();
    let view = view! {
        <details class="stage-io" open>
            <summary>
                <strong>"What went in"</strong>
                <span class="muted">{format!(" {}", words.join(", "))}</span>
            </summary>
            <div class="stage-inputs" tabindex="0">{parts}</div>
        </details>
    };
    Some(view.into_any())
}

fn system(page: Page) -> System {
    let live = page.running();
    let of_record = page
        .run
        .record
        .with(|record| record.as_ref().map(|record| record.system));
    of_record.filter(|_| !live).unwrap_or(page.chosen().0)
}

fn words(input: &Input) -> String {
    match input {
        Input::Task => "the task".to_owned(),
        Input::Queries(list) => count(list.len(), "query", "queries"),
        Input::Passages(list) => count(list.len(), "passage", "passages"),
        Input::Sessions(list) => count(list.len(), "session", "sessions"),
        Input::Notes(list) => count(list.len(), "note", "notes"),
        Input::Preferences(list) => count(list.len(), "preference", "preferences"),
        Input::Plan(plan) => format!("a plan of {}", count(plan.items.len(), "point", "points")),
    }
}

fn part(page: Page, input: Input) -> AnyView {
    match input {
        Input::Task => task(page),
        Input::Queries(list) => list.into_iter().map(query).collect_view().into_any(),
        Input::Passages(list) => filtered(page, list, Vec::new()),
        Input::Sessions(list) => sessions(page, &list),
        Input::Notes(list) => {
            let items = list.into_iter().map(|item| compact(page, item));
            view! { <ul class="plain-list">{items.collect_view()}</ul> }.into_any()
        }
        Input::Preferences(list) => preferences(page, list),
        Input::Plan(points) => plan(points),
    }
}

/// The request in a line: the whole of it stands above.
fn task(page: Page) -> AnyView {
    let (text, call) = page.given.with_value(|given| {
        let api = given.instance.api.as_ref();
        (
            given.instance.task.instruction.clone(),
            api.map(|api| format!("{} {}", api.method, api.endpoint)),
        )
    });
    view! {
        <p class="excerpt">
            <span class="inst-tag">"task"</span>
            " "
            {text}
            {call.map(|call| view! { " " <code>{call}</code> })}
        </p>
    }
    .into_any()
}

fn sessions(page: Page, ids: &[SessionId]) -> AnyView {
    let span = match (ids.first(), ids.last()) {
        (Some(first), Some(last)) => format!(
            "{}, whole, {} to {}",
            count(ids.len(), "session", "sessions"),
            page.day(first),
            page.day(last)
        ),
        _ => "no session".to_owned(),
    };
    view! { <p>{span}</p> }.into_any()
}
