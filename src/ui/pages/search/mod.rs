//! Search over all histories of a dataset at once; what is looked for is in the address.

mod graph;
mod hit;
mod offer;

use super::instances::Waiting;
use crate::bench::manifest::Manifest;
use crate::route::{DatasetKey, Query, Route};
use crate::ui::data::Open;
use crate::ui::histories::{Found, Histories, Work};
use crate::ui::parts::{Empty, Icon, Problem, ProblemBox, ProgressLine, Shape};
use crate::ui::state::{Lab, lab};
use crate::words::grouped;
use crate::worker::protocol::SearchMethod;
use graph::GraphPanel;
use hit::HitCard;
use leptos::ev::SubmitEvent;
use leptos::html;
use leptos::prelude::*;
use offer::OfferBox;

/// Names in the address of what is looked for, and how.
const QUERY: &str = "q";
const BY: &str = "by";

/// Ways to search: the word in the address, what the reader sees.
const WAYS: [(SearchMethod, &str, &str); 4] = [
    (SearchMethod::Exact, "exact", "By meaning, exact"),
    (SearchMethod::Hnsw, "graph", "By meaning, HNSW graph"),
    (SearchMethod::Lexical, "words", "By words (BM25)"),
    (SearchMethod::Fused, "both", "Meaning and words"),
];

/// The view.
#[component]
pub fn SearchPage() -> impl IntoView {
    let lab = lab();
    let key = Memo::new(move |_| {
        lab.route
            .with(|route| route.dataset().cloned())
            .unwrap_or_default()
    });
    view! {
        <div class="page">
            {move || match lab.data.of(&key.get()) {
                Some(open) => view! { <SearchView open=open /> }.into_any(),
                None => view! { <Waiting key=key.get() /> }.into_any(),
            }}
        </div>
    }
}

/// What the address asks for.
fn asked(lab: Lab) -> (String, SearchMethod) {
    lab.route.with(|route| {
        let Route::Search { query, .. } = route else {
            return (String::new(), SearchMethod::Exact);
        };
        let by = query.get(BY);
        let way = WAYS.iter().find(|(_, word, _)| Some(*word) == by);
        (
            query.get(QUERY).unwrap_or_default().to_owned(),
            way.map_or(SearchMethod::Exact, |(method, ..)| *method),
        )
    })
}

/// The address of a search.
fn address(dataset: DatasetKey, text: &str, method: SearchMethod) -> Route {
    let way = WAYS.iter().find(|(other, ..)| *other == method);
    let by = way.map(|(_, word, _)| *word).filter(|w| *w != WAYS[0].1);
    let text = (!text.is_empty()).then_some((QUERY, text));
    let query: Query = text.into_iter().chain(by.map(|by| (BY, by))).collect();
    Route::Search { dataset, query }
}

#[component]
fn SearchView(open: Open) -> impl IntoView {
    let lab = lab();
    let histories = lab.histories;
    histories.belong_to(lab, &open);
    let title = open.dataset.manifest.title.clone();
    let open = StoredValue::new_local(open);
    let asked = Memo::new(move |_| asked(lab));
    let start = move |text: String, method| {
        if !text.trim().is_empty() {
            histories.search(lab, open.get_value(), text, method);
        }
    };
    // The engine and the network are an outside world, so an effect is their place.
    Effect::new(move |_| {
        let (text, method) = asked.get();
        if lab.edge.with(Option::is_some) && !is_shown(histories, &text, method) {
            start(text, method);
        }
    });
    let again = move || {
        let (text, method) = asked.get_untracked();
        start(text, method);
    };
    let make = move || {
        let (text, method) = asked.get_untracked();
        histories.make(lab, open.get_value(), text, method);
    };
    let other = move || {
        histories.take_shipped();
        open.with_value(|open| histories.belong_to(lab, open));
        again();
    };
    view! {
        <header class="page-head">
            <h1>"Search all histories"</h1>
            <p class="muted">{open.with_value(|open| about(&title, &open.dataset.manifest))}</p>
        </header>
        <SearchForm open asked again=Callback::new(move |()| again()) />
        <Progress histories again=Callback::new(move |()| again()) />
        <OfferBox open histories make=Callback::new(move |()| make()) other=Callback::new(move |()| other()) />
        <Results open histories asked />
        <GraphPanel open histories />
    }
}

/// Whether the results on show are already what is asked for.
fn is_shown(histories: Histories, text: &str, method: SearchMethod) -> bool {
    histories.found.with_untracked(|found| {
        found
            .as_ref()
            .is_some_and(|found| found.query == text && found.method == method && !found.meanwhile)
    })
}

fn about(title: &str, manifest: &Manifest) -> String {
    let shards = &manifest.shards;
    let sessions: u64 = shards.iter().map(|shard| u64::from(shard.sessions)).sum();
    format!(
        "{title}: {} users, {} sessions",
        grouped(shards.len() as u64),
        grouped(sessions)
    )
}

