//! One hidden requirement: its verdict, why, and, where it was not met, where it was lost.

use super::lost_path::LostPath;
use super::output::state_word;
use super::overrule::Overrule;
use super::page::Page;
use crate::bench::hidden::{Preference, PreferenceKind};
use crate::judge::opinion::{Opinion, Standing};
use crate::judge::{VerdictSource, VerdictState};
use crate::run::outcome::{EvidenceLink, Row, Ruling, signal_name};
use leptos::prelude::*;

/// Icon and word of a state.
#[component]
pub(super) fn State(#[prop(into)] state: Standing) -> impl IntoView {
    let (class, word) = state_word(state);
    let path = match state {
        Standing::Met => "M3.5 8.5l3 3 6-7",
        Standing::NotMet => "M4 4l8 8M12 4l-8 8",
        Standing::Disputed => "M8 3v6M8 12v1",
        Standing::Unscored => "M4 8h8",
    };
    view! {
        <span class="state" data-state=class>
            <svg viewBox="0 0 16 16" aria-hidden="true">
                <path d=path />
            </svg>
            {word}
        </span>
    }
}

/// A requirement with all that is known about it.
#[component]
pub(super) fn VerdictItem(page: Page, row: Row) -> impl IntoView {
    let id = row.id.clone();
    let focused = {
        let id = id.clone();
        move || {
            page.focus
                .with(|focus| focus.requirement.as_ref() == Some(&id))
        }
    };
    let anchor = format!("requirement-{id}");
    let link = format!("{anchor}-link");
    let state = row.standing;
    let class = state.map_or("open", |state| state_word(state).0);
    let ruling = row.verdict.clone().map(|ruling| self::ruling(page, ruling));
    let path = row
        .path
        .clone()
        .map(|path| view! { <LostPath page path /> });
    view! {
        <li class="verdict" id=anchor data-state=class class:focused=focused>
            <div class="verdict-head">
                <button
                    type="button"
                    class="link verdict-id"
                    id=link
                    title="Link to this requirement"
                    on:click=move |_| page.show_requirement(&id)
                >
                    {row.id.0.clone()}
                </button>
                {match state {
                    Some(state) => view! { <State state /> }.into_any(),
                    None => view! { <span class="state" data-state="open">"not judged yet"</span> }.into_any(),
                }}
                {row.split().map(|words| view! { <span class="inst-tag warn">{words}</span> })}
                {row.overruled.is_some().then(|| view! { <span class="inst-tag">"changed by hand"</span> })}
                {row.slot.clone().map(|slot| view! { <code>{slot}</code> })}
            </div>
            <p class="verdict-text">{row.text.clone()}</p>
            {ruling}
            {opinions(row.opinions.clone())}
            <Overrule page row=row.clone() />
            {path}
            {row.preference.clone().map(preference)}
            {evidence(page, row.evidence.clone())}
        </li>
    }
}

fn ruling(page: Page, ruling: Ruling) -> impl IntoView {
    let verdict = ruling.verdict;
    let source = match verdict.state {
        VerdictState::Unscored => String::new(),
        _ => source(verdict.source, &ruling.judge),
    };
    let quote = verdict
        .quote
        .filter(|quote| !quote.trim().is_empty())
        .map(|quote| {
            let text = format!("“{quote}”");
            view! {
                <button
                    type="button"
                    class="link quote-link"
                    title="Mark these words in the output"
                    on:click=move |_| page.show_quote(&quote)
                >
                    {text}
                </button>
            }
        });
    view! {
        <p class="verdict-why">
            {verdict.rationale} " " <span class="muted">{source}</span>
        </p>
        {quote}
    }
}

fn source(source: VerdictSource, judge: &str) -> String {
    match source {
        VerdictSource::Reference => "Decided by the reference value.".to_owned(),
        VerdictSource::Check => "Decided by a programmatic check.".to_owned(),
        VerdictSource::Model => format!("Decided by {judge}."),
        VerdictSource::Human => "Decided by a person.".to_owned(),
        VerdictSource::None => String::new(),
    }
}

/// What each judge said in how many repeats; nothing where one judge was asked once.
fn opinions(opinions: Vec<Opinion>) -> Option<impl IntoView> {
    let asked: usize = opinions.iter().map(|opinion| opinion.verdicts.len()).sum();
    (asked > 1).then(|| {
        let lines = opinions.into_iter().map(opinion).collect_view();
        view! {
            <details class="opinions">
                <summary>"What each judge said"</summary>
                <ul>{lines}</ul>
            </details>
        }
    })
}

fn opinion(opinion: Opinion) -> impl IntoView {
    let flips = opinion
        .flips()
        .then(|| view! { <span class="inst-tag warn">"changed its mind"</span> });
    let words = opinion.words();
    let verdicts = opinion.verdicts.into_iter().map(|verdict| {
        view! {
            <li>
                <State state=verdict.state />
                " "
                {verdict.rationale}
            </li>
        }
    });
    view! {
        <li>
            <p class="verdict-why">
                <strong>{opinion.judge}</strong>
                " "
                {words}
                " "
                {flips}
            </p>
            <ul class="opinion-list">{verdicts.collect_view()}</ul>
        </li>
    }
}

fn preference(preference: Preference) -> impl IntoView {
    let change = (preference.kind == PreferenceKind::Dynamic).then(|| {
        let before = preference
            .previous
            .map(|value| format!(", before: {}", value.replace('_', " ")));
        view! { <span class="inst-tag">{format!("changed{}", before.unwrap_or_default())}</span> }
    });
    view! {
        <p class="verdict-preference">
            <span class="muted">"Preference "</span>
            {preference.text}
            " "
            {change}
        </p>
    }
}

fn evidence(page: Page, links: Vec<EvidenceLink>) -> impl IntoView {
    let links = links.into_iter().map(|link| {
        let label = format!("{} · {}", page.day(&link.session), signal_name(link.signal));
        view! {
            <button
                type="button"
                class="link evidence-link"
                title="Show in the history"
                on:click=move |_| page.show_session(&link.session)
            >
                {label}
            </button>
        }
    });
    view! {
        <p class="links">
            <span class="muted">"Evidence"</span>
            {links.collect_view()}
        </p>
    }
}
