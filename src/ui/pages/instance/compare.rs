//! Systems side by side on this instance: verdicts, scores, costs, outputs.

use super::output::state_word;
use super::page::Page;
use super::task::plain;
use super::verdict::State;
use crate::agent::trace::{Output, System};
use crate::agent::trace_view::{count, duration};
use crate::run::compare::{Column, Comparison, Cost, Line, compare};
use crate::run::record::{Mode, RunStatus};
use crate::words::percent;
use leptos::prelude::*;
use std::sync::Arc;

/// The table, once there is a run; and what else could be run.
#[component]
pub(super) fn Compare(page: Page) -> impl IntoView {
    let comparison = Memo::new(move |_| compared(page, page.chosen().1));
    let other = Memo::new(move |_| match page.chosen().1 {
        Mode::Task => (Mode::Qa, compared(page, Mode::Qa)),
        Mode::Qa => (Mode::Task, compared(page, Mode::Task)),
    });
    let columns = move || comparison.with(|c| c.columns.len());
    let note = move || match page.chosen().1 {
        Mode::Task => count(columns(), "system", "systems"),
        Mode::Qa => format!("{} on the questions", count(columns(), "system", "systems")),
    };
    let table = move || {
        let shown = page.shown.get() && columns() > 0;
        shown.then(|| self::table(page, comparison.get()))
    };
    let other_table = move || {
        let (mode, comparison) = other.get();
        let shown = page.shown.get() && !comparison.columns.is_empty();
        let title = match mode {
            Mode::Task => "The same on the task",
            Mode::Qa => "The same on the questions",
        };
        shown.then(|| view! { <h3>{title}</h3> {self::table(page, comparison)} })
    };
    view! {
        <div class="zone-head">
            <h2>"Side by side"</h2>
            <p class="muted">{note}</p>
        </div>
        <Show when=move || { columns() < 2 }>
            <p class="inst-empty">
                "Run several systems on this instance to compare their outputs and verdicts here. Stages that are equal are shared and not paid again."
            </p>
        </Show>
        {table}
        <Missing page comparison />
        {other_table}
    }
}

/// All runs on this instance in one mode, side by side.
fn compared(page: Page, mode: Mode) -> Comparison {
    let (runs, hidden) = page
        .given
        .with_value(|given| (given.runs, Arc::clone(&given.hidden)));
    compare(&hidden, &runs.get(), mode)
}

/// Systems without a run, each with a button.
#[component]
fn Missing(page: Page, comparison: Memo<Comparison>) -> impl IntoView {
    let systems = page.given.with_value(|given| given.systems.clone());
    let (blocked, model) = page.given.with_value(|given| (given.blocked, given.agent));
    let missing = move || {
        let done: Vec<System> = comparison.with(|c| {
            c.columns
                .iter()
                .map(|column| column.record.system)
                .collect()
        });
        let left = systems
            .iter()
            .copied()
            .filter(|system| !done.contains(system));
        let (_, mode) = page.chosen();
        left.map(|system| {
            let refused = move || model.with(|model| system.refuses(model));
            // The sentence about the chosen system is none about the others.
            let off = move || {
                page.running()
                    || refused().is_some()
                    || (blocked.get().is_some() && page.chosen().0.refuses(&model.get()).is_none())
            };
            view! {
                <button
                    type="button"
                    class="button small"
                    title=move || refused().unwrap_or(system.about())
                    prop:disabled=off
                    on:click=move |_| page.on.run.run((system, mode))
                >
                    {system.name()}
                </button>
            }
        })
        .collect_view()
    };
    view! {
        <div class="inst-row compare-missing" role="group" aria-label="Run another system">
            <span class="muted">"Run "</span>
            {missing}
        </div>
    }
}

