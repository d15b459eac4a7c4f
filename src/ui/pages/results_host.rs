//! Gives the results view the runs of this browser, the opened files and the paper's rows.

use super::results::{AgainMany, Calibrate, Found, ResultsPage};
use crate::bench::ids::InstanceId;
use crate::bench::manifest::IndexEntry;
use crate::bench::taxonomy::Action;
use crate::browser::abort::Abort;
use crate::browser::fetch::{self, Freshness};
use crate::browser::page;
use crate::results::paper::{self, Paper};
use crate::route::results_view::{self, ResultsView};
use crate::route::{DatasetKey, Query, Route};
use crate::run::again;
use crate::run::focus::{Focus, Tab};
use crate::run::record::{RunRecord, RunStatus};
use crate::settings::Settings;
use crate::ui::amend::amend;
use crate::ui::data::Open;
use crate::ui::files::ask;
use crate::ui::parts::Problem;
use crate::ui::runner::{Item, Kind};
use crate::ui::state::{Lab, lab};
use leptos::prelude::*;
use std::sync::Arc;

/// The paper's tables as they ship with the site.
const PAPER: &str = "paper/results.json";
/// Largest size of those tables.
const PAPER_LIMIT: u64 = 4 * 1024 * 1024;

#[component]
pub fn ResultsHost() -> impl IntoView {
    let lab = lab();
    let records = move || {
        lab.runner.records.with(|records| {
            records
                .iter()
                .filter(|record| record.status != RunStatus::Running)
                .cloned()
                .collect::<Vec<_>>()
        })
    };
    let paper = LocalResource::new(move || tables(lab));
    let overlay = RwSignal::new(chosen(lab));
    // The address follows the choice: an outside world, so an effect is its place.
    Effect::new(move |_| write(lab, overlay.get()));
    let view = Memo::new(move |old: Option<&ResultsView>| {
        lab.route.with(|route| match route {
            Route::Results { query } => ResultsView::read(query),
            // The view is about to go.
            _ => old.cloned().unwrap_or_default(),
        })
    });
    let change = Callback::new(move |view: ResultsView| {
        if let Route::Results { query } = lab.route.get_untracked() {
            lab.replace(Route::Results {
                query: view.write(&query),
            });
        }
    });
    let href = Callback::new(move |found: Found| address(lab, &found));
    let astray = Memo::new(move |_| {
        lab.route.with(|route| match route {
            Route::Results { query } => results_view::unknown_part(query).map(str::to_owned),
            _ => None,
        })
    });
    let astray = move || {
        let part = astray.get()?;
        let words = format!("The results have no part “{part}”; these are the scores.");
        Some(view! { <p class="dead-end" role="status">{words}</p> })
    };
    view! {
        <div class="page wide">
            {astray}
            <ResultsPage
                records=Signal::derive(records)
                opened=lab.opened.files
                paper=Signal::derive(move || paper.get().flatten())
                overlay=overlay
                view=view
                change=change
                calibrate=calibrate(lab)
                again=again(lab)
                href=href
                on_open_file=Callback::new(move |()| ask(false, move |files| lab.opened.open(lab, files)))
            />
        </div>
    }
}

/// Has the judges of the settings judge every gold-labelled text of the open dataset. Calls are
/// left out: their slots are decided by reference, never by a judge.
fn calibrate(lab: Lab) -> Calibrate {
    let ids = Memo::new(move |_| {
        let open = lab.data.current();
        open.map(|open| texts(&open)).unwrap_or_default()
    });
    let blocked = move || {
        let judges = lab.settings.with(|settings| settings.panel().judges.len());
        if ids.with(Vec::is_empty) {
            Some("Open a dataset with labelled samples first.".to_owned())
        } else if judges == 0 {
            Some("Choose a judge model under Settings first.".to_owned())
        } else if lab.batch.busy() {
            Some("Another batch is under way.".to_owned())
        } else {
            lab.settings
                .with(|settings| settings.blocked().or_else(|| lab.keys.missing(settings)))
        }
    };
    let plan = move || {
        lab.settings.with(|settings| {
            let panel = settings.panel();
            let calls = panel.calls() as usize * ids.with(Vec::len);
            format!(
                "{}: {calls} model calls; what was asked before is not asked again.",
                panel.names().join(", ")
            )
        })
    };
    let start = move |()| {
        let Some(open) = untrack(|| lab.data.current()) else {
            return;
        };
        let items = ids.get_untracked().into_iter().map(|instance| Item {
            instance,
            kind: Kind::Sample,
        });
        let items: Vec<Item> = items.collect();
        let title = format!("Judging {} labelled samples", items.len());
        lab.batch.start(lab, open, title, items);
    };
    Calibrate {
        samples: Signal::derive(move || ids.with(Vec::len)),
        blocked: Signal::derive(blocked),
        plan: Signal::derive(plan),
        start: Callback::new(start),
    }
}

