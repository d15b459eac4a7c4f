//! The results: domain table, radar, instances, exports.

mod domains;
mod exports;
mod instances;
mod notices;
mod paper;

use crate::browser::clock;
use crate::browser::error::BrowserError;
use crate::results::paper::Paper;
use crate::results::table::{self, DomainTable};
use crate::results::{LoadedResult, figure};
use crate::run::record::RunRecord;
use crate::ui::charts::RadarChart;
use domains::DomainsTable;
use exports::Exports;
use instances::Instances;
use leptos::prelude::*;
use notices::FileNotices;
use paper::PaperPicker;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Shows what was run in this tab and what was opened from files, side by side.
#[component]
pub fn ResultsPage(
    /// Runs of this tab, oldest first.
    #[prop(into)]
    records: Signal<Vec<Arc<RunRecord>>>,
    /// Files opened from disk or by address.
    #[prop(into)]
    opened: Signal<Vec<Arc<LoadedResult>>>,
    /// The published rows, once `paper/results.json` is loaded.
    #[prop(into)]
    paper: Signal<Option<Arc<Paper>>>,
    /// Ids of the paper's rows that are overlaid; the owner keeps them in the address.
    overlay: RwSignal<Vec<String>>,
    /// Address of the instance view that shows a run.
    #[prop(into)]
    instance_href: Callback<Arc<RunRecord>, String>,
    /// Asks the visitor for a file to open.
    #[prop(into)]
    on_open_file: Callback<()>,
) -> impl IntoView {
    let problem = RwSignal::new(None::<String>);
    let on_error = Callback::new(move |error: BrowserError| problem.set(Some(error.to_string())));
    let table = Memo::new(move |_| {
        let paper = paper.get();
        records.with(|records| {
            opened.with(|opened| {
                overlay.with(|overlay| table::build(records, opened, paper.as_deref(), overlay))
            })
        })
    });
    let nothing = Memo::new(move |_| records.with(Vec::is_empty) && opened.with(Vec::is_empty));
    view! {
        <header class="page-head results-head">
            <div>
                <h1>"Results"</h1>
                <p class="muted">
                    "Percent of hidden requirements met: the mean over an instance's requirements, then over instances."
                </p>
            </div>
            <div class="actions">
                <button type="button" class="button" on:click=move |_| on_open_file.run(())>
                    "Open a result file"
                </button>
                <Exports records=records table=table on_error=on_error />
            </div>
        </header>
        <p class="results-problem" role="alert" hidden=move || problem.with(Option::is_none)>
            {move || problem.get()}
        </p>
        <FileNotices opened=opened />
        {move || nothing.get().then(|| view! { <NothingYet /> })}
        <Figures table=table paper=paper overlay=overlay on_error=on_error />
        {move || (!nothing.get()).then(|| view! {
            <Instances records=records opened=opened instance_href=instance_href />
        })}
    }
    .into_any()
}

#[component]
fn NothingYet() -> impl IntoView {
    view! {
        <section class="empty">
            <h2>"No results yet"</h2>
            <p class="muted">
                "Pick an instance and run a system on it, or open a result file: one of this site, or any Inspect log in JSON (.json, .json.gz). A file can also be dropped anywhere on the page. Below stand the paper's numbers, to compare with."
            </p>
        </section>
    }
}

/// Table and radar of the same rows. A row is drawn until the visitor takes it out.
#[component]
fn Figures(
    table: Memo<DomainTable>,
    paper: Signal<Option<Arc<Paper>>>,
    overlay: RwSignal<Vec<String>>,
    on_error: Callback<BrowserError>,
) -> impl IntoView {
    let hidden = RwSignal::new(BTreeSet::<String>::new());
    let figure = Memo::new(move |_| {
        table.with(|table| {
            let drawn = hidden.with(|hidden| {
                let rows = table.rows.iter().filter(|row| !hidden.contains(&row.key));
                rows.filter(|row| row.cells.iter().any(|cell| cell.percent.is_some()))
                    .collect::<Vec<_>>()
            });
            figure::radar(table, &drawn, &today())
        })
    });
    let empty = Memo::new(move |_| figure.with(|figure| figure.series.is_empty()));
    let too_many = Memo::new(move |_| {
        let drawn = table.with(|table| {
            hidden.with(|hidden| {
                table
                    .rows
                    .iter()
                    .filter(|row| !hidden.contains(&row.key))
                    .count()
            })
        });
        drawn > figure::MOST
    });
    view! {
        <section class="block" aria-labelledby="domains-title">
            <h2 id="domains-title">"By domain"</h2>
            <DomainsTable table=table hidden=hidden overlay=overlay />
            <PaperPicker paper=paper overlay=overlay />
        </section>
        <section class="block" aria-labelledby="radar-title" hidden=move || empty.get()>
            <h2 id="radar-title">"Nine domains at a glance"</h2>
            <p class="muted" hidden=move || !too_many.get()>
                "The first six of the ticked rows are drawn; untick some to see others."
            </p>
            <div class="radar-row">
                <RadarChart figure=figure file_stem="iba-lab-radar" on_error=on_error />
            </div>
        </section>
    }
    .into_any()
}

/// The day by the visitor's clock, in UTC.
fn today() -> String {
    let now = js_sys::Date::new(&clock::now_ms().into());
    let text = String::from(now.to_iso_string());
    text.chars().take(10).collect()
}