fn table(page: Page, comparison: Comparison) -> impl IntoView {
    let heads = comparison
        .columns
        .iter()
        .map(|column| head(page, column))
        .collect_view();
    let scores = comparison.columns.iter().map(|column| {
        let score = column.score.map_or("–".to_owned(), percent);
        view! { <td class="compare-score">{score}</td> }
    });
    let costs = comparison
        .columns
        .iter()
        .map(|column| view! { <td class="small muted">{cost(column.cost)}</td> });
    let outputs = comparison
        .columns
        .iter()
        .map(|column| view! { <td>{output(column)}</td> })
        .collect_view();
    let lines = comparison.lines.iter().map(line).collect_view();
    view! {
        <div class="table-scroll compare-table" tabindex="0">
            <table class="inst-table">
                <thead>
                    <tr>
                        <th scope="col">"Requirement"</th>
                        {heads}
                    </tr>
                </thead>
                <tbody>
                    <tr>
                        <th scope="row">"Score"</th>
                        {scores.collect_view()}
                    </tr>
                    {lines}
                    <tr>
                        <th scope="row">"Took"</th>
                        {costs.collect_view()}
                    </tr>
                    <tr class="compare-outputs">
                        <th scope="row">"Output"</th>
                        {outputs}
                    </tr>
                </tbody>
            </table>
        </div>
    }
}

fn head(page: Page, column: &Column) -> impl IntoView + use<> {
    let record = Arc::clone(&column.record);
    let name = record.system_label();
    let mut about = vec![record.agent.label()];
    about.extend(column.details.all());
    about.push(format!("repeat {}", record.epoch));
    let about = about.join(" · ");
    let shown = {
        let id = record.id.clone();
        move || {
            page.run
                .record
                .with(|now| now.as_ref().is_some_and(|now| now.id == id))
        }
    };
    view! {
        <th scope="col" class:shown=shown>
            <button
                type="button"
                class="link"
                title="Show this run above"
                on:click=move |_| page.on.open_run.run(Arc::clone(&record))
            >
                {name}
            </button>
            <small class="slot-meaning">{about}</small>
        </th>
    }
}

fn line(line: &Line) -> impl IntoView + use<> {
    let states = line.states.iter().map(|state| match state {
        Some(state) => {
            view! { <td data-state=state_word(*state).0><State state=*state /></td> }.into_any()
        }
        None => view! { <td class="muted">"–"</td> }.into_any(),
    });
    view! {
        <tr class:differs=line.differs()>
            <th scope="row">
                <span class="muted">{line.id.0.clone()}</span>
                " "
                {line.text.clone()}
            </th>
            {states.collect_view()}
        </tr>
    }
}

fn cost(cost: Cost) -> String {
    let mut parts = Vec::new();
    parts.extend(cost.duration_ms.map(duration));
    match (cost.calls, cost.shared_calls) {
        (0, 0) => parts.push("no model calls".to_owned()),
        (own, 0) => parts.push(count(own, "call", "calls")),
        (own, shared) => parts.push(format!("{}, {shared} shared", count(own, "call", "calls"))),
    }
    parts.extend(cost.tokens.map(|tokens| format!("{tokens} tokens")));
    parts.join(" · ")
}

fn output(column: &Column) -> AnyView {
    match (&column.output, &column.record.status) {
        (Some(Output::GenerateText { text }), _) => {
            view! { <div class="compare-output" tabindex="0">{text.clone()}</div> }.into_any()
        }
        (Some(Output::CallApi { slots, .. }), _) => {
            let slots = slots.iter().map(|(slot, value)| {
                view! {
                    <li>
                        <code>{slot.clone()}</code>
                        " "
                        {plain(value)}
                    </li>
                }
            });
            view! { <ul class="plain-list">{slots.collect_view()}</ul> }.into_any()
        }
        (None, RunStatus::Failed { message }) => {
            view! { <p class="stage-failed small">{message.clone()}</p> }.into_any()
        }
        (None, _) => view! { <span class="muted">"cancelled"</span> }.into_any(),
    }
}
