//! The results: domain table, radar, instances, exports.

mod again;
mod calibration;
mod domains;
mod exports;
mod funnel;
mod instances;
mod judges;
mod notices;
mod paper;
mod tables;

use crate::agent::trace::System;
use crate::bench::ids::RequirementId;
use crate::browser::clock;
use crate::browser::error::BrowserError;
use crate::results::paper::Paper;
use crate::results::table::{self, DomainTable};
use crate::results::{LoadedResult, figure};
use crate::route::results_view::{Part, ResultsView};
use crate::run::record::RunRecord;
use crate::run::setup;
use crate::ui::charts::RadarChart;
pub use again::AgainMany;
use again::AgainSection;
pub use calibration::Calibrate;
use calibration::CalibrationSection;
use domains::DomainsTable;
use exports::Exports;
use funnel::FunnelSection;
use instances::Instances;
use judges::JudgesSection;
use leptos::prelude::*;
use notices::FileNotices;
use paper::PaperPicker;
use std::collections::BTreeSet;
use std::sync::Arc;
use tables::{CurvesSection, DifferencesSection};

/// A run, and the requirement of it that is meant.
#[derive(Clone)]
pub struct Found {
    pub run: Arc<RunRecord>,
    pub requirement: Option<RequirementId>,
}

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
    /// The other choices; part of the address.
    view: Memo<ResultsView>,
    /// Puts other choices into the address.
    change: Callback<ResultsView>,
    /// Judging the gold-labelled samples of the open dataset.
    calibrate: Calibrate,
    /// Judging outputs again.
    again: AgainMany,
    /// Address of the instance view that shows a run.
    href: Callback<Found, String>,
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
    let part = Memo::new(move |_| view.with(|view| view.part));
    let all = Memo::new(move |_| every_record(&records.get(), &opened.get()));
    let chosen = Memo::new(move |_| {
        let of = view.with(|view| view.of.clone());
        all.with(|all| of_setup(all, of.as_deref()))
    });
    let run_href = Callback::new(move |run| {
        href.run(Found {
            run,
            requirement: None,
        })
    });
    let shown = move || {
        match part.get() {
        Part::Scores => view! {
            <Figures table=table paper=paper overlay=overlay on_error=on_error />
        }
        .into_any(),
        Part::Lost => view! {
            <RunsPicker all=all view=view change=change />
            <FunnelSection records=chosen view=view change=change href=href on_error=on_error today=today() />
        }
        .into_any(),
        Part::Judges => view! {
            <RunsPicker all=all view=view change=change />
            <JudgesSection records=chosen paper=paper href=href />
            <AgainSection records=chosen again=again />
            <CalibrationSection records=all calibrate=calibrate />
        }
        .into_any(),
        Part::Tables => view! {
            <DifferencesSection table=table />
            <RunsPicker all=all view=view change=change />
            <CurvesSection records=chosen on_error=on_error today=today() />
        }
        .into_any(),
        Part::Runs => view! {
            <Instances records=records opened=opened instance_href=run_href />
        }
        .into_any(),
    }
    };
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
        <Parts part=part view=view change=change />
        {shown}
    }
    .into_any()
}

/// Runs of this browser, then those of opened files; a run that is in both counts once.
fn every_record(own: &[Arc<RunRecord>], opened: &[Arc<LoadedResult>]) -> Vec<Arc<RunRecord>> {
    let mut seen = BTreeSet::new();
    let read = opened.iter().flat_map(|loaded| loaded.records());
    own.iter()
        .chain(read)
        .filter(|record| seen.insert(record.id.clone()))
        .cloned()
        .collect()
}

/// Runs of systems: of the set-up that the address names, or all.
fn of_setup(all: &[Arc<RunRecord>], of: Option<&str>) -> Vec<Arc<RunRecord>> {
    let systems = all.iter().filter(|record| record.system != System::Samples);
    let Some(of) = of else {
        return systems.cloned().collect();
    };
    let groups = setup::setups(systems.clone().map(Arc::as_ref));
    let chosen = setup::of_key(&groups, of).unwrap_or_default();
    let ids: BTreeSet<&str> = chosen.iter().map(|record| record.id.as_str()).collect();
    systems
        .filter(|record| ids.contains(record.id.as_str()))
        .cloned()
        .collect()
}

/// The parts of the view as links, so that each can be opened on its own.
#[component]
fn Parts(
    part: Memo<Part>,
    view: Memo<ResultsView>,
    change: Callback<ResultsView>,
) -> impl IntoView {
    let tabs = Part::ALL.into_iter().map(|own| {
        let choose = move |_| {
            let before = view.get_untracked();
            change.run(ResultsView {
                part: own,
                ..before
            });
        };
        view! {
            <button
                type="button"
                class="part-tab"
                aria-current=move || (part.get() == own).then_some("page")
                on:click=choose
            >
                {own.title()}
            </button>
        }
    });
    view! { <nav class="part-tabs" aria-label="Parts of the results">{tabs.collect_view()}</nav> }
}

/// Narrows a part to one set-up: runs that may stand in one mean.
#[component]
fn RunsPicker(
    all: Memo<Vec<Arc<RunRecord>>>,
    view: Memo<ResultsView>,
    change: Callback<ResultsView>,
) -> impl IntoView {
    // Key and name of each set-up, by name.
    let setups = Memo::new(move |_| {
        all.with(|all| {
            let systems = all.iter().filter(|record| record.system != System::Samples);
            let groups = setup::setups(systems.map(Arc::as_ref));
            let firsts: Vec<&RunRecord> = groups.iter().map(|group| group[0]).collect();
            let names = setup::names(&firsts, RunRecord::system_label);
            let keys = firsts.iter().map(|record| setup::key(record));
            let mut found: Vec<(String, String)> = names.into_iter().zip(keys).collect();
            found.sort();
            found
        })
    });
    let choose = move |event| {
        let of = event_target_value(&event);
        let before = view.get_untracked();
        let of = (!of.is_empty()).then_some(of);
        change.run(ResultsView {
            of,
            cell: None,
            ..before
        });
    };
    let options = move || {
        let chosen = view.with(|view| view.of.clone());
        let option = |(name, key): (String, String)| {
            let selected = chosen.as_ref() == Some(&key);
            view! { <option value=key selected=selected>{name}</option> }
        };
        setups.get().into_iter().map(option).collect_view()
    };
    view! {
        <div class="field runs-picker" hidden=move || setups.with(|setups| setups.len() < 2)>
            <label for="runs-of">"Runs of"</label>
            <select id="runs-of" on:change=choose>
                <option value="">"all of them"</option>
                {options}
            </select>
        </div>
    }
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
