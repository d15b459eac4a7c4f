//! What the numbers of a run rest on, so that they can be reproduced.

use super::page::Page;
use crate::judge::again::last_round;
use crate::prompts::hash_of;
use crate::run::record::{Mode, Params, RetrieverRef, RunRecord};
use leptos::prelude::*;

/// Folded away until asked for; nothing before a run.
#[component]
pub(super) fn Provenance(page: Page) -> impl IntoView {
    move || page.run.record.get().map(|record| details(&record))
}

fn details(record: &RunRecord) -> impl IntoView + use<> {
    let facts = facts(record)
        .into_iter()
        .chain(params(&record.params))
        .map(|(name, value)| {
            view! {
                <dt>{name}</dt>
                <dd>{value}</dd>
            }
        });
    view! {
        <details class="inst-fold">
            <summary>"How this result was made"</summary>
            <dl class="facts">{facts.collect_view()}</dl>
        </details>
    }
}

fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let mut judges: Vec<_> = record.judgements.iter().map(|j| j.judge.clone()).collect();
    judges.dedup();
    vec![
        ("System", record.system.name().to_owned()),
        ("Asked for", asked(record)),
        ("History read", history(record)),
        ("Prompts", prompts(record)),
        ("Model", record.agent.label()),
        ("Judges", judges.join(", ")),
        ("Judge prompts", judge_prompts(record)),
        ("Judged again", rounds(record)),
        (
            "Data set",
            format!("{} {}", record.dataset.name, short(&record.dataset.sha256)),
        ),
        ("Retriever", retriever(record)),
        ("Embedding", reading(record)),
        ("Repeat", record.epoch.to_string()),
        ("Run", record.id.clone()),
        ("Version", record.app_version.clone()),
    ]
}

fn retriever(record: &RunRecord) -> String {
    let RetrieverRef {
        model,
        model_sha256,
        method,
        base_url,
        ..
    } = &record.retriever;
    let whence = match base_url {
        Some(base_url) => format!("by {base_url}"),
        None => short(model_sha256).to_owned(),
    };
    format!("{model} {whence}, {method} search")
}

/// How the embedding model was read, and what it left out.
fn reading(record: &RunRecord) -> String {
    let Some(reading) = &record.retriever.reading else {
        return "not told".to_owned();
    };
    let prefix = |what: &str, text: &str| match text {
        "" => String::new(),
        text => format!(", “{text}” before {what}"),
    };
    let limit = reading.max_tokens.map(|n| format!(", at most {n} tokens"));
    let cut = record.retriever.cut_passages.filter(|cut| *cut > 0);
    let cut = cut.map(|cut| {
        format!(
            ". {cut} passages of the history are longer; their last words are not in their vectors"
        )
    });
    format!(
        "{} numbers, pooled {}{}{}{}{}{}",
        reading.dim,
        match reading.pooling.as_str() {
            "mean" => "by the mean",
            "cls" => "by the first token",
            other => other,
        },
        if reading.normalised {
            ""
        } else {
            ", compared by plain products"
        },
        prefix("queries", &reading.query_prefix),
        prefix("passages", &reading.passage_prefix),
        limit.unwrap_or_default(),
        cut.unwrap_or_default(),
    )
}

fn asked(record: &RunRecord) -> String {
    match record.variant.mode {
        Mode::Task => "the action".to_owned(),
        Mode::Qa => "the preferences (QA mode)".to_owned(),
    }
}

fn history(record: &RunRecord) -> String {
    match &record.variant.donor {
        Some(donor) => format!("that of another user, {donor}"),
        None => format!("the user's own, {}", record.persona),
    }
}

/// Changed ones by id and the first characters of their hash.
fn prompts(record: &RunRecord) -> String {
    let edits = &record.variant.edits;
    let changed: Vec<String> = edits
        .ids()
        .map(|id| format!("{id} {}", short(&hash_of(id, edits))))
        .collect();
    match changed.is_empty() {
        true => "as shipped".to_owned(),
        false => format!("edited: {}", changed.join(", ")),
    }
}

/// The hash of each prompt that judges were asked with, and whether it was the shipped one then.
fn judge_prompts(record: &RunRecord) -> String {
    let mut said: Vec<String> = Vec::new();
    for judgement in &record.judgements {
        let Some(prompt) = &judgement.prompt else {
            continue;
        };
        let how = match judgement.wording {
            Some(_) => "edited",
            None => "as shipped",
        };
        let words = format!("{} {how}", short(&prompt.sha256));
        if !said.contains(&words) {
            said.push(words);
        }
    }
    match said.is_empty() {
        true => "no model judged".to_owned(),
        false => said.join(", "),
    }
}

fn rounds(record: &RunRecord) -> String {
    let times = match last_round(&record.judgements) {
        0 => "no".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    match record.set_aside.len() {
        0 => times,
        n => format!("{times}; {n} set aside, kept in the file"),
    }
}

fn params(params: &Params) -> Vec<(&'static str, String)> {
    let temperature = params
        .temperature
        .map_or("not sent".to_owned(), |t| t.to_string());
    vec![
        ("Passages a query", params.top_k.to_string()),
        (
            "Expanded queries",
            format!("at most {}", params.max_queries),
        ),
        ("Passages kept", format!("at most {}", params.max_passages)),
        ("Salience", format!("at least {}", params.min_salience)),
        ("Passages", params.chunking().words()),
        (
            "Near duplicate",
            format!("from cosine {}", params.near_duplicate),
        ),
        (
            "Output limit",
            format!("{} tokens", params.max_output_tokens),
        ),
        ("Temperature", temperature),
        ("Seed", params.seed.to_string()),
        (
            "Context window",
            format!("{} tokens, for the whole history", params.context_tokens),
        ),
        (
            "Function calling",
            format!(
                "at most {} turns, {} tokens, {} equal calls",
                params.max_steps, params.max_run_tokens, params.max_repeats
            ),
        ),
    ]
}

/// The first characters of a hash; the result file holds the whole.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
