//! The history zone: the year at a glance, search, filters, and the sessions by month.

use super::keys::focus_on;
use super::page::Page;
use super::session::SessionItem;
use super::strip::Strip;
use crate::agent::trace_view::count;
use crate::bench::ids::PersonaId;
use crate::run::timeline::{Filter, Line, words};
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use leptos::web_sys::{Element, KeyboardEvent};
use std::collections::HashSet;

/// All sessions of the user.
#[component]
pub(super) fn HistoryZone(page: Page) -> impl IntoView {
    let query = RwSignal::new(String::new());
    let filter = RwSignal::new(Filter::All);
    let found = Memo::new(move |_| rows(page, filter.get(), &query.get()));
    // One stop for the Tab key; the arrows go on from it.
    let stop = RwSignal::new(None::<usize>);
    let at = Memo::new(move |_| tab_stop(page, &found.get(), stop.get()));
    let lines = move || {
        page.timeline
            .with_value(|timeline| timeline.lines(&found.get()))
    };
    let words = Memo::new(move |_| words(&query.get()));
    let (sessions, turns) = page
        .timeline
        .with_value(|timeline| (timeline.rows.len(), timeline.turns));
    view! {
        <div class="zone-head">
            <h2>"History"</h2>
            <p class="muted" role="status">
                {move || counted(found.with(Vec::len), sessions, turns)}
            </p>
        </div>
        {move || page.donor().filter(|_| !page.running()).map(donor)}
        <Strip page />
        <div class="inst-row history-tools">
            <input
                id="history-search"
                type="search"
                placeholder="Search the history"
                aria-label="Search the history"
                aria-keyshortcuts="/"
                title="Search the history ( / )"
                prop:value=move || query.get()
                on:input=move |event| query.set(event_target_value(&event))
            />
            <Filters page filter />
        </div>
        <ol class="sessions" on:keydown=move |event| travel(page, &event, &found.get_untracked(), stop)>
            <For each=lines key=Clone::clone let:line>
                {match line {
                    Line::Month { label, sessions, .. } => month(label, sessions).into_any(),
                    Line::Session(index) => view! { <SessionItem page at=index words stop=at /> }.into_any(),
                }}
            </For>
        </ol>
        <Show when=move || found.with(Vec::is_empty)>
            <Empty query filter />
        </Show>
    }
}

/// The session that the Tab key stops at: where the arrows last were, else the one in focus, else
/// the first.
fn tab_stop(page: Page, found: &[usize], last: Option<usize>) -> Option<usize> {
    let in_focus = || {
        let session = page.focus.with(|focus| focus.session.clone())?;
        page.timeline
            .with_value(|timeline| timeline.position(&session))
    };
    let there = |at: &usize| found.contains(at);
    last.filter(there)
        .or_else(|| in_focus().filter(there))
        .or_else(|| found.first().copied())
}

/// Arrows, Home and End go from session to session; Enter is the button's own.
fn travel(page: Page, event: &KeyboardEvent, found: &[usize], stop: RwSignal<Option<usize>>) {
    let line = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
        .filter(|element| element.matches(".session-line").unwrap_or(false));
    let Some(id) = line.map(|line| line.id()) else {
        return;
    };
    let id_of = |at: usize| {
        let id = page
            .timeline
            .with_value(|timeline| timeline.rows[at].id.clone());
        format!("session-{id}-line")
    };
    let Some(now) = found.iter().position(|at| id_of(*at) == id) else {
        return;
    };
    let last = found.len() - 1;
    let next = match event.key().as_str() {
        "ArrowDown" => (now + 1).min(last),
        "ArrowUp" => now.saturating_sub(1),
        "Home" => 0,
        "End" => last,
        _ => return,
    };
    event.prevent_default();
    stop.set(Some(found[next]));
    focus_on(id_of(found[next]));
}

/// Says that the run shown beside read somebody else's history.
fn donor(persona: PersonaId) -> impl IntoView {
    view! {
        <p class="dead-end" role="status">
            {format!("This run searched the history of user {persona}, not the one below; its passages lead there.")}
        </p>
    }
}

fn counted(found: usize, sessions: usize, turns: usize) -> String {
    if found == sessions {
        format!("{}, {turns} turns", count(sessions, "session", "sessions"))
    } else {
        format!("{found} of {}", count(sessions, "session", "sessions"))
    }
}

fn month(name: String, n: usize) -> impl IntoView {
    view! {
        <li class="month">
            <h3>{name}</h3>
            <span class="muted">{n}</span>
        </li>
    }
}

fn rows(page: Page, filter: Filter, query: &str) -> Vec<usize> {
    let keep: Option<HashSet<_>> = match filter {
        Filter::All => None,
        Filter::Retrieved => Some(
            page.trails
                .with(|trails| trails.iter().map(|t| t.passage.session.clone()).collect()),
        ),
        Filter::Evidence => Some(page.evidence.with(|e| e.keys().cloned().collect())),
    };
    page.timeline.with_value(|timeline| {
        timeline.search(query, |id| {
            keep.as_ref().is_none_or(|keep| keep.contains(id))
        })
    })
}

#[component]
fn Filters(page: Page, filter: RwSignal<Filter>) -> impl IntoView {
    let number = move |choice| rows(page, choice, "").len();
    let choices = [
        (Filter::All, "All"),
        (Filter::Retrieved, "Retrieved"),
        (Filter::Evidence, "Evidence"),
    ];
    let options = choices.map(|(choice, label)| {
        let off = move || choice == Filter::Evidence && !page.shown.get();
        view! {
            <label class="inst-choice" title=move || off().then_some("Hidden until revealed")>
                <input
                    type="radio"
                    name="history-filter"
                    prop:checked=move || filter.get() == choice
                    prop:disabled=off
                    on:change=move |_| filter.set(choice)
                />
                <span>
                    {label} " " <small>{move || if off() { "?".to_owned() } else { number(choice).to_string() }}</small>
                </span>
            </label>
        }
    });
    view! {
        <fieldset class="inst-systems">
            <legend class="sr-only">"Which sessions"</legend>
            {options.collect_view()}
        </fieldset>
    }
}

/// Filtered out is not empty: says which filter hides the sessions and takes it away.
#[component]
fn Empty(query: RwSignal<String>, filter: RwSignal<Filter>) -> impl IntoView {
    let why = move || match (filter.get(), query.with(|q| q.trim().is_empty())) {
        (Filter::Retrieved, true) => {
            "Nothing retrieved yet. Run a system to see what it finds here."
        }
        (_, true) => "No session to show.",
        (_, false) => "No session holds all these words.",
    };
    let clear = move |_| {
        query.set(String::new());
        filter.set(Filter::All);
    };
    view! {
        <div class="inst-empty">
            <p>{why}</p>
            <button type="button" class="button small" on:click=clear>
                "Show all sessions"
            </button>
        </div>
    }
}
