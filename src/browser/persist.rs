//! Runs across reloads: saved after each stage, found again on the next visit.

use super::clock::{Pace, now_ms};
use super::going_on::going_on;
use super::store::{Drawer, Store};
use crate::run::backup::Backup;
use crate::run::batch::{self, Pending};
use crate::run::journal;
use crate::run::record::{RunRecord, RunStatus};
use std::collections::BTreeSet;

/// The saved runs. Handle; clones share one store.
#[derive(Clone)]
pub struct Runs {
    store: Store,
}

impl Runs {
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Saves a run as it stands; call it after each stage.
    pub async fn save(&self, record: &RunRecord) {
        match serde_json::to_string(record) {
            Ok(text) => self.store.put(Drawer::Runs, &record.id, text).await,
            // Only maps with keys that are no strings fail, and a record has none.
            Err(error) => debug_assert!(false, "{error}"),
        }
    }

    pub async fn load(&self, id: &str) -> Option<RunRecord> {
        let text = self.store.get(Drawer::Runs, id).await?;
        serde_json::from_str(&text).ok()
    }

    /// Every saved run, latest first. Records of other versions that cannot be read are left out.
    pub async fn all(&self) -> Vec<RunRecord> {
        let mut pace = Pace::new();
        let mut runs: Vec<RunRecord> = Vec::new();
        for (_, text) in self.store.all(Drawer::Runs).await {
            runs.extend(serde_json::from_str::<RunRecord>(&text));
            pace.breathe().await;
        }
        runs.sort_by(|a, b| b.started_ms.total_cmp(&a.started_ms));
        runs
    }

    /// Runs that were going on when their page was closed: offer "Resume", which runs them again
    /// under the same id, with answered calls from the journal. Those that go on in this or another
    /// tab are left out.
    pub async fn unfinished(&self) -> Vec<RunRecord> {
        let (mut runs, busy) = (self.all().await, going_on().await);
        runs.retain(|run| run.status == RunStatus::Running && !busy.contains(&run.id));
        runs
    }

    /// Everything, in the store and in memory, for a file.
    pub async fn backup(&self) -> Backup {
        let runs = self.store.all(Drawer::Runs).await;
        let journal = self.store.all(Drawer::Journal).await;
        Backup::new(now_ms(), runs, journal)
    }

    /// Takes the runs and calls of a file in; what is already here stays as it is.
    pub async fn restore(&self, backup: Backup) -> Vec<RunRecord> {
        let mut taken = Vec::new();
        for (id, run) in backup.runs {
            if self.store.get(Drawer::Runs, &id).await.is_none() {
                self.store.put(Drawer::Runs, &id, run.to_string()).await;
                taken.extend(serde_json::from_value::<RunRecord>(run));
            }
        }
        for (name, call) in backup.journal {
            if self.store.get(Drawer::Journal, &name).await.is_none() {
                self.store
                    .put(Drawer::Journal, &name, call.to_string())
                    .await;
            }
        }
        taken.sort_by(|a, b| b.started_ms.total_cmp(&a.started_ms));
        taken
    }

    /// Writes the answers of a batch file into the journal; gives the runs that can go on, and
    /// sentences about what could not be used.
    pub async fn take_answers(&self, results: batch::Results) -> (Vec<RunRecord>, Vec<String>) {
        let mut problems = results.problems;
        let mut ids = BTreeSet::new();
        for batch::Answered { name, response } in results.answered {
            let place = Pending::place(&name);
            let kept = self.store.get(Drawer::Journal, &place).await;
            let pending = kept.and_then(|text| serde_json::from_str::<Pending>(&text).ok());
            let Some(pending) = pending else {
                problems.push(format!("nothing in this browser waits for {name}"));
                continue;
            };
            match batch::record(pending, &response, now_ms()) {
                Ok(call) => {
                    if let Ok(text) = serde_json::to_string(&call) {
                        self.store.put(Drawer::Journal, &name, text).await;
                        self.store.delete(Drawer::Journal, &place).await;
                    }
                    ids.extend(journal::run_of(&name).map(str::to_owned));
                }
                Err(error) => problems.push(format!("{name}: {error}")),
            }
        }
        let mut runs = Vec::new();
        for id in ids {
            runs.extend(self.load(&id).await);
        }
        (runs, problems)
    }

    /// Forgets a run and its journal.
    pub async fn delete(&self, id: &str) {
        self.store.delete(Drawer::Runs, id).await;
        self.store
            .delete_prefix(Drawer::Journal, &journal::prefix(id))
            .await;
    }

    /// Forgets all runs and journals.
    pub async fn clear(&self) {
        self.store.clear(Drawer::Runs).await;
        self.store.clear(Drawer::Journal).await;
    }
}