#[component]
fn SearchForm(
    open: StoredValue<Open, LocalStorage>,
    asked: Memo<(String, SearchMethod)>,
    /// The same search once more.
    again: Callback<()>,
) -> impl IntoView {
    let lab = lab();
    let (input, select) = (
        NodeRef::<html::Input>::new(),
        NodeRef::<html::Select>::new(),
    );
    let go = move || {
        let (Some(input), Some(select)) = (input.get_untracked(), select.get_untracked()) else {
            return;
        };
        let word = select.value();
        let way = WAYS.iter().find(|(_, other, _)| *other == word);
        let method = way.map_or(SearchMethod::Exact, |(method, ..)| *method);
        let text = input.value().trim().to_owned();
        if asked.get_untracked() == (text.clone(), method) {
            return again.run(());
        }
        let dataset = open.with_value(|open| open.key.clone());
        lab.replace(address(dataset, &text, method));
    };
    let submit = move |ev: SubmitEvent| {
        ev.prevent_default();
        go();
    };
    let options = WAYS.iter().map(|(method, word, words)| {
        let own = *method;
        view! { <option value=*word selected=move || asked.with(|asked| asked.1 == own)>{*words}</option> }
    });
    view! {
        <form class="search-bar all-search" role="search" on:submit=submit>
            <div class="search">
                <Icon shape=Shape::Search />
                <input
                    node_ref=input
                    type="search"
                    data-search="histories"
                    placeholder="What would this user want?"
                    aria-label="Search all histories"
                    title="Search (/)"
                    autocomplete="off"
                    prop:value=move || asked.with(|asked| asked.0.clone())
                />
                <kbd aria-hidden="true">"/"</kbd>
            </div>
            <select node_ref=select aria-label="How to search" on:change=move |_| go()>{options.collect_view()}</select>
            <button type="submit" class="button primary">"Search"</button>
        </form>
    }
}

/// What goes on: the histories, the model; or why it does not.
#[component]
fn Progress(histories: Histories, again: Callback<()>) -> impl IntoView {
    let line = move |signal: RwSignal<Work>| match signal.get() {
        Work::Nothing => ().into_any(),
        Work::Going(progress) => {
            let bytes = progress.what.starts_with("loading the");
            view! {
                <div class="all-progress">
                    <ProgressLine what=capital(&progress.what) done=progress.done total=progress.total bytes=bytes />
                    <button type="button" class="button" on:click=move |_| histories.cancel()>"Cancel"</button>
                </div>
            }
            .into_any()
        }
        Work::Failed(problem) => view! { <Failed problem again histories /> }.into_any(),
    };
    view! {
        {move || line(histories.model)}
        // One bar at a time: the model's says more.
        {move || (histories.model.get() == Work::Nothing).then(|| line(histories.work))}
    }
}

#[component]
fn Failed(problem: Problem, again: Callback<()>, histories: Histories) -> impl IntoView {
    let words = move || {
        let found = histories.found.get();
        found.is_some_and(|found| found.meanwhile)
    };
    view! {
        <ProblemBox problem=problem>
            <button type="button" class="button" on:click=move |_| again.run(())>"Try again"</button>
            <Show when=words><span class="muted">"The results below are by words."</span></Show>
        </ProblemBox>
    }
}

#[component]
fn Results(
    open: StoredValue<Open, LocalStorage>,
    histories: Histories,
    asked: Memo<(String, SearchMethod)>,
) -> impl IntoView {
    let nothing_yet =
        move || histories.found.with(Option::is_none) && asked.with(|(text, _)| text.is_empty());
    view! {
        {move || histories.found.get().map(|found| {
            let hits = found.hits.iter().cloned().enumerate().map(|(n, hit)| {
                let (words, method) = (found.query.clone(), found.method);
                view! { <HitCard open hit number=n + 1 words method /> }
            });
            let model = histories.model_name.get();
            let cut = cut(&found, &model).map(|text| view! { <p class="muted">{text}</p> });
            view! {
                <p class="all-said" role="status" aria-live="polite">{told(&found, histories)}</p>
                {cut}
                <ol class="all-hits">{hits.collect_view()}</ol>
                {found.hits.is_empty().then(|| view! {
                    <Empty title="Nothing found" text="No passage shares a word with this search. Search by meaning, or use other words." />
                })}
            }
        })}
        <Show when=nothing_yet>
            <Empty
                title="Ask all users' histories at once"
                text="Type what to look for: passages of every user are compared with it, and each hit leads to its session."
            />
        </Show>
    }
}

/// How it was searched, in a sentence.
fn told(found: &Found, histories: Histories) -> String {
    let rows = histories.rows.get().unwrap_or_default();
    let how = match found.method {
        SearchMethod::Exact => "by meaning, every passage compared",
        SearchMethod::Hnsw => "by meaning, through the HNSW graph",
        SearchMethod::Lexical if found.meanwhile && histories.offer.get().is_some() => {
            "by words, since there are no vectors of the chosen model"
        }
        SearchMethod::Lexical if found.meanwhile => "by words while the model loads",
        SearchMethod::Lexical => "by words",
        SearchMethod::Fused => "by meaning and words",
    };
    let time = match found.millis {
        short if short < 1.0 => "under 1 ms".to_owned(),
        millis => format!("{millis:.0} ms"),
    };
    let model = histories.model_name.get();
    let with = match found.method {
        SearchMethod::Lexical => String::new(),
        _ => format!(" (vectors of {model})"),
    };
    format!(
        "The {} nearest of {} passages, {how}{with}; searched in {time}.",
        found.hits.len(),
        grouped(u64::from(rows))
    )
}

/// What was too long for the model.
fn cut(found: &Found, model: &str) -> Option<String> {
    let query = "Your words are longer than the model reads: those at the end were not compared.";
    let query = found.cut.query.then(|| query.to_owned());
    let passages = match found.cut.passages {
        0 => None,
        1 => Some(format!(
            "1 passage is longer than {model} reads; its last words are not in its vector."
        )),
        count => Some(format!(
            "{} passages are longer than {model} reads; their last words are not in their vectors.",
            grouped(u64::from(count))
        )),
    };
    let said: Vec<String> = query.into_iter().chain(passages).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
