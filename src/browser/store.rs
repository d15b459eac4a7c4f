//! Text records by key, kept in IndexedDB where that works and in memory where it does not.

/// The drawers of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drawer {
    /// `RunRecord` as JSON, by run id.
    Runs,
    /// `CallRecord` as JSON, by journal key.
    Journal,
    /// The visitor's choices; encrypted keys.
    Settings,
    /// Addresses of datasets opened lately.
    Datasets,
}

/// Handle; clones share one database.
#[derive(Clone)]
pub struct Store {}

impl Store {
    /// Opens the database; never fails. `notice` gets a sentence for the visitor, once, when
    /// records will not survive closing the tab (private window, storage full or denied).
    pub async fn open(_notice: impl Fn(String) + 'static) -> Store {
        todo!()
    }

    /// Keeps `text` under `key`. What cannot be written stays in memory.
    pub async fn put(&self, _drawer: Drawer, _key: &str, _text: String) {
        todo!()
    }

    pub async fn get(&self, _drawer: Drawer, _key: &str) -> Option<String> {
        todo!()
    }

    /// Every key with its text.
    pub async fn all(&self, _drawer: Drawer) -> Vec<(String, String)> {
        todo!()
    }

    pub async fn delete(&self, _drawer: Drawer, _key: &str) {
        todo!()
    }

    /// Empties a drawer.
    pub async fn clear(&self, _drawer: Drawer) {
        todo!()
    }

    /// Whether records survive closing the tab.
    pub fn is_lasting(&self) -> bool {
        todo!()
    }
}
