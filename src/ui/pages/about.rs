//! What the site rests on.

use crate::route::{Query, Route};
use leptos::prelude::*;

#[component]
pub fn AboutPage() -> impl IntoView {
    view! {
        <div class="page narrow prose">
            <header class="page-head">
                <h1>"About IBA Lab"</h1>
                <p class="muted">{format!("Version {}", env!("CARGO_PKG_VERSION"))}</p>
            </header>
            <Idea />
            <Agent />
            <Numbers />
            <Formats />
        </div>
    }
}

#[component]
fn Idea() -> impl IntoView {
    view! {
        <section class="block">
            <h2>"The question"</h2>
            <p>
                "People seldom state how they want things done. They correct a draft, turn an offer down, ask for the same change a third time. "
                <em>"Implicit behavioural alignment"</em>
                " is an assistant's ability to act on such evidence in a long chat history when a new task comes that says nothing about it. "
                "Knowing a preference when asked is not enough: it has to show in the action."
            </p>
            <p>
                "Each instance is one user with a history of dated conversations, a task, and an action: a text to write or an API call to fill in. "
                "Hidden from the agent are the preferences behind the history, the sessions that reveal them, and the requirements derived from them: each atomic, each met or not met."
            </p>
        </section>
    }
}

#[component]
fn Agent() -> impl IntoView {
    let steps = [
        (
            "Query expansion",
            "five facet queries beside the task itself: style, structure, decision, correction, habit",
        ),
        (
            "Similarity retrieval",
            "the nearest passages of the history for each query",
        ),
        (
            "Redundancy filtering",
            "the same passage, or nearly the same, counts once",
        ),
        (
            "Salience re-ranking",
            "revisions and complaints say more than mere mentions",
        ),
        (
            "Evidence compaction",
            "what remains, in few words, with its dates",
        ),
        (
            "Preference extraction",
            "what was asked, corrected, rejected, repeated or lately changed",
        ),
        ("Task-preference alignment", "a plan for this task"),
        ("Output head", "the text, or the slots of the call"),
    ];
    let steps = steps.map(|(name, what)| view! { <li><strong>{name}</strong>": "{what}"."</li> });
    view! {
        <section class="block">
            <h2>"The agent"</h2>
            <p>"IBA-Agent works in a fixed order, and every step leaves a trace that the instance view joins with the verdicts:"</p>
            <ol>{Vec::from(steps)}</ol>
            <p>
                "Standard RAG, its rival here, puts the three nearest passages in front of the task. The "
                <em>"embedded baseline"</em>
                " replaces each call of a language model by rules. It is there so that everything can be tried without a key, and its scores are scores of rules, not of a model."
            </p>
        </section>
    }
}

#[component]
fn Numbers() -> impl IntoView {
    view! {
        <section class="block">
            <h2>"The numbers"</h2>
            <p>
                "An instance scores the share of its requirements that are met; a domain the mean of its instances; overall the mean of all instances. "
                "A requirement nobody could decide is "<em>"unscored"</em>": it is left out and shown, never counted as a failure. "
                "Each result carries the dataset's hash, the model as the provider names it, judge, prompts, parameters and version."
            </p>
            <p>
                <a href=Route::Results { query: Query::default() }.address()>"The results"</a>
                " show your runs beside the rows of the paper. Those were measured on the full benchmark with language models as agents and judges; numbers on IBA-Mini are not comparable with them one to one."
            </p>
        </section>
    }
}

#[component]
fn Formats() -> impl IntoView {
    view! {
        <section class="block">
            <h2>"Files"</h2>
            <p>
                "A result file is an Inspect log (EvalLog, version 2) as JSON or gzip'd JSON: Inspect's own viewer and Python package open it. "
                "A dataset is a folder on any static host: a manifest, gzip'd JSON Lines and vectors."
            </p>
            <h2>"Licences"</h2>
            <p>"The program: MIT. IBA-Mini: CC BY 4.0. The embedding model all-MiniLM-L6-v2: Apache 2.0, by its authors."</p>
        </section>
    }
}
