//! One instance in the list.

use super::View;
use crate::bench::taxonomy::Action;
use crate::judge::VerdictState;
use crate::route::Route;
use crate::run::record::{RunRecord, RunStatus};
use crate::ui::runner::Subject;
use leptos::prelude::*;

/// Height of a row.
pub const ROW_REM: f64 = 4.25;

/// The row of that number in the filtered list.
pub fn row(view: View, number: usize) -> AnyView {
    let position = view
        .filtered
        .with_untracked(|filtered| filtered.rows.get(number).copied());
    let found = view.open.with_value(|open| {
        let entry = open.dataset.index.get(position?)?.clone();
        let scenario = open.dataset.manifest.scenario(&entry.scenario).cloned();
        let domain = open.domain(&entry);
        let subject = Subject {
            dataset_sha256: open.dataset.manifest_sha256.clone(),
            instance: entry.id.clone(),
        };
        Some((entry, scenario, domain, open.key.clone(), subject))
    });
    let Some((entry, scenario, domain, key, subject)) = found else {
        return ().into_any();
    };
    let action = scenario.as_ref().map(|scenario| scenario.action);
    let scenario = scenario.map_or_else(|| entry.scenario.to_string(), |scenario| scenario.name);
    let to = Route::instance(key, entry.id.clone()).address();
    let marks = [
        (action == Some(Action::CallApi)).then_some("API call"),
        entry.dynamic.then_some("changed"),
    ];
    let marks = marks
        .into_iter()
        .flatten()
        .map(|mark| view! { <span class="tag">{mark}</span> })
        .collect_view();
    let numbers = format!(
        "{} evidence · {} requirements",
        entry.evidence, entry.constraints
    );
    view! {
        <a class="instance-row" href=to data-row=number.to_string() on:click=move |_| view.leave_trail()>
            <span class="what">
                <span class="scenario">{scenario}</span>
                <span class="muted domain">{domain.name}</span>
                {marks}
            </span>
            <span class="task">{entry.instruction}</span>
            <span class="numbers muted">
                <span>{entry.persona.to_string()}</span>
                <span>{numbers}</span>
            </span>
            <span class="state">{move || badge(view, &subject)}</span>
        </a>
    }
    .into_any()
}

/// How the latest run on an instance stands.
fn badge(view: View, subject: &Subject) -> Option<AnyView> {
    let runner = view.lab.runner;
    if runner.live_of(subject, None).is_some() {
        return Some(
            view! { <span class="chip"><span class="spinner"></span>"running"</span> }.into_any(),
        );
    }
    let record = runner.latest(subject, None)?;
    let (class, words) = match &record.status {
        RunStatus::Done => {
            return Some(view! { <span class="chip">{score(&record)}</span> }.into_any());
        }
        RunStatus::Running => ("chip warn", "interrupted"),
        RunStatus::Cancelled => ("chip", "cancelled"),
        RunStatus::Failed { .. } => ("chip bad", "error"),
    };
    Some(view! { <span class=class>{words}</span> }.into_any())
}

/// `3 of 5 met`, and how many nobody could decide.
fn score(record: &RunRecord) -> String {
    // Where models judged, rules alone are not the verdict.
    let by_model = |j: &&crate::judge::Judgement| crate::judge::opinion::is_model(&j.judge);
    let judged = record.judgements.iter().rfind(by_model);
    let Some(judgement) = judged.or(record.judgements.first()) else {
        return "no verdict".to_owned();
    };
    let count = |state| {
        judgement
            .verdicts
            .iter()
            .filter(|verdict| verdict.state == state)
            .count()
    };
    let (met, open) = (count(VerdictState::Met), count(VerdictState::Unscored));
    let scored = judgement.verdicts.len() - open;
    match open {
        0 => format!("{met} of {scored} met"),
        open => format!("{met} of {scored} met, {open} unscored"),
    }
}
