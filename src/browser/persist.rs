//! Runs across reloads: saved after each stage, found again on the next visit.

use super::store::Store;
use crate::run::record::RunRecord;

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
    pub async fn save(&self, _record: &RunRecord) {
        let _ = &self.store;
        todo!()
    }

    pub async fn load(&self, _id: &str) -> Option<RunRecord> {
        todo!()
    }

    /// Every saved run, latest first. Records of other versions that cannot be read are left out.
    pub async fn all(&self) -> Vec<RunRecord> {
        todo!()
    }

    /// Runs that were going on when the page was closed: offer "Resume".
    pub async fn unfinished(&self) -> Vec<RunRecord> {
        todo!()
    }

    /// Forgets a run and its journal.
    pub async fn delete(&self, _id: &str) {
        todo!()
    }
}
