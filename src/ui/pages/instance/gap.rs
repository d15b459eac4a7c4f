//! Knowledge against action: what a system answers when asked, and what it does.

use super::page::Page;
use super::verdict::State;
use crate::judge::opinion::Standing;
use crate::run::qa::{self, Gap};
use crate::run::record::Mode;
use leptos::prelude::*;
use std::sync::Arc;

/// Shown once both runs of the chosen system are there, or one of them in QA mode.
#[component]
pub(super) fn GapPanel(page: Page) -> impl IntoView {
    let gap = Memo::new(move |_| gap(page));
    let table = move || {
        gap.get()
            .filter(|_| page.shown.get())
            .map(|(gap, differs)| panel(page, gap, differs))
    };
    view! { <div class="gap">{table}</div> }
}

fn gap(page: Page) -> Option<(Gap, Vec<String>)> {
    let (system, chosen) = page.chosen();
    let (runs, hidden) = page
        .given
        .with_value(|given| (given.runs, Arc::clone(&given.hidden)));
    let pairing = runs.with(|runs| qa::pairing(runs, system));
    let worth_showing = pairing.qa.is_some() || chosen == Mode::Qa;
    let gap = || qa::gap(&hidden, pairing.task.as_deref(), pairing.qa.as_deref());
    worth_showing.then(|| (gap(), pairing.differs.clone()))
}

fn panel(page: Page, gap: Gap, differs: Vec<String>) -> impl IntoView {
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
    let state = |state: Option<Standing>| match state {
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
        <p class="inst-tag warn" hidden=differs.is_empty()>
            {format!("The two runs differ in more than the mode: {}.", differs.join("; "))}
        </p>
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
