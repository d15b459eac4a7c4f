//! Parts of the program that load when they are first needed. `./dev split` cuts the page's program
//! at the functions marked here: what only they reach comes in files of its own, fetched when one
//! of them is first called. The pages and the readers of files are such parts; the frame is not.

use super::batch_bar::BatchBar;
use super::data::{After, Source, Turn};
use super::desk::DeskDialog;
use super::import::ImportDialog;
use super::pages;
use super::parts::{Problem, ProblemBox};
use super::state::{Lab, lab};
use crate::browser::files::PickedFile;
use crate::route::Route;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::pin::Pin;
use wasm_split_helpers::{SplitLoaderError, wasm_split};

/// Draws a page.
type Draw = fn() -> AnyView;

impl From<SplitLoaderError> for Problem {
    fn from(_: SplitLoaderError) -> Self {
        Self::new(
            "A part of the page could not be loaded",
            Some(
                "Check the connection and try again. If a new version of the site has just been published, reload the page.",
            ),
        )
    }
}

#[wasm_split(home, fallible)]
fn start() -> Result<Draw, Problem> {
    Ok(|| view! { <pages::StartPage /> }.into_any())
}

#[wasm_split(home, fallible)]
fn about() -> Result<Draw, Problem> {
    Ok(|| view! { <pages::AboutPage /> }.into_any())
}

#[wasm_split(browse, fallible)]
fn instances() -> Result<Draw, Problem> {
    Ok(|| view! { <pages::InstancesPage /> }.into_any())
}

#[wasm_split(browse, fallible)]
fn search() -> Result<Draw, Problem> {
    Ok(|| view! { <pages::SearchPage /> }.into_any())
}

#[wasm_split(work, fallible)]
fn instance() -> Result<Draw, Problem> {
    Ok(|| view! { <pages::InstanceHost /> }.into_any())
}

#[wasm_split(work, fallible)]
fn results() -> Result<Draw, Problem> {
    Ok(|| view! { <pages::ResultsHost /> }.into_any())
}

#[wasm_split(work, fallible)]
fn settings() -> Result<Draw, Problem> {
    Ok(|| view! { <pages::SettingsPage /> }.into_any())
}

/// What lies over every page once there is something to run or to ask.
#[wasm_split(work, fallible)]
fn over_all() -> Result<Draw, Problem> {
    Ok(|| {
        let lab = lab();
        view! {
            <BatchBar lab=lab />
            <ImportDialog lab=lab />
            <DeskDialog />
        }
        .into_any()
    })
}

/// The bar of a batch and the dialogs of imports and of answers by hand, from when they are first
/// needed.
pub fn overlays(lab: Lab) -> AnyView {
    let needed = Memo::new(move |_| {
        lab.batch.state.with(Option::is_some) || lab.imports.waiting() || lab.desk.count() > 0
    });
    let part = RwSignal::new(None::<Draw>);
    // The network is an outside world, so an effect is its place.
    Effect::new(move |_| {
        if needed.get() && part.with_untracked(Option::is_none) {
            spawn_local(async move {
                match over_all().await {
                    Ok(draw) => part.set(Some(draw)),
                    Err(problem) => lab.notices.bad(problem),
                }
            });
        }
    });
    (move || part.get().map(|draw| draw())).into_any()
}

/// Work that the frame starts but does not hold: it draws nothing.
pub enum Errand {
    /// Opens store and dataset, finds the runs of earlier visits, warms the engine up.
    StartUp,
    /// Opens a dataset.
    Dataset(Turn, Source, After),
    /// Reads result files of the visitor.
    ResultFiles(Vec<PickedFile>),
    /// Reads result files by their addresses, one after the other.
    ResultAddresses(Vec<String>),
}

#[wasm_split(opening, fallible)]
fn work(lab: Lab, errand: Errand) -> Result<Pin<Box<dyn Future<Output = ()>>>, Problem> {
    Ok(match errand {
        Errand::StartUp => Box::pin(lab.start_up()),
        Errand::Dataset(turn, source, after) => Box::pin(lab.data.fetch(lab, turn, source, after)),
        Errand::ResultFiles(files) => Box::pin(lab.opened.open_results(lab, files)),
        Errand::ResultAddresses(all) => Box::pin(lab.opened.fetch_results(lab, all)),
    })
}

/// Runs an errand in the background.
pub fn run(lab: Lab, errand: Errand) {
    spawn_local(async move {
        match work(lab, errand).await {
            Ok(work) => work.await,
            Err(problem) => lab.notices.bad(problem),
        }
    });
}

/// Fetches every part, so that the next view opens at once and a later visit needs no network.
pub async fn fetch_all() {
    // What fails here is fetched, and its failure said, when it is needed.
    let _ = futures::join!(start(), instances(), instance());
}

async fn draw_of(route: &Route) -> Result<Draw, Problem> {
    match route {
        Route::Start => start().await,
        Route::Instances { .. } => instances().await,
        Route::Instance { .. } => instance().await,
        Route::Search { .. } => search().await,
        Route::Results { .. } => results().await,
        Route::Settings => settings().await,
        Route::About => about().await,
    }
}

/// The page of a route, once its part of the program is there. It is drawn under the owner that
/// calls this.
pub fn page(route: Route) -> AnyView {
    let part = RwSignal::new(None::<Result<Draw, Problem>>);
    let load = move || {
        let route = route.clone();
        spawn_local(async move {
            let loaded = draw_of(&route).await;
            // The visitor may have gone on meanwhile.
            part.try_set(Some(loaded));
        });
    };
    load();
    let load = StoredValue::new(load);
    let again = move |_| {
        part.set(None);
        load.with_value(|load| load());
    };
    (move || match part.get() {
        None => view! { <div class="page"><p class="muted waiting" aria-live="polite">"Loading …"</p></div> }.into_any(),
        Some(Ok(draw)) => draw(),
        Some(Err(problem)) => view! {
            <div class="page">
                <ProblemBox problem=problem>
                    <button type="button" class="button" on:click=again>"Try again"</button>
                </ProblemBox>
            </div>
        }
        .into_any(),
    })
    .into_any()
}
