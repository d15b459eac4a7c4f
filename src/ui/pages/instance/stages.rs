//! The steps of a run as a list; each done one unfolds to what went in and out.

use super::call::Calls;
use super::page::Page;
use super::stage_body::StageBody;
use super::stage_input::stage_input;
use crate::agent::trace::{StageId, StageOutcome, StageRecord};
use crate::agent::trace_view::{StepKey, about, duration, layout, name, steps, summary, tokens};
use crate::bench::ids::SessionId;
use crate::llm::price::PriceTable;
use crate::run::lost;
use crate::run::record::Mode;
use crate::run::spend;
use crate::ui::parts::copy::CopyButton;
use leptos::prelude::*;

/// Id of a step's element.
pub(super) fn anchor(stage: StageId, nth: u32) -> String {
    let word = match serde_json::to_value(stage) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    };
    match nth {
        0 => format!("stage-{word}"),
        nth => format!("stage-{word}-{}", nth + 1),
    }
}

/// The steps that are a part of the run.
pub(super) fn of_run(page: Page) -> Vec<StepKey> {
    let mut steps = list(page);
    steps.retain(|step| step.used);
    steps
}

fn list(page: Page) -> Vec<StepKey> {
    let action = page.given.with_value(|given| given.instance.action);
    // A record may be of another system than the one chosen now.
    let (system, mode) = match page.run.record.get() {
        Some(record) => (record.system, record.variant.mode),
        None => page.chosen(),
    };
    let expected = steps(system, action, mode == Mode::Qa);
    let done: Vec<StageId> = page
        .stages
        .with(|stages| stages.iter().map(|record| record.stage).collect());
    let current = page.run.current.get().filter(|_| page.running());
    layout(&expected, &done, current)
}

/// All steps, those of the run with what they did, the tools left out as quiet lines.
#[component]
pub(super) fn StageList(page: Page) -> impl IntoView {
    let none = move || page.stages.with(|stages| stages.is_empty()) && !page.running();
    let list = Memo::new(move |_| list(page));
    view! {
        <div class="zone-head">
            <h2>"Stages"</h2>
            <p class="muted">{move || total(page)}</p>
        </div>
        <Show when=move || page.stages.with(|stages| stages.len() > 1)>
            <Folding page />
        </Show>
        <Show when=none>
            <p class="inst-empty">
                "Run a system to see what it retrieves, keeps, extracts and plans."
            </p>
        </Show>
        <ol class="stages">
            <For each=move || list.get() key=|step| *step let:step>
                <StageItem page step />
            </For>
        </ol>
    }
}

/// Opens or closes all steps at once.
#[component]
fn Folding(page: Page) -> impl IntoView {
    let done = move || {
        let nth_of = |list: &[StageRecord], at: usize| {
            let same = list[..at]
                .iter()
                .filter(|other| other.stage == list[at].stage);
            (list[at].stage, same.count() as u32)
        };
        page.stages.with(|list| {
            (0..list.len())
                .map(|at| nth_of(list, at))
                .collect::<Vec<_>>()
        })
    };
    let all_open = move || {
        done()
            .iter()
            .all(|(stage, nth)| page.is_step_open(*stage, *nth))
    };
    let any_open = move || {
        done()
            .iter()
            .any(|(stage, nth)| page.is_step_open(*stage, *nth))
    };
    let close = move |_| {
        page.open_steps.update(|open| open.clear());
        page.change(|focus| {
            focus.stage = None;
            focus.nth = 0;
        });
    };
    view! {
        <p class="inst-row stage-folding">
            <button
                type="button"
                class="link"
                prop:disabled=all_open
                on:click=move |_| page.open_steps.update(|open| open.extend(untrack(done)))
            >
                "Open all"
            </button>
            <button type="button" class="link" prop:disabled=move || !any_open() on:click=close>
                "Close all"
            </button>
        </p>
    }
}

fn total(page: Page) -> Option<String> {
    let stages = page.stages.get();
    let own = stages.iter().filter(|stage| stage.shared_from.is_none());
    let (input, output) = own
        .filter_map(tokens)
        .fold((0, 0), |sum, tokens| (sum.0 + tokens.0, sum.1 + tokens.1));
    let time: f64 = stages.iter().map(|stage| stage.duration_ms).sum();
    let shared = stages.iter().filter(|stage| stage.shared_from.is_some());
    let shared = match shared.count() {
        0 => String::new(),
        n => format!(", {n} shared"),
    };
    let paid = stages.iter().filter(|stage| stage.shared_from.is_none());
    let prices = page.given.with_value(|given| given.prices);
    let spent = prices.with(|prices| spend::of_calls(paid.flat_map(|stage| &stage.calls), prices));
    let price = match spent.usd > 0.0 {
        true => format!(", {}", spent.words()),
        false => String::new(),
    };
    let calls = stages.iter().any(|stage| !stage.calls.is_empty());
    match (stages.is_empty(), input + output) {
        (true, _) => None,
        (false, 0) if !calls => Some(format!("{} in all, no model calls", duration(time))),
        (false, _) => Some(format!(
            "{} in all, {input} + {output} tokens{price}{shared}",
            duration(time)
        )),
    }
}

