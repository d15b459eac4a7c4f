//! What a stage produced, each kind in its own form, with links to the history.

use super::page::Page;
use super::task::plain;
use crate::agent::select::{self, plain_number};
use crate::agent::trace::{
    AlignmentPlan, CompactItem, Decision, Dropped, ExtractedPreference, Fit, Output, Query,
    QueryHits, ScoredPassage, StageOutcome,
};
use crate::agent::trace_view::session_of;
use crate::bench::ids::SessionId;
use crate::embed::{Hit, Passage, PassageId};
use crate::settings::retriever::{method_named, score_name, scores_are_cosines};
use leptos::prelude::*;

/// The outcome of one stage.
#[component]
pub(super) fn StageBody(page: Page, outcome: StageOutcome) -> impl IntoView {
    match outcome {
        StageOutcome::Decided { decisions, text } => decided(decisions, text),
        StageOutcome::Given { passages } => filtered(page, passages, Vec::new()),
        StageOutcome::Fitted { fit } => fitted(page, fit),
        StageOutcome::Queries { queries } => {
            queries.into_iter().map(query).collect_view().into_any()
        }
        StageOutcome::Retrieved { lists } => lists
            .into_iter()
            .map(|list| hits(page, list))
            .collect_view()
            .into_any(),
        StageOutcome::Filtered { kept, dropped } => filtered(page, kept, dropped),
        StageOutcome::Ranked {
            scored,
            kept,
            dropped,
        } => ranked(page, scored, &kept, &dropped),
        StageOutcome::Compacted {
            items,
            dropped: out,
        } => {
            let items = items
                .into_iter()
                .map(|item| compact(page, item))
                .collect_view();
            view! { <ul class="plain-list">{items}</ul> {dropped(page, out)} }.into_any()
        }
        StageOutcome::Preferences { items } => preferences(page, items),
        StageOutcome::Plan { plan } => self::plan(plan),
        StageOutcome::Output { output } => self::output(output),
        StageOutcome::Failed { message } => {
            view! { <p class="stage-failed">{message}</p> }.into_any()
        }
    }
}

/// The controller's calls, each with its arguments and what became of it.
fn decided(decisions: Vec<Decision>, text: String) -> AnyView {
    let items = decisions.into_iter().map(|decision| {
        let arguments = match decision.arguments.as_object() {
            Some(fields) if fields.is_empty() => "no arguments".to_owned(),
            _ => decision.arguments.to_string(),
        };
        let refused = decision.refused.is_some();
        view! {
            <li class:dropped=refused>
                <code>{decision.tool}</code>
                " "
                <span class="hit-note">{arguments}</span>
                {decision.refused.map(|why| view! { <span class="stage-failed">{format!(" refused: {why}")}</span> })}
            </li>
        }
    });
    let said = (!text.trim().is_empty()).then(|| view! { <p class="excerpt long">{text}</p> });
    view! {
        {said}
        <ul class="plain-list">{items.collect_view()}</ul>
    }
    .into_any()
}

/// What fits the context window, and the span of what was cut.
fn fitted(page: Page, fit: Fit) -> AnyView {
    let span = |ids: &[SessionId]| match (ids.first(), ids.last()) {
        (Some(first), Some(last)) => {
            format!(
                "{} sessions, {} to {}",
                ids.len(),
                page.day(first),
                page.day(last)
            )
        }
        _ => "none".to_owned(),
    };
    view! {
        <dl class="facts">
            <dt>"Kept"</dt>
            <dd>{format!("{}, about {} tokens", span(&fit.kept), fit.kept_tokens)}</dd>
            <dt>"Cut"</dt>
            <dd>{format!("{}, about {} tokens", span(&fit.cut), fit.cut_tokens)}</dd>
            <dt>"Room"</dt>
            <dd>{format!("about {} tokens beside request and answer", fit.room_tokens)}</dd>
        </dl>
    }
    .into_any()
}

/// A passage of the user whose history was read in place of this one's.
fn elsewhere(page: Page, passage: &PassageId, session: SessionId) -> AnyView {
    let address = untrack(|| page.donor()).and_then(|donor| {
        let find = page.given.with_value(|given| given.session_of);
        find.run((donor, session))
    });
    let label = passage.0.clone();
    match address {
        Some(address) => view! {
            <a class="passage-link" href=address title="Show in the history of the user it is from">
                {label}
            </a>
        }
        .into_any(),
        None => view! { <span class="passage-link muted">{label}</span> }.into_any(),
    }
}

/// A button that leads to the passage's session; a link for a passage of somebody else.
pub(super) fn passage_link(page: Page, passage: &PassageId) -> AnyView {
    let session = session_of(passage);
    if !page.has_session(&session) {
        return elsewhere(page, passage, session);
    }
    let label = format!("{} · {}", page.day(&session), passage.0);
    let of_evidence = session.clone();
    let is_evidence = move || page.evidence.with(|all| all.contains_key(&of_evidence));
    view! {
        <button
            type="button"
            class="link passage-link"
            class:evidence-link=is_evidence
            title="Show in the history"
            on:click=move |_| page.show_session(&session)
        >
            {label}
        </button>
    }
    .into_any()
}

pub(super) fn query(query: Query) -> impl IntoView {
    view! {
        <p class="query">
            <span class="inst-tag">{query.facet}</span>
            {query.text}
        </p>
    }
}

fn hits(page: Page, list: QueryHits) -> impl IntoView {
    let hits = list
        .hits
        .into_iter()
        .map(|hit| one_hit(page, hit))
        .collect_view();
    view! {
        {query(list.query)}
        <ol class="hits">{hits}</ol>
    }
}

