//! The first view: what this is, three doors, the dataset, and what leaves the browser.

use crate::agent::trace_view::count;
use crate::bench::manifest::IndexEntry;
use crate::bench::taxonomy::Action;
use crate::browser::dataset::Recent;
use crate::route::{DatasetKey, Route};
use crate::ui::data::{Open, Opening};
use crate::ui::files::{EXAMPLES, OpenAgain, ask};
use crate::ui::parts::{Icon, ProblemBox, ProgressLine, Shape};
use crate::ui::state::lab;
use crate::words::{grouped, size};
use leptos::ev::SubmitEvent;
use leptos::html;
use leptos::prelude::*;

/// The instance of the bundled dataset that a visitor sees first.
const FIRST: &str = "food_ordering-a";

#[component]
pub fn StartPage() -> impl IntoView {
    view! {
        <div class="page start">
            <section class="hero">
                <h1>"Does the assistant act on what it knows about you?"</h1>
                <p class="lead">
                    "A long chat history says a great deal about its user, mostly between the lines: what was corrected, turned down, asked for again. "
                    "IBA Lab shows whether an assistant turns that into action. "
                    "Pick a task, let an agent work on it, and see for each hidden requirement whether it was met, and if not, where it got lost."
                </p>
            </section>
            <Doors />
            <DatasetCard />
            <OtherDatasets />
            <Privacy />
        </div>
    }
}

#[component]
fn Doors() -> impl IntoView {
    let lab = lab();
    let example = LocalResource::new(example_exists);
    let recorded = move || {
        let there = example.get().unwrap_or(false);
        there.then(|| view! {
            <button type="button" class="door" on:click=move |_| lab.opened.open_examples(lab)>
                <Icon shape=Shape::Film />
                <strong>"See a recorded run"</strong>
                <span class="muted">"IBA-Agent, its ablations and standard RAG on tasks of every domain: steps, verdicts, losses, tables. No key, nothing to set up."</span>
            </button>
        })
    };
    let first = move || {
        let open = lab.data.current();
        // Slots are decided by rules, so that a first run without a key ends with a whole verdict.
        let entry = open.as_ref().and_then(|open| {
            let index = &open.dataset.index;
            let calls = |entry: &&IndexEntry| {
                let scenario = open.dataset.manifest.scenario(&entry.scenario);
                scenario.is_some_and(|scenario| scenario.action == Action::CallApi)
            };
            let call = || index.iter().find(calls);
            let entry = index
                .iter()
                .find(|entry| entry.id.as_str() == FIRST)
                .or_else(call)
                .or(index.first())?;
            Some((open.key.clone(), entry.id.clone()))
        });
        entry
            .map_or_else(
                || Route::instances(DatasetKey::Bundled),
                |(key, id)| Route::instance(key, id),
            )
            .address()
    };
    view! {
        <section class="doors" aria-label="Ways to begin">
            <Suspense fallback=|| ()>{recorded}</Suspense>
            <a class="door" href=first>
                <Icon shape=Shape::Play />
                <strong>"Try one instance"</strong>
                <span class="muted">"Run IBA-Agent here and now. Without a key the embedded baseline works; with one, your model does."</span>
            </a>
            <button type="button" class="door" on:click=move |_| ask(false, move |files| lab.opened.open(lab, files))>
                <Icon shape=Shape::Open />
                <strong>"Open a result file"</strong>
                <span class="muted">
                    {move || lab.opened.reading.get().map_or_else(
                        || "An Inspect log, ours or anybody's. Or drop it anywhere on this page.".to_owned(),
                        |name| format!("Reading {name} …"),
                    )}
                </span>
            </button>
        </section>
    }
}

/// Whether the recorded runs were shipped with this build.
async fn example_exists() -> bool {
    let asked = gloo_net::http::RequestBuilder::new(EXAMPLES[0])
        .method(gloo_net::http::Method::HEAD)
        .send()
        .await;
    let html = |answer: &gloo_net::http::Response| {
        answer
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind.contains("html"))
    };
    // Some hosts answer a missing file with a page and status 200.
    asked.is_ok_and(|answer| answer.ok() && !html(&answer))
}

/// The open dataset, or how far its opening is, or why it failed.
#[component]
fn DatasetCard() -> impl IntoView {
    let lab = lab();
    let failed = move || {
        let (key, problem) = lab.data.failed.get()?;
        Some(view! {
            <ProblemBox problem=problem>
                <OpenAgain key=key />
            </ProblemBox>
        })
    };
    view! {
        <section class="block" aria-labelledby="dataset-head">
            <h2 id="dataset-head">"Dataset"</h2>
            {failed}
            {move || lab.data.opening.get().map(|_| view! { <OpeningLine /> })}
            {move || lab.data.current().map(|open| card(&open))}
        </section>
    }
}

#[component]
fn OpeningLine() -> impl IntoView {
    let lab = lab();
    let of = move |read: fn(&Opening) -> u64| {
        lab.data
            .opening
            .with(|opening| opening.as_ref().map(read).unwrap_or_default())
    };
    view! {
        <div class="card row">
            <ProgressLine
                what="Opening the dataset"
                done=Signal::derive(move || of(|opening| opening.done))
                total=Signal::derive(move || Some(of(|opening| opening.total.unwrap_or(0))))
                bytes=true
            />
            <button type="button" class="button" on:click=move |_| lab.data.cancel()>"Cancel"</button>
        </div>
    }
}

