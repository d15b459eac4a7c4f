//! One passage found, with its way to the user and the session.

use crate::route::{Query, Route};
use crate::run::passages::occurrences;
use crate::run::timeline::words;
use crate::settings::retriever::score_name;
use crate::ui::data::Open;
use crate::worker::protocol::{CollectionHit, SearchMethod};
use leptos::prelude::*;

#[component]
pub(super) fn HitCard(
    open: StoredValue<Open, LocalStorage>,
    hit: CollectionHit,
    number: usize,
    /// What was looked for; its words are marked.
    words: String,
    /// How it was found.
    method: SearchMethod,
) -> impl IntoView {
    let (user, users, session) = open.with_value(|open| links(open, &hit));
    let (day, id) = match &hit.passage {
        Some(passage) => (
            passage.date.chars().take(10).collect::<String>(),
            passage.id.0.clone(),
        ),
        None => (String::new(), format!("session {}", hit.span.session + 1)),
    };
    let text = match &hit.passage {
        Some(passage) => marked(&passage.text, &words),
        None => view! { <span class="muted">"Loading the text …"</span> }.into_any(),
    };
    let place = match session {
        Some(address) => view! { <a href=address>{id}</a> }.into_any(),
        None => view! { <span>{id}</span> }.into_any(),
    };
    view! {
        <li class="all-hit">
            <p class="all-hit-head">
                <span class="muted all-rank">{number}</span>
                <a href=users title="Instances of this user">{user}</a>
                {place}
                <span class="muted">{day}</span>
                <span class="muted all-score" title=score_name(method)>{format!("{:.3}", hit.score)}</span>
            </p>
            <p class="all-text">{text}</p>
        </li>
    }
}

/// The user's name, the address of the user's instances, and that of the session, if the user has an
/// instance through which it can be shown.
fn links(open: &Open, hit: &CollectionHit) -> (String, String, Option<String>) {
    let shard = open.dataset.manifest.shard(&hit.part);
    let user = shard.map_or_else(|| hit.part.clone(), |shard| shard.persona.to_string());
    let query = [("q", user.as_str())].into_iter().collect();
    let dataset = open.key.clone();
    let users = Route::Instances { dataset, query }.address();
    let entry = open.dataset.index.iter().find(|e| e.shard == hit.part);
    let session = entry.zip(hit.passage.as_ref()).map(|(entry, passage)| {
        let query: Query = [("tab", "history"), ("session", passage.session.as_str())]
            .into_iter()
            .collect();
        let instance = Route::instance(open.key.clone(), entry.id.clone());
        match instance {
            Route::Instance {
                dataset,
                id,
                system,
                ..
            } => Route::Instance {
                dataset,
                id,
                system,
                query,
            },
            other => other,
        }
        .address()
    });
    (user, users, session)
}

/// The text with the words looked for marked.
fn marked(text: &str, query: &str) -> AnyView {
    let mut found: Vec<_> = words(query)
        .iter()
        .filter(|word| word.chars().count() > 2)
        .flat_map(|word| occurrences(text, word))
        .collect();
    found.sort_by_key(|range| range.start);
    let (mut at, mut pieces) = (0, Vec::new());
    for range in found {
        if range.start < at {
            continue;
        }
        pieces.push(text[at..range.start].to_owned().into_any());
        let word = text[range.clone()].to_owned();
        pieces.push(view! { <mark>{word}</mark> }.into_any());
        at = range.end;
    }
    pieces.push(text[at..].to_owned().into_any());
    pieces.into_any()
}
