//! The way of a failed requirement's evidence through the stages, drawn as a strip.

use super::page::Page;
use crate::agent::trace::StageId;
use crate::agent::trace_view::count;
use crate::bench::taxonomy::Action;
use crate::run::lost::{Gate, Loss, Means, Passed, Path, Step};
use leptos::prelude::*;

/// Eight gates, the one where the evidence ended marked, and the finding in a sentence.
#[component]
pub(super) fn LostPath(page: Page, path: Path) -> impl IntoView {
    let sentence = path.sentence();
    let loss = path.loss;
    let reasons: Vec<String> = path
        .steps
        .iter()
        .filter(|step| at(loss) == Some(step.gate))
        .flat_map(|step| &step.reasons)
        .map(|(passage, reason)| format!("{}: {reason}", passage.0))
        .collect();
    let reasons = (!reasons.is_empty())
        .then(|| view! { <p class="muted lost-reasons">{reasons.join("; ")}</p> });
    // What came behind the loss would only contradict it.
    let until = path
        .steps
        .iter()
        .filter(|step| at(loss).is_none_or(|gate| step.gate <= gate));
    let entries = until.filter_map(entry).collect_view();
    let steps = path
        .steps
        .into_iter()
        .map(|step| one(page, step, loss))
        .collect_view();
    view! {
        <div class="lost">
            <p class="lost-head">
                <strong>"Where was it lost? "</strong>
                {sentence}
            </p>
            <ol class="lost-path">{steps}</ol>
            {reasons}
            {entries}
        </div>
    }
}

/// The entry that a later stage's finding rests on, and how it was found.
fn entry(step: &Step) -> Option<impl IntoView + use<>> {
    let link = step.link.as_ref()?;
    let by = match (step.means, link.similarity) {
        (Means::Similarity, Some(near)) => {
            format!("by similarity {near:.2}, which cannot tell a wish from its opposite")
        }
        (Means::Similarity, None) => "nothing to compare with".to_owned(),
        (Means::Slot, _) => "by the values named".to_owned(),
        (Means::Citation, Some(near)) => {
            format!("it rests on the evidence and is near by similarity {near:.2}")
        }
        _ => "by a judge model".to_owned(),
    };
    let gate = step.gate.label();
    let found = link.found || step.means == Means::Citation;
    let words = match (found, link.entry.is_empty()) {
        (true, false) => format!("{gate}: “{}”", link.entry),
        (true, true) => format!("{gate}: yes"),
        (false, false) => format!("not {gate}; the nearest entry is “{}”", link.entry),
        (false, true) => format!("not {gate}"),
    };
    Some(view! { <p class="muted lost-reasons">{format!("{words} ({by}).")}</p> })
}

/// The gate a loss points at.
fn at(loss: Loss) -> Option<Gate> {
    match loss {
        Loss::At(gate) | Loss::LatestAt(gate) => Some(gate),
        Loss::After(_) | Loss::Unknown => None,
    }
}

fn one(page: Page, step: Step, loss: Loss) -> impl IntoView {
    let action = page.given.with_value(|given| given.instance.action);
    let stage = match step.means {
        Means::Fit => StageId::HistoryFitting,
        _ => stage_of(step.gate, action),
    };
    let after = at(loss).is_some_and(|gate| step.gate > gate);
    let (state, word) = match step.passed {
        _ if at(loss) == Some(step.gate) => ("lost", "lost here"),
        Passed::NotRun => ("skipped", "no such stage in this run"),
        _ if after => ("after", "after the loss"),
        Passed::All => ("passed", "passed"),
        Passed::Some => ("partly", "partly passed"),
        Passed::Nothing => ("after", "not reached"),
        Passed::Unknown => ("unknown", "cannot be told"),
    };
    let title = format!("{}: {word}{}", step.gate.label(), means(&step));
    view! {
        <li data-state=state>
            <button
                type="button"
                title=title.clone()
                aria-label=title
                prop:disabled=state == "skipped"
                on:click=move |_| page.show_stage(stage)
            >
                <span class="lost-dot" aria-hidden="true"></span>
                <span class="lost-label">{step.gate.label()}</span>
            </button>
        </li>
    }
}

/// How it is known.
fn means(step: &Step) -> String {
    let sessions = count(step.sessions.len(), "evidence session", "evidence sessions");
    match step.means {
        Means::Evidence => format!(", {sessions}, by evidence links"),
        Means::Citation => format!(", {sessions}, by the passages that preferences cite"),
        Means::Model => ", by a judge model".to_owned(),
        Means::Similarity => ", by similarity".to_owned(),
        Means::Slot => ", by the slot the plan decides".to_owned(),
        Means::Donor => ", another user's history was searched".to_owned(),
        Means::Fit => format!(", {sessions}, by what fitted into the context"),
        Means::Verdict => ", by the verdict".to_owned(),
        Means::Nothing => String::new(),
    }
}

fn stage_of(gate: Gate, action: Action) -> StageId {
    match (gate, action) {
        (Gate::Retrieved, _) => StageId::SimilarityRetrieval,
        (Gate::Kept, _) => StageId::RedundancyFiltering,
        (Gate::RankedIn, _) => StageId::SalienceReranking,
        (Gate::CompactedIn, _) => StageId::CompactEvidence,
        (Gate::Extracted, _) => StageId::PreferenceExtraction,
        (Gate::Planned, _) => StageId::TaskPreferenceAlignment,
        (Gate::Output | Gate::Agreed, Action::GenerateText) => StageId::TextGeneration,
        (Gate::Output | Gate::Agreed, Action::CallApi) => StageId::ParameterFilling,
    }
}
