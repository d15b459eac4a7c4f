//! Text records by key, kept in IndexedDB where that works and in memory where it does not.

use super::clock::sleep;
use futures::future::{Either, select};
use rexie::{KeyRange, ObjectStore, Rexie, RexieBuilder, TransactionMode};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use wasm_bindgen::JsValue;

const NAME: &str = "iba-lab";
const VERSION: u32 = 1;
/// Another tab of an older version can block the opening for ever.
const PATIENCE_MS: u32 = 4_000;

/// The drawers of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

impl Drawer {
    const ALL: [Self; 4] = [Self::Runs, Self::Journal, Self::Settings, Self::Datasets];

    fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Journal => "journal",
            Self::Settings => "settings",
            Self::Datasets => "datasets",
        }
    }
}

/// Handle; clones share one database.
#[derive(Clone)]
pub struct Store(Rc<Inner>);

struct Inner {
    /// Absent where the browser denies one.
    database: Option<Rexie>,
    /// What could not be written; it wins over the database.
    memory: RefCell<BTreeMap<(Drawer, String), String>>,
    notice: Box<dyn Fn(String)>,
    noticed: Cell<bool>,
}

impl Store {
    /// Opens the database; never fails. `notice` gets a sentence for the visitor, once, when
    /// records will not survive closing the tab (private window, storage full or denied).
    pub async fn open(notice: impl Fn(String) + 'static) -> Store {
        let opened = open_database().await;
        let (database, trouble) = match opened {
            Ok(database) => (Some(database), None),
            Err(cause) => (None, Some(cause)),
        };
        let store = Store(Rc::new(Inner {
            database,
            memory: RefCell::default(),
            notice: Box::new(notice),
            noticed: Cell::new(false),
        }));
        if let Some(cause) = trouble {
            store.tell(&cause);
        }
        store
    }

    /// Keeps `text` under `key`. What cannot be written stays in memory.
    pub async fn put(&self, drawer: Drawer, key: &str, text: String) {
        let place = (drawer, key.to_owned());
        match self.write(drawer, key, &text).await {
            Ok(()) => {
                self.0.memory.borrow_mut().remove(&place);
            }
            Err(cause) => {
                self.0.memory.borrow_mut().insert(place, text);
                self.tell(&cause);
            }
        }
    }

    pub async fn get(&self, drawer: Drawer, key: &str) -> Option<String> {
        let in_memory = self
            .0
            .memory
            .borrow()
            .get(&(drawer, key.to_owned()))
            .cloned();
        match (in_memory, &self.0.database) {
            (None, Some(database)) => read(database, drawer, key).await.ok().flatten(),
            (found, _) => found,
        }
    }

    /// Every key with its text, by key.
    pub async fn all(&self, drawer: Drawer) -> Vec<(String, String)> {
        let mut found = match &self.0.database {
            Some(database) => scan(database, drawer).await.unwrap_or_default(),
            None => BTreeMap::new(),
        };
        for ((at, key), text) in self.0.memory.borrow().iter() {
            if *at == drawer {
                found.insert(key.clone(), text.clone());
            }
        }
        found.into_iter().collect()
    }

    pub async fn delete(&self, drawer: Drawer, key: &str) {
        self.0.memory.borrow_mut().remove(&(drawer, key.to_owned()));
        self.erase(drawer, key.into()).await;
    }

    /// Deletes every key that begins with `prefix`.
    pub async fn delete_prefix(&self, drawer: Drawer, prefix: &str) {
        self.0
            .memory
            .borrow_mut()
            .retain(|(at, key), _| *at != drawer || !key.starts_with(prefix));
        // U+FFFF is no character, so it sorts behind every key with this prefix.
        let end = JsValue::from_str(&format!("{prefix}\u{ffff}"));
        if let Ok(range) = KeyRange::bound(&prefix.into(), &end, None, None) {
            self.erase(drawer, range.into()).await;
        }
    }

    /// Empties a drawer.
    pub async fn clear(&self, drawer: Drawer) {
        self.delete_prefix(drawer, "").await;
    }

    /// Whether records survive closing the tab, as far as is known.
    pub fn is_lasting(&self) -> bool {
        self.0.database.is_some() && self.0.memory.borrow().is_empty()
    }

    async fn write(&self, drawer: Drawer, key: &str, text: &str) -> Result<(), String> {
        let Some(database) = &self.0.database else {
            return Err("this browser offers no storage here".to_owned());
        };
        put(database, drawer, key, text)
            .await
            .map_err(|error| sentence(&error))
    }

    async fn erase(&self, drawer: Drawer, which: JsValue) {
        let Some(database) = &self.0.database else {
            return;
        };
        if let Err(error) = erase(database, drawer, which).await {
            self.tell(&sentence(&error));
        }
    }

    fn tell(&self, cause: &str) {
        if !self.0.noticed.replace(true) {
            (self.0.notice)(format!(
                "Runs will not survive closing this tab ({cause}). Everything works and is kept in memory: download a backup in Settings before you close it."
            ));
        }
    }
}

async fn open_database() -> Result<Rexie, String> {
    let builder = Rexie::builder(NAME).version(VERSION);
    let add = |builder: RexieBuilder, drawer: Drawer| {
        builder.add_object_store(ObjectStore::new(drawer.name()))
    };
    let opening = pin!(Drawer::ALL.into_iter().fold(builder, add).build());
    match select(opening, pin!(sleep(PATIENCE_MS))).await {
        Either::Left((opened, _)) => opened.map_err(|error| sentence(&error)),
        Either::Right(_) => Err("another tab of this site keeps the storage busy".to_owned()),
    }
}

async fn put(database: &Rexie, drawer: Drawer, key: &str, text: &str) -> rexie::Result<()> {
    let transaction = database.transaction(&[drawer.name()], TransactionMode::ReadWrite)?;
    transaction
        .store(drawer.name())?
        .put(&text.into(), Some(&key.into()))
        .await?;
    transaction.commit().await
}

async fn read(database: &Rexie, drawer: Drawer, key: &str) -> rexie::Result<Option<String>> {
    let transaction = database.transaction(&[drawer.name()], TransactionMode::ReadOnly)?;
    let found = transaction.store(drawer.name())?.get(key.into()).await?;
    Ok(found.and_then(|value| value.as_string()))
}

async fn scan(database: &Rexie, drawer: Drawer) -> rexie::Result<BTreeMap<String, String>> {
    let transaction = database.transaction(&[drawer.name()], TransactionMode::ReadOnly)?;
    let store = transaction.store(drawer.name())?;
    let (keys, texts) =
        futures::try_join!(store.get_all_keys(None, None), store.get_all(None, None))?;
    let pairs = keys.iter().zip(&texts);
    Ok(pairs
        .filter_map(|(key, text)| Some((key.as_string()?, text.as_string()?)))
        .collect())
}

async fn erase(database: &Rexie, drawer: Drawer, which: JsValue) -> rexie::Result<()> {
    let transaction = database.transaction(&[drawer.name()], TransactionMode::ReadWrite)?;
    transaction.store(drawer.name())?.delete(which).await?;
    transaction.commit().await
}

/// The browser's reason; the crate's own text says only "idb error".
fn sentence(error: &rexie::Error) -> String {
    match error {
        rexie::Error::IdbError(inner) => inner.to_string(),
        other => other.to_string(),
    }
}
