//! Outputs of another program, dropped as a file: what was read, what could not be used, and a
//! button that has them judged.

use super::parts::{Dialog, Field, Problem};
use super::runner::{Item, Kind};
use super::state::Lab;
use crate::agent::trace_view::count;
use crate::route::results_view::{Part, ResultsView};
use crate::route::{Query, Route};
use crate::run::predictions::{self, LineFault, Prediction};
use crate::ui::data::Open;
use leptos::prelude::*;
use std::sync::Arc;

/// Faulty lines that are shown at once.
const FIRST: usize = 100;

/// A file of predictions that waits for the visitor's word.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    pub file: String,
    pub usable: Arc<Vec<Prediction>>,
    pub faults: Arc<Vec<LineFault>>,
}

/// Handle.
#[derive(Clone, Copy)]
pub struct Imports {
    pending: RwSignal<Option<Import>>,
    open: RwSignal<bool>,
}

impl Default for Imports {
    fn default() -> Self {
        Self::new()
    }
}

impl Imports {
    pub fn new() -> Self {
        Self {
            pending: RwSignal::new(None),
            open: RwSignal::new(false),
        }
    }

    /// Whether there is a file to ask about.
    pub fn waiting(self) -> bool {
        self.pending.with(Option::is_some)
    }

    /// Reads a file against the open dataset and shows what it holds.
    pub fn read(self, lab: Lab, file: &str, bytes: &[u8]) {
        let Some(open) = untrack(|| lab.data.current()) else {
            let text = format!("{file} holds outputs to be judged, and no dataset is open");
            return lab.notices.bad(Problem::new(
                text,
                Some("Open the dataset they are for, then drop the file again."),
            ));
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            let text = format!("{file} is not UTF-8 text");
            return lab
                .notices
                .bad(Problem::new(text, Some("Save it as UTF-8 JSON Lines.")));
        };
        let read = predictions::read(text, |id| {
            let entry = open.entry(id)?;
            open.dataset.manifest.scenario(&entry.scenario)
        });
        self.pending.set(Some(Import {
            file: file.to_owned(),
            usable: Arc::new(read.usable),
            faults: Arc::new(read.faults),
        }));
        self.open.set(true);
    }
}

/// The question before anything is judged.
#[component]
pub fn ImportDialog(lab: Lab) -> impl IntoView {
    let Imports { pending, open } = lab.imports;
    view! {
        <Dialog title="Judge another program’s outputs" open=open>
            {move || pending.get().map(|import| view! { <Question lab import /> })}
        </Dialog>
    }
}

#[component]
fn Question(lab: Lab, import: Import) -> impl IntoView {
    let Import {
        file,
        usable,
        faults,
    } = import;
    let unnamed = usable.iter().any(|prediction| prediction.by.is_none());
    let stem = file
        .rsplit_once('.')
        .map_or(file.as_str(), |(stem, _)| stem)
        .to_owned();
    let name = RwSignal::new(stem);
    let head = format!(
        "{file}: {} read, {} could not be used.",
        count(usable.len(), "output", "outputs"),
        count(faults.len(), "line", "lines"),
    );
    let n = usable.len();
    let judges = move || {
        lab.settings.with(|settings| {
        let panel = settings.panel();
        match panel.calls() {
            0 => "No judge model is set: only references and checks decide, and the rest stays unscored.".to_owned(),
            calls => format!("Judges: {}. At most {} model calls.", panel.names().join(", "), calls as usize * n),
        }
    })
    };
    let blocked = move || {
        lab.settings
            .with(|settings| settings.blocked().or_else(|| lab.keys.missing(settings)))
    };
    let start = move |_| {
        let Some(open) = untrack(|| lab.data.current()) else {
            return;
        };
        judge(lab, open, &file, &usable, &name.get_untracked());
        lab.imports.open.set(false);
    };
    let shown = faults.iter().take(FIRST).map(|fault| {
        view! { <li>{format!("Line {} {}", fault.line, fault.text)}</li> }
    });
    let more = faults.len().saturating_sub(FIRST);
    let shown = shown.collect_view();
    view! {
        <p>{head}</p>
        {unnamed.then(|| view! {
            <Field id="import-by" label="Who made them" about="Where a line does not say it itself.">
                <input id="import-by" type="text" prop:value=name on:input=move |ev| name.set(event_target_value(&ev)) />
            </Field>
        })}
        <p class="muted small">{judges}</p>
        <ul class="import-faults small" hidden=faults.is_empty()>{shown}</ul>
        {(more > 0).then(|| view! { <p class="small">{format!("and {more} more")}</p> })}
        <p class="muted small">{move || blocked()}</p>
        <p class="actions">
            <button type="button" class="button primary" disabled=move || n == 0 || blocked().is_some() on:click=start>
                {format!("Judge {}", count(n, "output", "outputs"))}
            </button>
            <button type="button" class="button" on:click=move |_| lab.imports.open.set(false)>"Cancel"</button>
        </p>
    }
}

fn judge(lab: Lab, open: Open, file: &str, usable: &[Prediction], unnamed: &str) {
    let item = |prediction: &Prediction| Item {
        instance: prediction.instance.clone(),
        kind: Kind::Judge {
            output: prediction.output.clone(),
            by: prediction
                .by
                .clone()
                .unwrap_or_else(|| unnamed.trim().to_owned()),
            epoch: prediction.epoch,
        },
    };
    let items: Vec<Item> = usable.iter().map(item).collect();
    let title = format!(
        "Judging {} of {file}",
        count(items.len(), "output", "outputs")
    );
    lab.batch.start(lab, open, title, items);
    let view = ResultsView {
        part: Part::Scores,
        ..ResultsView::default()
    };
    lab.go(&Route::Results {
        query: view.write(&Query::default()),
    });
}
