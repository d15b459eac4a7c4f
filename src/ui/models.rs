//! The visitor's own embedding models: what is on the shelf, and what is being done about it. Owned
//! by the root, so that a download goes on while other pages are looked at.

use super::parts::Problem;
use super::state::Lab;
use crate::browser::abort::Abort;
use crate::browser::engine::{EngineProgress, OnEngineProgress};
use crate::browser::files::PickedFile;
use crate::browser::models::{Found, Keeping, ModelError, Models};
use crate::embed::registry::{KeptModel, Known};
use crate::embed::spec::ModelSpec;
use crate::settings::retriever::ModelChoice;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::future::Future;
use std::rc::Rc;

/// Handle.
#[derive(Clone, Copy)]
pub struct Shelf {
    /// Models that are kept, whole or in part, the latest first.
    pub list: RwSignal<Vec<KeptModel>>,
    /// Where they are kept.
    pub keeping: RwSignal<Option<Keeping>>,
    /// What is being done.
    pub busy: RwSignal<Option<EngineProgress>>,
    /// What was found at the address or in the files last looked at.
    pub found: RwSignal<Option<Found>, LocalStorage>,
    /// Why the last step failed.
    pub problem: RwSignal<Option<Problem>>,
    abort: StoredValue<Option<Abort>, LocalStorage>,
}

impl Default for Shelf {
    fn default() -> Self {
        Self::new()
    }
}

impl Shelf {
    pub fn new() -> Self {
        Self {
            list: RwSignal::new(Vec::new()),
            keeping: RwSignal::new(None),
            busy: RwSignal::new(None),
            found: RwSignal::new_local(None),
            problem: RwSignal::new(None),
            abort: StoredValue::new_local(None),
        }
    }

    /// Looks what is on the shelf.
    pub async fn refresh(self, models: &Models) {
        self.keeping.set(models.keeping().await);
        self.list.set(models.list().await);
    }

    /// Looks at an address. `chosen` is the model that the visitor says it is.
    pub fn look(self, lab: Lab, address: String, chosen: Option<&'static Known>) {
        self.found.set(None);
        self.act(
            lab,
            "looking at the address",
            move |models, _, abort| async move {
                self.found
                    .set(Some(models.look(&address, chosen, &abort).await?));
                Ok(None)
            },
        );
    }

    /// Looks through files.
    pub fn look_in(self, lab: Lab, files: Vec<PickedFile>, chosen: Option<&'static Known>) {
        self.found.set(None);
        self.act(
            lab,
            "looking through the files",
            move |models, _, abort| async move {
                self.found
                    .set(Some(models.look_in(files, chosen, &abort).await?));
                Ok(None)
            },
        );
    }

    /// Reads what was found as the model that the visitor says it is.
    pub fn read_as(self, chosen: Option<&'static Known>) {
        if self.busy.with_untracked(Option::is_some) || self.found.with_untracked(Option::is_none) {
            return;
        }
        self.found.update(|found| {
            if let Some(found) = found {
                found.read_as(chosen);
            }
        });
    }

    /// Fetches what was found, and chooses it once it is there.
    pub fn add(self, lab: Lab, graph: usize, spec: ModelSpec) {
        let Some(found) = self.found.get_untracked() else {
            return;
        };
        self.act(
            lab,
            "getting ready",
            move |models, progress, abort| async move {
                let model = models.add(&found, graph, spec, &progress, &abort).await?;
                self.found.set(None);
                Ok(Some(model))
            },
        );
    }

    /// Goes on with a download that was cut, or tries a model once more.
    pub fn go_on(self, lab: Lab, id: String) {
        self.act(
            lab,
            "getting ready",
            move |models, progress, abort| async move {
                models.go_on(&id, &progress, &abort).await.map(Some)
            },
        );
    }

    /// Reads a model in another way.
    pub fn reread(self, lab: Lab, id: String, spec: ModelSpec) {
        self.act(
            lab,
            "getting ready",
            move |models, progress, abort| async move {
                models.reread(&id, spec, &progress, &abort).await.map(Some)
            },
        );
    }

    pub fn cancel(self) {
        if let Some(abort) = self.abort.get_value() {
            abort.abort();
        }
    }

    /// Deletes a model; who uses it goes back to the shipped one.
    pub fn delete(self, lab: Lab, id: String) {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        let chosen = ModelChoice::Kept { id: id.clone() };
        if lab.settings.with_untracked(|s| s.retriever.model == chosen) {
            lab.set(|settings| settings.retriever.model = ModelChoice::Shipped);
        }
        spawn_local(async move {
            edge.models.delete(&id).await;
            edge.engines.let_go();
            self.refresh(&edge.models).await;
        });
    }

    /// One step at a time; its failure is shown where it was asked for.
    fn act<F>(
        self,
        lab: Lab,
        what: &str,
        step: impl FnOnce(Models, OnEngineProgress, Abort) -> F + 'static,
    ) where
        F: Future<Output = Result<Option<KeptModel>, ModelError>> + 'static,
    {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        if self.busy.with_untracked(Option::is_some) {
            return;
        }
        self.problem.set(None);
        self.busy.set(Some(EngineProgress {
            what: what.to_owned(),
            done: 0,
            total: None,
        }));
        let abort = Abort::new();
        self.abort.set_value(Some(abort.clone()));
        let progress: OnEngineProgress = Rc::new(move |progress| self.busy.set(Some(progress)));
        let models = edge.models.clone();
        spawn_local(async move {
            match step(models, progress, abort).await {
                Ok(None) | Err(ModelError::Cancelled) => {}
                Ok(Some(model)) => self.use_it(lab, &model),
                Err(error) => self.problem.set(Some(Problem::new(&error, error.hint()))),
            }
            self.abort.set_value(None);
            self.refresh(&edge.models).await;
            self.busy.set(None);
        });
    }

    fn use_it(self, lab: Lab, model: &KeptModel) {
        let id = model.id.clone();
        lab.set(|settings| settings.retriever.model = ModelChoice::Kept { id });
        lab.notices
            .good(format!("{} is ready; runs use it from now on", model.name));
    }
}

/// Models that can be chosen, with the words of a menu.
pub fn choices(lab: Lab) -> Vec<(String, String)> {
    let shipped = (ModelChoice::Shipped.word(), "MiniLM (shipped)".to_owned());
    let kept = lab.shelf.list.get().into_iter().filter(KeptModel::is_ready);
    let kept = kept.map(|model| (ModelChoice::Kept { id: model.id }.word(), model.name));
    let endpoint = lab.settings.with(|settings| {
        let endpoint = &settings.retriever.endpoint.endpoint;
        let set_up = endpoint.missing().is_none();
        set_up.then(|| {
            (
                ModelChoice::Endpoint.word(),
                format!("{} (endpoint)", endpoint.model.trim()),
            )
        })
    });
    std::iter::once(shipped)
        .chain(kept)
        .chain(endpoint)
        .collect()
}
