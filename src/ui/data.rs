//! The open dataset and whatever is being opened. A failed opening leaves what was open alone.

use super::late::{self, Errand};
use super::parts::Problem;
use super::state::{Edge, Lab};
use crate::bench::filter::Filter;
use crate::bench::ids::{DomainId, InstanceId};
use crate::bench::manifest::IndexEntry;
use crate::bench::taxonomy::Domain;
use crate::browser::abort::Abort;
use crate::browser::dataset::{Dataset, DatasetError};
use crate::browser::fetch::{OnProgress, Progress};
use crate::browser::files::PickedFile;
use crate::route::{DatasetKey, Route};
use leptos::prelude::*;
use std::rc::Rc;

/// A dataset with what its views need of it.
#[derive(Clone)]
pub struct Open {
    pub key: DatasetKey,
    pub dataset: Rc<Dataset>,
    pub filter: Rc<Filter>,
}

impl Open {
    /// A dataset keeps the address it was asked for by, so that links to it stay as they are.
    fn new(dataset: Rc<Dataset>, asked: &DatasetKey) -> Self {
        let key = match asked {
            DatasetKey::Files(_) => DatasetKey::Files(dataset.manifest.name.clone()),
            asked => asked.clone(),
        };
        let filter = Rc::new(Filter::new(&dataset.manifest, &dataset.index));
        Self {
            key,
            dataset,
            filter,
        }
    }

    /// The line of an instance in the index.
    pub fn entry(&self, id: &InstanceId) -> Option<&IndexEntry> {
        self.dataset.index.iter().find(|entry| entry.id == *id)
    }

    /// The domain of an instance.
    pub fn domain(&self, entry: &IndexEntry) -> Domain {
        let manifest = &self.dataset.manifest;
        let id = manifest
            .scenario(&entry.scenario)
            .map(|scenario| &scenario.domain);
        let found = manifest
            .domains
            .iter()
            .find(|domain| Some(&domain.id) == id);
        let nameless = || Domain {
            id: DomainId::default(),
            name: "Other".to_owned(),
            label: "Other".to_owned(),
        };
        found.cloned().unwrap_or_else(nameless)
    }
}

/// What is being opened, and how far.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    pub key: DatasetKey,
    pub done: u64,
    pub total: Option<u64>,
}

/// Handle.
#[derive(Clone, Copy)]
pub struct Data {
    current: RwSignal<Option<Open>, LocalStorage>,
    pub opening: RwSignal<Option<Opening>>,
    /// Why the last opening failed, and of what.
    pub failed: RwSignal<Option<(DatasetKey, Problem)>>,
    abort: StoredValue<Option<Abort>, LocalStorage>,
    /// Number of the last opening; an earlier one has nothing to say any more.
    last: StoredValue<u32>,
}

/// Where the files of a dataset come from.
pub enum Source {
    Bundled,
    Url(String),
    Files(Vec<PickedFile>),
}

/// What follows an opening that went well.
#[derive(Clone, Copy, PartialEq)]
pub enum After {
    Stay,
    ShowInstances,
}

/// One opening.
pub struct Turn {
    number: u32,
    key: DatasetKey,
    progress: OnProgress,
    abort: Abort,
}

impl Default for Data {
    fn default() -> Self {
        Self::new()
    }
}

impl Data {
    pub fn new() -> Self {
        Self {
            current: RwSignal::new_local(None),
            opening: RwSignal::new(None),
            failed: RwSignal::new(None),
            abort: StoredValue::new_local(None),
            last: StoredValue::new(0),
        }
    }

    /// The open dataset.
    pub fn current(&self) -> Option<Open> {
        self.current.get()
    }

    /// The open dataset, if it is the one an address means.
    pub fn of(&self, key: &DatasetKey) -> Option<Open> {
        self.current.get().filter(|open| open.key == *key)
    }

    /// Which dataset is open; the bundled one while there is none.
    pub fn key(&self) -> DatasetKey {
        self.current
            .with_untracked(|open| open.as_ref().map(|open| open.key.clone()))
            .unwrap_or_default()
    }

    /// Opens the dataset an address means, unless it is open or on its way.
    pub fn ensure(self, lab: Lab, key: DatasetKey) {
        let here = self
            .current
            .with_untracked(|open| open.as_ref().is_some_and(|open| open.key == key));
        let coming = self
            .opening
            .with_untracked(|opening| opening.as_ref().is_some_and(|opening| opening.key == key));
        if !here && !coming {
            self.open(lab, key);
        }
    }

