//! The score of the instance and every hidden requirement.

use super::judge_calls::JudgeCalls;
use super::page::Page;
use super::props::ExportFormat;
use super::provenance::Provenance;
use super::reveal::Reveal;
use super::verdict::VerdictItem;
use crate::run::outcome::Tally;
use crate::score;
use crate::words::percent;
use leptos::prelude::*;

/// Requirements with their verdicts, once they may be shown.
#[component]
pub(super) fn Verdicts(page: Page) -> impl IntoView {
    let list = move || {
        page.rows
            .get()
            .iter()
            .map(|row| view! { <VerdictItem page row=row.clone() /> })
            .collect_view()
    };
    view! {
        <div class="zone-head">
            <h2>"Requirements"</h2>
            <Show when=move || page.shown.get()>
                <p class="muted">{move || tally(page).sentence()}</p>
            </Show>
        </div>
        <Show when=move || page.shown.get() fallback=move || view! { <Reveal page /> }>
            <Score page />
            <JudgeAgain page />
            <ol class="verdicts">{list}</ol>
            <JudgeCalls page />
        </Show>
        <Export page />
        <Provenance page />
    }
}

fn tally(page: Page) -> Tally {
    page.rows.with(|rows| Tally::of(rows))
}

/// The score as a number and as one cell for each requirement.
#[component]
fn Score(page: Page) -> impl IntoView {
    let number = move || {
        let record = page.run.record.get().filter(|_| !page.running())?;
        let mean = score::of_judgements(&record.judgements).mean?;
        Some(percent(mean))
    };
    let counts = move || {
        let tally = tally(page);
        (tally.judged(), page.rows.with(|rows| rows.len()))
    };
    let partly = move || counts().0 < counts().1;
    let judged = move || match counts() {
        (judged, all) if judged < all => format!("{judged} of {all} judged"),
        (_, all) => format!("all {all} judged"),
    };
    let cells = move || {
        let cell = |row: &crate::run::outcome::Row| {
            let state = row
                .standing
                .map_or("open", |state| super::output::state_word(state).0);
            view! { <span class="score-cell" data-state=state></span> }
        };
        page.rows.get().iter().map(cell).collect_view()
    };
    move || {
        number().map(|number| {
            view! {
                <div class="score-line">
                    <span class="score-number" class:partly=partly>{number}</span>
                    <strong>{judged}</strong>
                    <span class="muted">"mean over the judged requirements"</span>
                    <span class="score-cells" aria-hidden="true">{cells}</span>
                </div>
            }
        })
    }
}

/// Other judges, more repeats or an edited judge's prompt on the same output.
#[component]
fn JudgeAgain(page: Page) -> impl IntoView {
    let again = page.given.with_value(|given| given.again);
    let ready = move || page.output.with(Option::is_some) && !page.running();
    let round = move || again.with(|again| again.round);
    let words = move || again.with(|again| again.blocked.clone().unwrap_or(again.plan.clone()));
    view! {
        <Show when=ready>
            <div class="inst-row judge-again" role="group" aria-label="Judge again">
                <button
                    type="button"
                    class="button small"
                    prop:disabled=move || again.with(|again| again.blocked.is_some())
                    on:click=move |_| page.on.judge_again.run(())
                >
                    "Judge again"
                </button>
                <Show when=move || { round() > 0 }>
                    <button type="button" class="button small" on:click=move |_| page.on.take_back.run(())>
                        "Take the last judging back"
                    </button>
                </Show>
                <span class="muted small">{words}</span>
            </div>
        </Show>
    }
}

#[component]
fn Export(page: Page) -> impl IntoView {
    let ready = move || page.run.record.with(Option::is_some) && !page.running();
    let button = move |format, label: &'static str| {
        view! {
            <button type="button" class="button small" on:click=move |_| page.on.export.run(format)>
                {label}
            </button>
        }
    };
    view! {
        <Show when=ready>
            <div class="inst-row export" role="group" aria-label="Save the result">
                <span class="muted">"Save for Inspect"</span>
                {button(ExportFormat::Json, "JSON")}
                {button(ExportFormat::JsonGz, "JSON, gzip'd")}
            </div>
        </Show>
    }
}
