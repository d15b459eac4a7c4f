//! Every run and every sample with its verdicts.

use crate::judge::{Judgement, VerdictState};
use crate::results::file::{ScoreRow, ScoreValue};
use crate::results::{LoadedResult, SampleRow};
use crate::run::record::{RunRecord, RunStatus};
use crate::run::setup::Details;
use leptos::prelude::*;
use std::sync::Arc;

/// Rows that are built at once; the rest comes on demand.
const FIRST: usize = 60;

/// Runs of this tab first, then the samples of each file.
#[component]
pub fn Instances(
    records: Signal<Vec<Arc<RunRecord>>>,
    opened: Signal<Vec<Arc<LoadedResult>>>,
    instance_href: Callback<Arc<RunRecord>, String>,
) -> impl IntoView {
    let shown = RwSignal::new(FIRST);
    let total = Memo::new(move |_| {
        let samples =
            opened.with(|opened| opened.iter().map(|one| one.file.rows.len()).sum::<usize>());
        records.with(Vec::len) + samples
    });
    let rows = move || {
        let own = records.get();
        let files = opened.get();
        let own = own
            .iter()
            .map(|record| run(record, "this tab", instance_href));
        let foreign = files.iter().flat_map(|one| {
            let name = one.file.name.as_str();
            one.file.rows.iter().map(move |row| match &row.record {
                Some(record) => run(record, name, instance_href),
                None => sample(row, name),
            })
        });
        own.chain(foreign).take(shown.get()).collect_view()
    };
    view! {
        <section class="block" aria-labelledby="instances-title">
            <h2 id="instances-title">{move || format!("Instances ({})", total.get())}</h2>
            <ul class="result-list">{rows}</ul>
            <button
                type="button"
                class="button"
                hidden=move || total.get() <= shown.get()
                on:click=move |_| shown.update(|n| *n += 10 * FIRST)
            >
                "Show more"
            </button>
        </section>
    }
    .into_any()
}

fn run(record: &Arc<RunRecord>, source: &str, href: Callback<Arc<RunRecord>, String>) -> AnyView {
    let strips = record
        .judgements
        .iter()
        .map(|judgement| strip(record, judgement));
    let (status, note) = status(&record.status);
    let details = Details::of(record, &[]).all();
    let about = [record.system_label(), record.agent.label()].into_iter();
    let about: Vec<String> = about.chain(details).collect();
    view! {
        <li class="result-row">
            <p class="result-title">
                <a href=href.run(record.clone())>{record.instance.to_string()}</a>
                <span class="muted small">
                    {format!(" {} · repeat {} · {source}", about.join(" · "), record.epoch)}
                </span>
                {(!status.is_empty()).then(|| view! { <span class="chip warn">{status}</span> })}
            </p>
            {note.map(|note| view! { <p class="small">{note}</p> })}
            {strips.collect_view()}
        </li>
    }
    .into_any()
}

fn status(status: &RunStatus) -> (&'static str, Option<String>) {
    match status {
        RunStatus::Done => ("", None),
        RunStatus::Running => ("… running", None),
        RunStatus::Cancelled => ("– cancelled", None),
        RunStatus::Failed { message } => ("! failed", Some(message.clone())),
    }
}

/// One judge's verdicts: sign, word and colour; the requirement's text and the reason as title.
fn strip(record: &RunRecord, judgement: &Judgement) -> AnyView {
    let verdicts = judgement.verdicts.iter().map(|verdict| {
        let note = record
            .requirements
            .iter()
            .find(|note| note.id == verdict.requirement);
        let text = note.map_or("", |note| note.text.as_str());
        let title = format!("{text}\n{}", verdict.rationale);
        chip(verdict.requirement.as_str(), verdict.state, title)
    });
    let verdicts = verdicts.collect_view();
    view! {
        <div class="verdict-strip">
            <span class="small muted">{judgement.judge.clone()}</span>
            <ul>{verdicts}</ul>
        </div>
    }
    .into_any()
}

fn chip(key: &str, state: VerdictState, title: String) -> AnyView {
    let (class, sign, word) = match state {
        VerdictState::Met => ("chip ok", "✓", "met"),
        VerdictState::NotMet => ("chip bad", "✗", "not met"),
        VerdictState::Unscored => ("chip warn", "?", "unscored"),
    };
    view! {
        <li class=class title=title>
            <span aria-hidden="true">{sign}</span>
            {format!("{key} {word}")}
        </li>
    }
    .into_any()
}

/// A sample of another program: what it was asked, what it said, how it was scored.
fn sample(row: &SampleRow, source: &str) -> AnyView {
    let messages = row.messages.iter().map(|message| {
        view! { <dt>{message.role.clone()}</dt><dd class="said">{message.text.clone()}</dd> }
    });
    let messages = messages.collect_view();
    let scores = row.scores.iter().map(score).collect_view();
    let error = row.error.clone();
    view! {
        <li class="result-row">
            <details>
                <summary>
                    {row.instance.clone()}
                    <span class="muted small">{format!(" epoch {} · {source}", row.epoch)}</span>
                    {error.is_some().then(|| view! { <span class="chip warn">"! error"</span> })}
                </summary>
                {error.map(|error| view! { <p class="small">{error}</p> })}
                <dl class="messages">{messages}</dl>
            </details>
            {scores}
        </li>
    }
    .into_any()
}

fn score(score: &ScoreRow) -> AnyView {
    let value = match &score.value {
        ScoreValue::Unscored => chip("", VerdictState::Unscored, score.explanation.clone()),
        ScoreValue::Number(number) => plain(&number.to_string()),
        ScoreValue::Text(text) if text == "C" => {
            chip("", VerdictState::Met, score.explanation.clone())
        }
        ScoreValue::Text(text) if text == "I" => {
            chip("", VerdictState::NotMet, score.explanation.clone())
        }
        ScoreValue::Text(text) | ScoreValue::Other(text) => plain(text),
        ScoreValue::Verdicts(verdicts) => {
            let one = |(key, state): &(String, VerdictState)| {
                chip(key, *state, score.explanation.clone())
            };
            verdicts.iter().map(one).collect_view().into_any()
        }
    };
    view! {
        <div class="verdict-strip">
            <span class="small muted">{score.scorer.clone()}</span>
            <ul>{value}</ul>
        </div>
    }
    .into_any()
}

fn plain(text: &str) -> AnyView {
    view! { <li class="chip">{text.to_owned()}</li> }.into_any()
}