    /// Opens a dataset, or tries again.
    pub fn open(self, lab: Lab, key: DatasetKey) {
        if lab.edge.with_untracked(Option::is_none) {
            return; // Start-up opens the dataset of the address as soon as the store is there.
        }
        if let DatasetKey::Files(name) = &key {
            let text = format!(
                "This address belongs to the dataset “{name}”, which was opened from files of a device"
            );
            let hint = Some("Open the same files again: drop the dataset's folder on this page.");
            self.failed
                .set(Some((key.clone(), Problem::new(text, hint))));
            return;
        }
        let source = match &key {
            DatasetKey::Url(url) => Source::Url(url.clone()),
            _ => Source::Bundled,
        };
        let turn = self.begin(key);
        late::run(lab, Errand::Dataset(turn, source, After::Stay));
    }

    /// Opens a dataset by an address the visitor typed, and shows its instances.
    pub fn open_typed(self, lab: Lab, address: String) {
        let turn = self.begin(DatasetKey::Url(address.clone()));
        let source = Source::Url(address);
        late::run(lab, Errand::Dataset(turn, source, After::ShowInstances));
    }

    /// Opens a dataset from files, and shows its instances.
    pub fn open_files(self, lab: Lab, files: Vec<PickedFile>) {
        let turn = self.begin(DatasetKey::Files(String::new()));
        let source = Source::Files(files);
        late::run(lab, Errand::Dataset(turn, source, After::ShowInstances));
    }

    /// One opening from its source to its end.
    pub(super) async fn fetch(self, lab: Lab, turn: Turn, source: Source, after: After) {
        let Some(Edge { library, .. }) = lab.edge.get_untracked() else {
            return;
        };
        let (progress, abort) = (&turn.progress, &turn.abort);
        let opened = match source {
            Source::Bundled => library.open_bundled(progress, abort).await,
            Source::Url(url) => library.open_url(&url, progress, abort).await,
            Source::Files(files) => library.open_files(files, progress, abort).await,
        };
        match after {
            After::ShowInstances => self.show(lab, &turn, opened),
            After::Stay => _ = self.end(&turn, opened),
        }
    }

    /// Stops what is being opened.
    pub fn cancel(self) {
        if let Some(abort) = self.abort.get_value() {
            abort.abort();
        }
    }

    fn begin(self, key: DatasetKey) -> Turn {
        self.cancel();
        let (number, abort) = (self.last.get_value() + 1, Abort::new());
        self.last.set_value(number);
        self.abort.set_value(Some(abort.clone()));
        self.failed.set(None);
        self.opening.set(Some(Opening {
            key: key.clone(),
            done: 0,
            total: None,
        }));
        let opening = key.clone();
        let progress = move |Progress { done, total }| {
            if self.last.get_value() == number {
                self.opening.set(Some(Opening {
                    key: opening.clone(),
                    done,
                    total,
                }));
            }
        };
        Turn {
            number,
            key,
            progress: Rc::new(progress),
            abort,
        }
    }

    /// Shows the instances of a dataset that was opened, or says why it was not where the visitor
    /// looks: files can be dropped on any view.
    fn show(self, lab: Lab, turn: &Turn, opened: Result<Rc<Dataset>, DatasetError>) {
        if self.end(turn, opened) {
            return lab.go(&Route::instances(self.key()));
        }
        let says_so = |route: &Route| *route == Route::Start || route.dataset() == Some(&turn.key);
        let failed = self.failed.get_untracked();
        if let Some((_, problem)) = failed.filter(|(key, _)| *key == turn.key)
            && !lab.route.with_untracked(says_so)
        {
            lab.notices.bad(problem);
        }
    }

    /// Whether the dataset is open now; a cancelled opening changes nothing.
    fn end(self, turn: &Turn, opened: Result<Rc<Dataset>, DatasetError>) -> bool {
        if self.last.get_value() != turn.number {
            return false;
        }
        self.opening.set(None);
        match opened {
            Ok(dataset) => {
                self.current.set(Some(Open::new(dataset, &turn.key)));
                return true;
            }
            Err(DatasetError::Cancelled) => {}
            Err(error) => self
                .failed
                .set(Some((turn.key.clone(), Problem::new(&error, error.hint())))),
        }
        false
    }
}
