//! Knowledge against action: what a system answers when asked, and what it does.

use super::page::Page;
use super::verdict::State;
use crate::judge::VerdictState;
use crate::run::qa::{self, Gap};
use crate::run::record::{Mode, RunRecord, RunStatus};
use leptos::prelude::*;
use std::sync::Arc;

/// Shown once both runs of the chosen system are there, or one of them in QA mode.
#[component]
pub(super) fn GapPanel(page: Page) -> impl IntoView {
    let gap = Memo::new(move |_| gap(page));
    let table = move || {
        gap.get()
            .filter(|_| page.shown.get())
            .map(|gap| panel(page, gap))
    };
    view! { <div class="gap">{table}</div> }
}

fn gap(page: Page) -> Option<Gap> {
    let (system, chosen) = page.chosen();
    let (runs, hidden) = page
        .given
        .with_value(|given| (given.runs, Arc::clone(&given.hidden)));
    let runs = runs.get();
    let latest = |mode: Mode| -> Option<Arc<RunRecord>> {
        let fits = |run: &&Arc<RunRecord>| {
            run.system == system && run.variant.mode == mode && run.status == RunStatus::Done
        };
        runs.iter().rev().find(fits).cloned()
    };
    let (task, asked) = (latest(Mode::Task), latest(Mode::Qa));
    let worth_showing = asked.is_some() || chosen == Mode::Qa;
    worth_showing.then(|| qa::gap(&hidden, task.as_deref(), asked.as_deref()))
}

fn panel(page: Page, gap: Gap) -> impl IntoView {
    let number =
        |mean: Option<f64>| mean.map_or("–".to_owned(), |mean| format!("{:.0}", mean * 100.0));
    let sentence = match gap.points() {
        Some(points) if points < 0.0 => format!(
            "It knows more than it does: the task lies {:.0} points below the questions.",
            -points
        ),
        Some(points) if points > 0.0 => format!(
            "It does more than it says it knows: the task lies {points:.0} points above the questions."
        ),
        Some(_) => "It does exactly as much as it knows.".to_owned(),
        None if gap.task.is_none() && gap.qa.is_none() => {
            "Neither run has a verdict yet. Answers are judged by a model; choose one under Settings."
                .to_owned()
        }
        None if gap.task.is_none() => "Run the task as well to see the gap.".to_owned(),
        None => "The answers have no verdict yet. They are judged by a model: choose one under Settings, then run QA.".to_owned(),
    };
    let state = |state: Option<VerdictState>| match state {
        Some(state) => view! { <State state /> }.into_any(),
        None => view! { <span class="muted">"not run"</span> }.into_any(),
    };
    let rows = gap.rows.into_iter().map(move |row| {
        view! {
            <tr>
                <th scope="row">
                    {row.text}
                    {row.question.map(|q| view! { <small class="slot-meaning">{q}</small> })}
                </th>
                <td>{state(row.known)}</td>
                <td>{state(row.acted)}</td>
            </tr>
        }
    });
    let (system, _) = untrack(|| page.chosen());
    view! {
        <div class="zone-head">
            <h2>"Known and acted on"</h2>
            <p class="muted">
                {format!("{}: QA {} · Task {}", system.name(), number(gap.qa), number(gap.task))}
            </p>
        </div>
        <p>{sentence}</p>
        <div class="table-scroll" tabindex="0">
            <table class="inst-table">
                <thead>
                    <tr>
                        <th scope="col">"Preference"</th>
                        <th scope="col">"Known when asked"</th>
                        <th scope="col">"Acted on"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
}
