//! The nine tools as a stepper; each done stage unfolds to what went in and out.

use super::call::Calls;
use super::page::Page;
use super::stage_body::StageBody;
use crate::agent::trace::{StageId, StageOutcome, StageRecord};
use crate::agent::trace_view::{TOOLS, about, duration, input, name, summary, takes_part, tokens};
use crate::bench::ids::SessionId;
use crate::run::lost;
use crate::ui::parts::copy::CopyButton;
use leptos::prelude::*;

/// Id of a stage's element.
pub(super) fn anchor(stage: StageId) -> String {
    format!(
        "stage-{}",
        TOOLS.iter().position(|tool| *tool == stage).unwrap_or(0) + 1
    )
}

/// The tools that the chosen system uses on this task.
pub(super) fn of_run(page: Page) -> Vec<StageId> {
    TOOLS.into_iter().filter(|tool| used(page, *tool)).collect()
}

fn used(page: Page, tool: StageId) -> bool {
    let (system, action) = page
        .given
        .with_value(|given| (given.system, given.instance.action));
    // A record may be of another system than the one chosen now.
    let system = match page.run.record.get() {
        Some(record) => record.system,
        None => system.get(),
    };
    takes_part(tool, system, action)
}

/// All tools, those of the run as steps, the others as quiet lines.
#[component]
pub(super) fn StageList(page: Page) -> impl IntoView {
    let none = move || page.stages.with(|stages| stages.is_empty()) && !page.running();
    view! {
        <div class="zone-head">
            <h2>"Stages"</h2>
            <p class="muted">{move || total(page)}</p>
        </div>
        <Show when=none>
            <p class="inst-empty">
                "Run IBA-Agent to see what it retrieves, keeps, extracts and plans."
            </p>
        </Show>
        <ol class="stages">
            {TOOLS.map(|tool| view! { <StageItem page tool /> }).collect_view()}
        </ol>
    }
}

fn total(page: Page) -> Option<String> {
    let stages = page.stages.get();
    let (input, output) = stages
        .iter()
        .filter_map(tokens)
        .fold((0, 0), |sum, tokens| (sum.0 + tokens.0, sum.1 + tokens.1));
    let time: f64 = stages.iter().map(|stage| stage.duration_ms).sum();
    match (stages.is_empty(), input + output) {
        (true, _) => None,
        (false, 0) => Some(format!("{} in all, no model calls", duration(time))),
        (false, _) => Some(format!(
            "{} in all, {input} + {output} tokens",
            duration(time)
        )),
    }
}

#[component]
fn StageItem(page: Page, tool: StageId) -> impl IntoView {
    let record = Memo::new(move |_| {
        page.stages
            .with(|stages| stages.iter().find(|record| record.stage == tool).cloned())
    });
    let open = Memo::new(move |_| {
        record.with(Option::is_some) && page.focus.with(|focus| focus.stage == Some(tool))
    });
    let state = move || match () {
        () if record.with(|record| record.as_ref().is_some_and(failed)) => "failed",
        () if record.with(Option::is_some) => "done",
        () if page.running() && page.run.current.get() == Some(tool) => "running",
        () if used(page, tool) => "waiting",
        () => "unused",
    };
    view! {
        <li class="stage" id=anchor(tool) data-state=state class:open=move || open.get()>
            <button
                type="button"
                class="stage-line"
                prop:disabled=move || record.with(Option::is_none)
                aria-expanded=move || open.get().to_string()
                on:click=move |_| page.toggle_stage(tool)
            >
                <span class="stage-dot" aria-hidden="true"></span>
                <span class="stage-name">{name(tool)}</span>
                <span class="stage-note">{move || note(record.get().as_ref(), state())}</span>
                <span class="stage-cost">{move || record.get().as_ref().map(cost)}</span>
                {move || reach(page, record.get().as_ref()?)}
            </button>
            <Show when=move || open.get()>
                <div class="stage-body">
                    <p class="muted">
                        {about(tool)} " Works on " {input(tool)} "."
                    </p>
                    {move || record.get().map(|record| body(page, record))}
                </div>
            </Show>
            <Stream page tool />
        </li>
    }
}

/// How much evidence left the stage: of the requirement in focus, else of the whole instance.
fn reach(page: Page, record: &StageRecord) -> Option<impl IntoView + use<>> {
    let wanted = page.wanted.get();
    let (passed, title) = reached(&record.outcome, &wanted)?;
    let text = format!("{passed} of {}", wanted.len());
    Some(view! {
        <span class="stage-evidence" data-none=passed == 0 title=title>
            {text}
            <span class="sr-only">" evidence sessions"</span>
        </span>
    })
}

fn reached(outcome: &StageOutcome, wanted: &[SessionId]) -> Option<(usize, String)> {
    let out = lost::sessions_out(outcome)?;
    let passed = wanted
        .iter()
        .filter(|session| out.contains(*session))
        .count();
    let verb = match outcome {
        StageOutcome::Preferences { .. } => "cited by an extracted preference",
        _ => "past this stage",
    };
    let title = format!("{passed} of {} evidence sessions {verb}", wanted.len());
    (!wanted.is_empty()).then_some((passed, title))
}

fn failed(record: &StageRecord) -> bool {
    matches!(record.outcome, StageOutcome::Failed { .. })
}

fn note(record: Option<&StageRecord>, state: &str) -> String {
    match (record, state) {
        (Some(record), _) => summary(record),
        (None, "running") => "at work …".to_owned(),
        (None, "unused") => "not part of this run".to_owned(),
        (None, _) => String::new(),
    }
}

fn cost(record: &StageRecord) -> String {
    match tokens(record) {
        Some((input, output)) => {
            format!(
                "{} · {input} + {output} tokens",
                duration(record.duration_ms)
            )
        }
        None => duration(record.duration_ms),
    }
}

fn body(page: Page, record: StageRecord) -> impl IntoView {
    let notes = record
        .notes
        .clone()
        .into_iter()
        .map(|note| view! { <li>{note}</li> });
    let notes = (!record.notes.is_empty())
        .then(|| view! { <ul class="stage-notes">{notes.collect_view()}</ul> });
    let calls = record.calls.clone();
    let copied = StoredValue::new(record.clone());
    let json = Callback::new(move |()| {
        copied.with_value(|record| serde_json::to_string_pretty(record).unwrap_or_default())
    });
    view! {
        <StageBody page outcome=record.outcome />
        {notes}
        <Calls calls />
        <p class="inst-row">
            <CopyButton text=json label="Copy stage as JSON" />
        </p>
    }
}

/// Text of the model call that is running, as it comes in.
#[component]
fn Stream(page: Page, tool: StageId) -> impl IntoView {
    let text = move || {
        let here = page.running() && page.run.current.get() == Some(tool);
        here.then(|| page.run.stream.get())
            .filter(|text| !text.is_empty())
    };
    move || text().map(|text| view! { <pre class="stage-stream">{text}</pre> })
}