/// Has the judges of the settings judge finished runs again, as far as the open dataset has their
/// instances.
fn again(lab: Lab) -> AgainMany {
    let blocked = move || {
        if lab.data.current().is_none() {
            return Some("Open the dataset of the runs first.".to_owned());
        }
        if lab
            .settings
            .with(|settings| settings.panel().judges.is_empty())
        {
            return Some("Choose a judge model under Settings first.".to_owned());
        }
        if lab.batch.busy() {
            return Some("Another batch is under way.".to_owned());
        }
        lab.settings
            .with(|settings| settings.blocked().or_else(|| lab.keys.missing(settings)))
    };
    let plan = move |runs: Vec<Arc<RunRecord>>| {
        let panel = lab.settings.with(Settings::panel);
        let calls = runs.iter().map(|run| again::calls(&panel, run)).sum();
        let back: usize = runs.iter().map(|run| again::waiting(run)).sum();
        let back = match back {
            0 => String::new(),
            n => format!(" {n} verdict sets that were taken back may come back without a call."),
        };
        let names = panel.names().join(", ");
        (
            calls,
            format!("{names}: {calls} model calls at most.{back}"),
        )
    };
    let start = move |runs: Vec<Arc<RunRecord>>| {
        let Some(open) = untrack(|| lab.data.current()) else {
            return;
        };
        let known = |run: &Arc<RunRecord>| open.entry(&run.instance).is_some();
        let (known, strange): (Vec<_>, Vec<_>) = runs.into_iter().partition(known);
        if !strange.is_empty() {
            let text = format!(
                "{} of the runs are on instances that the open dataset does not have; they are left out",
                strange.len()
            );
            lab.notices.info(text);
        }
        let item = |run: Arc<RunRecord>| Item {
            instance: run.instance.clone(),
            kind: Kind::Again { run },
        };
        let items: Vec<Item> = known.into_iter().map(item).collect();
        let title = format!("Judging {} runs again", items.len());
        lab.batch.start(lab, open, title, items);
    };
    let take_back = move |runs: Vec<Arc<RunRecord>>| {
        for run in &runs {
            amend(lab, &run.id, |record| {
                again::take_back(record);
            });
        }
        lab.notices
            .info("Set aside, not lost: judging again brings it back without a call");
    };
    AgainMany {
        blocked: Signal::derive(blocked),
        plan: Callback::new(plan),
        start: Callback::new(start),
        take_back: Callback::new(take_back),
    }
}

/// Instances that ask for a text.
fn texts(open: &Open) -> Vec<InstanceId> {
    let text = |entry: &&IndexEntry| {
        let scenario = open.dataset.manifest.scenario(&entry.scenario);
        scenario.is_some_and(|scenario| scenario.action == Action::GenerateText)
    };
    let entries = open.dataset.index.iter().filter(text);
    entries.map(|entry| entry.id.clone()).collect()
}

fn chosen(lab: Lab) -> Vec<String> {
    lab.route.with_untracked(|route| match route {
        Route::Results { query } => query.all("row").map(str::to_owned).collect(),
        _ => Vec::new(),
    })
}

fn write(lab: Lab, rows: Vec<String>) {
    let Route::Results { query } = lab.route.get_untracked() else {
        return;
    };
    let others = query.0.iter().filter(|(name, _)| name != "row").cloned();
    let rows = rows.into_iter().map(|row| ("row".to_owned(), row));
    let chosen: Query = others.chain(rows).collect();
    // Where nothing was chosen the address stays: the visitor may be leaving.
    if chosen != query {
        lab.replace(Route::Results { query: chosen });
    }
}

/// Where a run can be looked at.
fn address(lab: Lab, found: &Found) -> String {
    let record = &found.run;
    let open = lab.data.current();
    let same = open.filter(|open| open.dataset.manifest_sha256 == record.dataset.sha256);
    let dataset = same.map_or(DatasetKey::Bundled, |open| open.key);
    let focus = found.requirement.clone().map(|requirement| Focus {
        tab: Tab::Outcome,
        requirement: Some(requirement),
        ..Focus::default()
    });
    let focus = focus.map(|focus| focus.pairs()).unwrap_or_default();
    let query = std::iter::once(("run", record.id.clone()))
        .chain(focus)
        .collect();
    Route::Instance {
        dataset,
        id: record.instance.clone(),
        system: record.system,
        query,
    }
    .address()
}

async fn tables(lab: Lab) -> Option<Arc<Paper>> {
    let url = page::resolve(PAPER).ok()?;
    let (silent, abort) = (fetch::silent(), Abort::new());
    let get = fetch::Get {
        url: &url,
        limit: PAPER_LIMIT,
        expect: None,
        freshness: Freshness::Normal,
        progress: &silent,
        abort: &abort,
    };
    let fetched = fetch::get(get)
        .await
        .map_err(|error| Problem::new(&error, error.hint()));
    let parsed = fetched.and_then(|fetched| {
        let text = String::from_utf8_lossy(&fetched.bytes.to_vec()).into_owned();
        paper::parse(&text).map_err(|error| Problem::new(&error, Some(error.hint())))
    });
    parsed
        .map(Arc::new)
        .map_err(|problem| lab.notices.bad(problem))
        .ok()
}