fn card(open: &Open) -> impl IntoView + use<> {
    let manifest = &open.dataset.manifest;
    let turns: u64 = manifest
        .shards
        .iter()
        .map(|shard| u64::from(shard.turns))
        .sum();
    let facts = [
        (grouped(open.dataset.index.len() as u64), "instances"),
        (grouped(manifest.shards.len() as u64), "users"),
        (grouped(manifest.scenarios.len() as u64), "scenarios"),
        (grouped(manifest.domains.len() as u64), "domains"),
        (grouped(turns), "turns of history"),
        (
            size(manifest.shards.iter().map(|shard| shard.file.bytes).sum()),
            "if all of it is opened",
        ),
    ];
    let facts = facts.map(|(number, what)| view! { <div><dt>{what}</dt><dd>{number}</dd></div> });
    let warnings: Vec<String> = open
        .dataset
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    let odd = (!warnings.is_empty()).then(|| {
        view! {
            <details>
                <summary>{count(warnings.len(), "odd thing", "odd things")}" in its files, read all the same"</summary>
                <ul>{warnings.into_iter().map(|text| view! { <li>{text}</li> }).collect_view()}</ul>
            </details>
        }
    });
    let kept = open.dataset.is_kept_copy.then(|| view! { <p class="muted small">"The host could not be reached; this is the copy of your last visit."</p> });
    view! {
        <div class="card dataset">
            <div class="row">
                <div>
                    <h3>{manifest.title.clone()}</h3>
                    <p class="muted">{manifest.description.clone()}</p>
                </div>
                <a class="button primary" href=Route::instances(open.key.clone()).address()>"Browse instances"</a>
            </div>
            <dl class="dataset-facts">{Vec::from(facts)}</dl>
            {kept}
            {odd}
            <p class="muted small">{format!("Licence: {}. Manifest ", manifest.licence)}<code title=open.dataset.manifest_sha256.clone()>{open.dataset.manifest_sha256.chars().take(12).collect::<String>()}</code></p>
        </div>
    }
}

#[component]
fn OtherDatasets() -> impl IntoView {
    let lab = lab();
    let address = NodeRef::<html::Input>::new();
    let submit = move |ev: SubmitEvent| {
        ev.prevent_default();
        let typed = address
            .get_untracked()
            .map(|input| input.value().trim().to_owned())
            .unwrap_or_default();
        if !typed.is_empty() {
            lab.data.open_typed(lab, typed);
        }
    };
    let recent = LocalResource::new(move || {
        let edge = lab.edge.get();
        lab.data.opening.track();
        async move {
            match edge {
                Some(edge) => edge.library.recent().await,
                None => Vec::new(),
            }
        }
    });
    let list = move || {
        let recent = recent.get().unwrap_or_default();
        (!recent.is_empty()).then(|| view! { <ul class="recent">{recent.into_iter().map(recent_row).collect_view()}</ul> })
    };
    view! {
        <section class="block">
            <details class="more">
                <summary>"Open another dataset"</summary>
                <form class="row" on:submit=submit>
                    <div class="field grow">
                        <label for="dataset-address">"Address of a manifest, or of the folder that holds it"</label>
                        <input id="dataset-address" type="url" inputmode="url" placeholder="https://host/folder/manifest.json" node_ref=address required />
                    </div>
                    <button type="submit" class="button">"Open"</button>
                </form>
                <div class="row">
                    <p class="muted grow">"Or from this device: the folder that " <code>"lab dataset build"</code> " wrote. Dropping it on the page does the same."</p>
                    <button type="button" class="button" on:click=move |_| ask(true, move |files| lab.data.open_files(lab, files))>"Choose a folder"</button>
                </div>
                <Suspense fallback=|| ()>{list}</Suspense>
            </details>
        </section>
    }
}

fn recent_row(recent: Recent) -> impl IntoView {
    let to = Route::instances(DatasetKey::Url(recent.url.clone())).address();
    view! {
        <li>
            <a href=to>{recent.title}</a>
            <span class="muted">{format!(" · {} instances · {}", grouped(u64::from(recent.instances)), recent.url)}</span>
        </li>
    }
}

#[component]
fn Privacy() -> impl IntoView {
    view! {
        <section class="block two" aria-label="Privacy">
            <div class="card">
                <h3><Icon shape=Shape::Arrow />"What leaves your browser"</h3>
                <p>
                    "With an endpoint of yours: the prompts of a run, straight to the address you enter, with your key. "
                    "With a dataset from elsewhere: requests for its files. Nothing else, and nothing at all with the embedded baseline."
                </p>
            </div>
            <div class="card">
                <h3><Icon shape=Shape::Lock />"What never does"</h3>
                <p>
                    "There is no server behind this page, no account and no statistics. Searching, embedding and judging by rules happen in this tab; "
                    "runs are kept in this browser. Keys stay in memory and are in no file, link or log."
                </p>
            </div>
        </section>
    }
}