#[component]
fn StageItem(page: Page, step: StepKey) -> impl IntoView {
    let StepKey { stage, nth, used } = step;
    let prices = page.given.with_value(|given| given.prices);
    let record = Memo::new(move |_| {
        page.stages.with(|stages| {
            let mut same = stages.iter().filter(|record| record.stage == stage);
            same.nth(nth as usize).cloned()
        })
    });
    let open = Memo::new(move |_| record.with(Option::is_some) && page.is_step_open(stage, nth));
    let state = move || match () {
        () if record.with(|record| record.as_ref().is_some_and(failed)) => "failed",
        () if record.with(Option::is_some) => "done",
        () if page.running() && page.run.current.get() == Some(stage) => "running",
        () if used => "waiting",
        () => "unused",
    };
    view! {
        <li class="stage" id=anchor(stage, nth) data-state=state class:open=move || open.get()>
            <button
                type="button"
                class="stage-line"
                id=format!("{}-line", anchor(stage, nth))
                prop:disabled=move || record.with(Option::is_none)
                aria-expanded=move || open.get().to_string()
                on:click=move |_| page.toggle_step(stage, nth)
            >
                <span class="stage-dot" aria-hidden="true"></span>
                <span class="stage-name">{name(stage)}</span>
                <span class="stage-note">{move || note(record.get().as_ref(), state())}</span>
                <span class="stage-cost">{move || prices.with(|prices| record.get().map(|record| cost(&record, prices)))}</span>
                {move || reach(page, record.get().as_ref()?)}
            </button>
            <Show when=move || open.get()>
                <div class="stage-body">
                    <p class="muted">{about(stage)}</p>
                    {move || record.get().map(|record| body(page, record))}
                </div>
            </Show>
            <Stream page stage at_work=Signal::derive(move || state() == "running") />
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

/// Time, tokens, model calls and price; what was taken over cost nothing here.
fn cost(record: &StageRecord, prices: &PriceTable) -> String {
    let mut parts = vec![match record.shared_from {
        Some(_) => "shared with an earlier run, not paid again".to_owned(),
        None => duration(record.duration_ms),
    }];
    parts.extend(tokens(record).map(|(input, output)| format!("{input} + {output} tokens")));
    if record.calls.len() > 1 {
        parts.push(format!("{} calls", record.calls.len()));
    }
    let spent = spend::of_calls(&record.calls, prices);
    if record.shared_from.is_none() && spent.usd > 0.0 {
        parts.push(spent.words());
    }
    parts.join(" · ")
}

fn body(page: Page, record: StageRecord) -> impl IntoView {
    let notes = record
        .notes
        .clone()
        .into_iter()
        .map(|note| view! { <li>{note}</li> });
    let notes = (!record.notes.is_empty())
        .then(|| view! { <ul class="stage-notes">{notes.collect_view()}</ul> });
    let shared = record.shared_from.clone().map(|run| {
        view! {
            <p class="muted">
                "Inputs, model, prompt and parameters are those of run " <code>{run}</code>
                ", so its result was taken over."
            </p>
        }
    });
    let calls = record.calls.clone();
    let went_in = stage_input(page, &record);
    let copied = StoredValue::new(record.clone());
    let json = Callback::new(move |()| {
        copied.with_value(|record| serde_json::to_string_pretty(record).unwrap_or_default())
    });
    view! {
        {went_in}
        <Calls calls />
        <h3 class="stage-out">"What came out"</h3>
        <StageBody page outcome=record.outcome />
        {notes}
        {shared}
        <p class="inst-row">
            <CopyButton text=json label="Copy stage as JSON" />
        </p>
    }
}

/// Text of the model call that is running, as it comes in.
#[component]
fn Stream(page: Page, stage: StageId, at_work: Signal<bool>) -> impl IntoView {
    let text = move || {
        let here = at_work.get() && page.run.current.get() == Some(stage);
        here.then(|| page.run.stream.get())
            .filter(|text| !text.is_empty())
    };
    move || text().map(|text| view! { <pre class="stage-stream">{text}</pre> })
}
