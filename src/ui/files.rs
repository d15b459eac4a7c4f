//! Files the visitor opens: a result file, or a dataset. What it is, its name and first bytes say.

use super::late::{self, Errand};
use super::parts::Problem;
use super::state::{Lab, lab};
use crate::agent::trace_view::count;
use crate::browser::abort::Abort;
use crate::browser::drop::Dropped;
use crate::browser::fetch::{self, Freshness};
use crate::browser::files::{self, FileError, MAX_FILE, PickedFile};
use crate::browser::page;
use crate::embed::registry::folder;
use crate::results::{LoadedResult, inspect};
use crate::route::{DatasetKey, Query, Route};
use crate::run::backup::Backup;
use crate::run::predictions;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// The recorded runs that ship with the site, one file for each system (`lab record`).
pub const EXAMPLES: [&str; 5] = [
    "examples/recorded-iba_agent.json.gz",
    "examples/recorded-wo_deep_retrieval.json.gz",
    "examples/recorded-wo_bt_da.json.gz",
    "examples/recorded-wo_synthesis.json.gz",
    "examples/recorded-standard_rag.json.gz",
];

/// Whether a run is one of the recorded ones: they are named by instance and system.
pub fn is_example(run: &str) -> bool {
    let system = run.rsplit_once('.').map(|(_, system)| system);
    system.is_some_and(|system| EXAMPLES.contains(&&*format!("examples/recorded-{system}.json.gz")))
}

/// The result files opened in this tab. Handle.
#[derive(Clone, Copy)]
pub struct Opened {
    pub files: RwSignal<Vec<Arc<LoadedResult>>>,
    /// Name of the file being read.
    pub reading: RwSignal<Option<String>>,
    /// The run that files are opened for; the view that shows it stays.
    sought: RwSignal<Option<String>>,
}

impl Default for Opened {
    fn default() -> Self {
        Self::new()
    }
}

impl Opened {
    pub fn new() -> Self {
        Self {
            files: RwSignal::new(Vec::new()),
            reading: RwSignal::new(None),
            sought: RwSignal::new(None),
        }
    }

    /// Whether an opened file has this run.
    pub fn has(self, run: &str) -> bool {
        self.files.with(|files| {
            let mut records = files.iter().flat_map(|file| file.records());
            records.any(|record| record.id == run)
        })
    }

    /// The files opened next are opened for this run.
    pub fn seek(self, run: &str) {
        self.sought.set(Some(run.to_owned()));
    }

    /// Opens whatever was dropped or picked: a dataset when there is a manifest, an embedding model
    /// when there are files that only models have, else result files.
    pub fn open(self, lab: Lab, files: Vec<PickedFile>) {
        if files.is_empty() {
            return;
        }
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        if paths.iter().any(|path| name(path) == "manifest.json") {
            lab.data.open_files(lab, files);
        } else if folder::is_model(&paths) {
            lab.go(&Route::Settings);
            lab.shelf.look_in(lab, files, None);
        } else if let Some(problem) = nothing_known(&paths) {
            lab.notices.bad(problem);
        } else {
            late::run(lab, Errand::ResultFiles(files));
        }
    }

    /// Opens the recorded runs and shows them.
    pub fn open_examples(self, lab: Lab) {
        let addresses = EXAMPLES.map(str::to_owned);
        late::run(lab, Errand::ResultAddresses(addresses.into()));
    }

    pub(super) async fn fetch_results(self, lab: Lab, addresses: Vec<String>) {
        let mut shown = false;
        for address in addresses {
            shown |= self.fetch(lab, address).await;
        }
        self.show(lab, shown);
    }

    /// Fetches one file; whether there is now something to show.
    async fn fetch(self, lab: Lab, address: String) -> bool {
        self.reading.set(Some(name(&address).to_owned()));
        let address = page::resolve(&address).unwrap_or(address);
        let (silent, abort) = (fetch::silent(), Abort::new());
        let get = fetch::Get {
            url: &address,
            limit: MAX_FILE,
            expect: None,
            freshness: Freshness::Normal,
            progress: &silent,
            abort: &abort,
        };
        let shown = match fetch::get(get).await {
            Ok(fetched) => self.take(lab, name(&address), &fetched.bytes.to_vec()),
            Err(error) => {
                lab.notices.bad(Problem::new(&error, error.hint()));
                false
            }
        };
        self.reading.set(None);
        shown
    }

    pub(super) async fn open_results(self, lab: Lab, files: Vec<PickedFile>) {
        let mut shown = false;
        for file in files {
            self.reading.set(Some(file.path.clone()));
            match files::read(&file, MAX_FILE, &fetch::silent(), &Abort::new()).await {
                Ok(bytes) => {
                    let bytes = bytes.to_vec();
                    if Backup::is_one(&bytes) {
                        self.restore(lab, name(&file.path), &bytes).await;
                    } else {
                        shown |= self.take(lab, name(&file.path), &bytes);
                    }
                }
                Err(FileError::Cancelled) => {}
                Err(error) => lab.notices.bad(Problem::new(&error, error.hint())),
            }
        }
        self.reading.set(None);
        self.show(lab, shown);
    }

