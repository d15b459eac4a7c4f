//! One session: a line in the list, unfolded into turns with the retrieved passages marked.

use super::page::Page;
use crate::agent::trace_view::{Trail, count, name};
use crate::bench::visible::{Role, Session};
use crate::run::outcome::signal_name;
use crate::run::passages::{Bubble, Piece, bubbles, spans};
use crate::run::timeline::Revealed;
use leptos::prelude::*;

/// A session's line; its turns are made only when it is unfolded.
#[component]
pub(super) fn SessionItem(
    page: Page,
    /// Index of the session in the history.
    at: usize,
    /// Lower-case words searched for.
    words: Memo<Vec<String>>,
    /// The session that the Tab key stops at.
    stop: Memo<Option<usize>>,
) -> impl IntoView {
    let row = page
        .timeline
        .with_value(|timeline| timeline.rows[at].clone());
    let anchor = format!("session-{}", row.id);
    let (id, for_open, for_trails) = (row.id.clone(), row.id.clone(), row.id.clone());
    let open = Memo::new(move |_| page.is_open(&for_open));
    let trails = Memo::new(move |_| page.trails.with(|all| of_session(all, &for_trails.0)));
    let for_evidence = row.id.clone();
    let evidence = Memo::new(move |_| page.evidence.with(|all| all.get(&for_evidence).cloned()));
    let badges = move || {
        let passages = trails.with(Vec::len);
        let found = (passages > 0).then(|| {
            view! { <span class="badge found">{count(passages, "passage", "passages")}</span> }
        });
        let evidence = evidence.with(Option::is_some).then(|| {
            view! { <span class="badge evidence">"evidence"</span> }
        });
        view! { {evidence} {found} }
    };
    view! {
        <li
            class="session"
            id=anchor.clone()
            class:open=move || open.get()
            class:is-found=move || trails.with(|t| !t.is_empty())
            class:is-evidence=move || evidence.with(Option::is_some)
        >
            <button
                type="button"
                class="session-line"
                id=format!("{anchor}-line")
                tabindex=move || if stop.get() == Some(at) { "0" } else { "-1" }
                aria-expanded=move || open.get().to_string()
                on:click=move |_| page.toggle_session(&id)
            >
                <time datetime=row.date.long_label()>{row.date.day_label()}</time>
                <span class="session-opener">{row.opener}</span>
                {badges}
            </button>
            <Show when=move || open.get()>
                <Body page at words trails evidence />
            </Show>
        </li>
    }
}

fn of_session(all: &[Trail], session: &str) -> Vec<Trail> {
    all.iter()
        .filter(|trail| trail.passage.session.0 == session)
        .cloned()
        .collect()
}

#[component]
fn Body(
    page: Page,
    at: usize,
    words: Memo<Vec<String>>,
    trails: Memo<Vec<Trail>>,
    evidence: Memo<Option<Revealed>>,
) -> impl IntoView {
    let session = page
        .given
        .with_value(|given| given.history.sessions[at].clone());
    let row = page
        .timeline
        .with_value(|timeline| timeline.rows[at].clone());
    let turns = move || turns(&session, &trails.get(), &words.get());
    view! {
        <div class="session-body">
            <p class="muted session-meta">
                {row.date.long_label()} " · " {count(row.turns, "turn", "turns")} " · "
                <code>{row.id.0}</code>
            </p>
            {move || evidence.get().map(reveals)}
            {move || trails.get().into_iter().enumerate().map(|(n, t)| legend(page, n, t)).collect_view()}
            {turns}
        </div>
    }
}

/// What the session gives away.
fn reveals(revealed: Revealed) -> impl IntoView {
    let signals: Vec<_> = revealed.signals.into_iter().map(signal_name).collect();
    let texts = revealed
        .texts
        .into_iter()
        .map(|text| view! { <li>{text}</li> })
        .collect_view();
    view! {
        <div class="session-reveals">
            <p>
                <strong>"Evidence"</strong>
                {format!(" by {}. It reveals:", signals.join(", "))}
            </p>
            <ul>{texts}</ul>
        </div>
    }
}

/// How a passage was found and what became of it.
fn legend(page: Page, n: usize, trail: Trail) -> impl IntoView {
    let by: Vec<String> = trail
        .found_by
        .iter()
        .map(|f| format!("{} {:.2}", f.facet, f.score))
        .collect();
    let salience = trail.salience.map(|score| format!("salience {score}"));
    let fate = match &trail.dropped {
        Some((stage, reason)) => {
            let stage = *stage;
            let title = format!("Show {}", name(stage));
            view! {
                <button type="button" class="link" title=title on:click=move |_| page.show_stage(stage)>
                    {format!("dropped: {reason}")}
                </button>
            }
            .into_any()
        }
        None => "went on".into_any(),
    };
    view! {
        <p class="passage-legend" data-passage=n % 3 class:dropped=trail.dropped.is_some()>
            <span class="passage-number">{format!("Passage {}", n + 1)}</span>
            <span>{format!("found by {}", by.join(", "))}</span>
            {salience.map(|text| view! { <span>{text}</span> })}
            <span>{fate}</span>
        </p>
    }
}

fn turns(session: &Session, trails: &[Trail], words: &[String]) -> Vec<AnyView> {
    let spans = spans(session, trails.iter().map(|trail| &trail.passage));
    bubbles(session, &spans, words)
        .into_iter()
        .map(|bubble| turn(bubble, trails))
        .collect()
}

fn turn(bubble: Bubble, trails: &[Trail]) -> AnyView {
    let (class, who) = match bubble.role {
        Role::User => ("bubble user", "User"),
        Role::Assistant => ("bubble assistant", "Assistant"),
    };
    let pieces: Vec<AnyView> = bubble
        .pieces
        .into_iter()
        .map(|p| piece(p, trails))
        .collect();
    view! {
        <div class=class>
            <span class="sr-only">{who} ": "</span>
            {pieces}
        </div>
    }
    .into_any()
}

fn piece(piece: Piece, trails: &[Trail]) -> AnyView {
    let text = match piece.found {
        true => view! { <mark class="word">{piece.text}</mark> }.into_any(),
        false => piece.text.into_any(),
    };
    match piece.passage {
        Some(n) => {
            let dropped = trails.get(n).is_some_and(|trail| trail.dropped.is_some());
            let title = format!("Passage {}", n + 1);
            view! { <span class="passage" data-passage=n % 3 class:dropped=dropped title=title>{text}</span> }
                .into_any()
        }
        None => text,
    }
}