fn one_hit(page: Page, hit: Hit) -> impl IntoView {
    let share = hit.score.clamp(0.0, 1.0);
    // Not known before the run is over.
    let method = move || {
        page.run.record.with(|record| {
            let record = record.as_ref()?;
            Some(method_named(&record.retriever.method))
        })
    };
    let cosine = move || method().is_some_and(scores_are_cosines);
    let meter = move || {
        cosine().then(|| {
            view! { <span class="meter" style=format!("--share:{share}") aria-hidden="true"></span> }
        })
    };
    view! {
        <li>
            {meter}
            <span class="score" title=move || method().map(score_name)>{format!("{:.3}", hit.score)}</span>
            {passage_link(page, &hit.passage.id)}
            <span class="excerpt">{hit.passage.text}</span>
        </li>
    }
}

pub(super) fn filtered(page: Page, kept: Vec<Passage>, out: Vec<Dropped>) -> AnyView {
    let kept = kept.into_iter().map(|passage| {
        view! {
            <li>
                {passage_link(page, &passage.id)} <span class="excerpt">{passage.text}</span>
            </li>
        }
    });
    view! {
        <ul class="plain-list">{kept.collect_view()}</ul>
        {dropped(page, out)}
    }
    .into_any()
}

fn dropped(page: Page, dropped: Vec<Dropped>) -> Option<impl IntoView> {
    let any = !dropped.is_empty();
    let items = dropped.into_iter().map(move |drop| {
        view! {
            <li>
                {passage_link(page, &drop.passage)} " " <span>{drop.reason}</span>
            </li>
        }
    });
    any.then(|| {
        view! {
            <h3 class="stage-out">"Dropped"</h3>
            <ul class="plain-list dropped">{items.collect_view()}</ul>
        }
    })
}

/// Best first, with the threshold as a line between those that reach it and those that do not.
fn ranked(page: Page, scored: Vec<ScoredPassage>, kept: &[PassageId], out: &[Dropped]) -> AnyView {
    let min = threshold(page);
    let ranking = select::ranking(scored, min);
    let row = |score: ScoredPassage| {
        let stays = kept.contains(&score.passage);
        let why = out.iter().find(|drop| drop.passage == score.passage);
        let fate = match (stays, why) {
            (true, _) => "kept".to_owned(),
            (false, Some(drop)) => format!("dropped: {}", drop.reason),
            (false, None) => "dropped".to_owned(),
        };
        let salience = score.salience.map_or("no score".to_owned(), plain_number);
        let share = score.salience.unwrap_or(0.0).clamp(0.0, 10.0) / 10.0;
        view! {
            <li class:dropped=!stays>
                <span class="meter" style=format!("--share:{share}") aria-hidden="true"></span>
                <span class="score">{salience}</span>
                {passage_link(page, &score.passage)}
                <span>{fate}</span>
                <span class="hit-note">{signals(&score.signals)}</span>
            </li>
        }
    };
    let (reach, below, unscored) = (ranking.reach, ranking.below, ranking.unscored);
    let line = (!below.is_empty()).then(|| {
        view! { <li class="threshold">{format!("salience {} is needed", plain_number(min))}</li> }
    });
    let rows = |list: Vec<ScoredPassage>| list.into_iter().map(row).collect_view();
    view! {
        <ol class="hits ranked">
            {rows(reach)} {line} {rows(below)} {rows(unscored)}
        </ol>
    }
    .into_any()
}

/// What the run that is shown demanded.
fn threshold(page: Page) -> f64 {
    let of_record = page
        .run
        .record
        .with_untracked(|record| record.as_ref().map(|record| record.params.min_salience));
    let live = untrack(|| page.running());
    of_record.filter(|_| !live).unwrap_or_else(|| {
        let params = page.given.with_value(|given| given.params);
        params.with_untracked(|params| params.min_salience)
    })
}

fn signals(signals: &[String]) -> String {
    signals
        .iter()
        .map(|signal| signal.replace('_', " "))
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn compact(page: Page, item: CompactItem) -> impl IntoView {
    view! {
        <li>
            {passage_link(page, &item.passage)} <span>{item.text}</span>
        </li>
    }
}

pub(super) fn preferences(page: Page, items: Vec<ExtractedPreference>) -> AnyView {
    if items.is_empty() {
        return view! { <p>"None extracted."</p> }.into_any();
    }
    let items = items.into_iter().map(|item| {
        let links: Vec<_> = item
            .passages
            .iter()
            .map(|passage| passage_link(page, passage))
            .collect();
        view! {
            <li>
                <span class="inst-tag">{item.kind}</span>
                {item.text}
                <span class="links">{links}</span>
            </li>
        }
    });
    view! { <ul class="plain-list">{items.collect_view()}</ul> }.into_any()
}

pub(super) fn plan(plan: AlignmentPlan) -> AnyView {
    if plan.items.is_empty() {
        return view! { <p>"The plan is empty."</p> }.into_any();
    }
    let items = plan.items.into_iter().map(|item| {
        view! {
            <li>
                <span class="inst-tag">{item.aspect}</span>
                {item.slot.map(|slot| view! { <code>{slot}</code> " " })}
                {item.text}
            </li>
        }
    });
    view! { <ul class="plain-list">{items.collect_view()}</ul> }.into_any()
}

/// A short form: the whole stands in the outcome zone.
fn output(output: Output) -> AnyView {
    match output {
        Output::GenerateText { text } => view! { <p class="excerpt long">{text}</p> }.into_any(),
        Output::CallApi { slots, description } => {
            let slots = slots.into_iter().map(|(slot, value)| {
                view! {
                    <li>
                        <code>{slot}</code>
                        " "
                        {plain(&value)}
                    </li>
                }
            });
            view! {
                <p>{description}</p>
                <ul class="plain-list">{slots.collect_view()}</ul>
            }
            .into_any()
        }
    }
}