    /// Takes a backup in: its runs, and the calls they paid for.
    async fn restore(self, lab: Lab, name: &str, bytes: &[u8]) {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        match Backup::read(name, bytes) {
            Ok((backup, dropped)) => {
                let taken = edge.runs.restore(backup).await;
                let runs = count(taken.len(), "run", "runs");
                let left = match dropped {
                    0 => String::new(),
                    some => format!(
                        " {} of another release could not be read.",
                        count(some, "run", "runs")
                    ),
                };
                lab.runner.restore(taken);
                lab.notices.good(format!("{runs} taken from {name}.{left}"));
            }
            Err(error) => lab.notices.bad(Problem::new(&error, None::<&str>)),
        }
    }

    /// Reads one result file; the same file again takes the place of the first.
    fn take(self, lab: Lab, name: &str, bytes: &[u8]) -> bool {
        if predictions::looks_like(name, bytes) {
            lab.imports.read(lab, name, bytes);
            return false;
        }
        match inspect::read(bytes, name) {
            Ok((file, notices)) => {
                let loaded = Arc::new(LoadedResult { file, notices });
                self.files.update(|files| {
                    files.retain(|old| old.file.name != loaded.file.name);
                    files.push(loaded);
                });
                true
            }
            Err(error) => {
                lab.notices.bad(Problem::new(&error, Some(error.hint())));
                false
            }
        }
    }

    fn show(self, lab: Lab, shown: bool) {
        let sought = self.sought.try_update(Option::take).flatten();
        // Its view shows the run by now, and the visitor may have gone on since the first file.
        let begins = lab.route.with_untracked(|route| *route == Route::Start);
        let found = sought.is_some_and(|run| !begins && untrack(|| self.has(&run)));
        if shown && !found {
            lab.go(&Route::Results {
                query: Query::default(),
            });
        }
    }
}

/// What is missing in a folder in which nothing is known, if that is what was dropped.
fn nothing_known(paths: &[&str]) -> Option<Problem> {
    const RESULTS: [&str; 7] = [".json", ".jsonl", ".gz", ".eval", ".zip", ".csv", ".tsv"];
    let (folder, _) = paths.first()?.split_once('/')?;
    let may_be_result = |path: &&str| {
        let name = name(path).to_lowercase();
        RESULTS.iter().any(|end| name.ends_with(end))
    };
    if paths.iter().any(may_be_result) {
        return None;
    }
    let text = format!(
        "“{folder}” was dropped, and nothing in it is known here: a dataset has a manifest.json, an embedding model an ONNX file and its tokenizer.json, and there is no result file either"
    );
    Some(Problem::new(
        text,
        Some("Drop the folder that holds those files itself."),
    ))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Asks the visitor for files, as a click on a hidden file input does.
pub fn ask(folder: bool, then: impl FnOnce(Vec<PickedFile>) + 'static) {
    let Ok(element) = document().create_element("input") else {
        return;
    };
    let Ok(input) = element.dyn_into::<web_sys::HtmlInputElement>() else {
        return;
    };
    input.set_type("file");
    input.set_multiple(true);
    if folder {
        // The attribute's name is valid, so this cannot fail.
        let _ = input.set_attribute("webkitdirectory", "");
    }
    let own = input.clone();
    let chosen = wasm_bindgen::closure::Closure::once_into_js(move || then(files::picked(&own)));
    input.set_onchange(Some(chosen.unchecked_ref()));
    input.click();
}

/// The next step after a dataset could not be opened: its address once more, or its folder.
#[component]
pub fn OpenAgain(key: DatasetKey) -> impl IntoView {
    let lab = lab();
    match key {
        DatasetKey::Files(_) => view! {
            <button type="button" class="button" on:click=move |_| ask(true, move |files| lab.data.open_files(lab, files))>"Choose a folder"</button>
        }
        .into_any(),
        key => view! {
            <button type="button" class="button" on:click=move |_| lab.data.open(lab, key.clone())>"Try again"</button>
        }
        .into_any(),
    }
}

/// Takes files dropped anywhere, and shows that it will while they hover.
#[component]
pub fn DropAnywhere() -> impl IntoView {
    let lab = lab();
    let over = RwSignal::new(false);
    let has_files = |ev: &web_sys::DragEvent| {
        ev.data_transfer()
            .is_some_and(|transfer| transfer.types().includes(&"Files".into(), 0))
    };
    let on = move |name: &'static str, handle: fn(&web_sys::DragEvent, RwSignal<bool>, Lab)| {
        window_event_listener_untyped(name, move |ev| {
            if let Some(ev) = ev
                .dyn_ref::<web_sys::DragEvent>()
                .filter(|ev| has_files(ev))
            {
                ev.prevent_default();
                handle(ev, over, lab);
            }
        })
    };
    let listeners = [
        on("dragover", |_, over, _| over.set(true)),
        on("dragleave", |ev, over, _| {
            if ev.related_target().is_none() {
                over.set(false);
            }
        }),
        on("drop", |ev, over, lab| {
            over.set(false);
            if let Some(transfer) = ev.data_transfer() {
                take(lab, Dropped::take(&transfer));
            }
        }),
    ];
    on_cleanup(move || listeners.into_iter().for_each(|listener| listener.remove()));
    view! {
        <div class="drop-over" hidden=move || !over.get() aria-hidden="true">
            <p>"Drop a result file, outputs to be judged (.jsonl), or the folder of a dataset or of an embedding model"</p>
        </div>
    }
}

fn take(lab: Lab, dropped: Dropped) {
    spawn_local(async move {
        match dropped.files().await {
            Ok(files) => lab.opened.open(lab, files),
            Err(error) => lab.notices.bad(Problem::new(&error, error.hint())),
        }
    });
}
