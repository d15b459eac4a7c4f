//! Vectors that were paid for, text by text, in IndexedDB: what one run or tab keeps does not touch
//! what another one keeps, nothing is written twice, and nothing makes room for anything. Who is about
//! to pay for a text says so first, so that no two do.

use super::locks::Lock;
use super::page;
use crate::embed::kept::{TextHash, TextVector};
use futures::future::try_join_all;
use futures::lock::Mutex;
use js_sys::Uint8Array;
use rexie::{ObjectStore, Rexie, TransactionMode};
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

const NAME: &str = "iba-lab-vectors";
const VERSION: u32 = 1;
const DRAWER: &str = "texts";
/// Texts looked up in one transaction.
const AT_ONCE: usize = 500;

/// Handle; clones share one database.
#[derive(Clone)]
pub struct TextStore(Rc<Inner>);

struct Inner {
    /// Opened with the first use; none inside where the browser denies one.
    database: Mutex<Option<Option<Rc<Rexie>>>>,
    /// What could not be written: it lasts as long as the tab.
    memory: RefCell<HashMap<String, Vec<u8>>>,
    /// Names of what somebody in this tab is paying for.
    claimed: RefCell<HashSet<String>>,
    notice: Box<dyn Fn(String)>,
    noticed: Cell<bool>,
    asked_to_stay: Cell<bool>,
}

/// Says that somebody pays for a text, until it is dropped.
pub(super) struct Claim {
    store: TextStore,
    name: String,
    /// Dropped with it, which tells other tabs.
    _lock: Lock,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.store.0.claimed.borrow_mut().remove(&self.name);
    }
}

/// Where the vector of a text lies: one name for the model and the text.
pub(super) fn place(model: &str, hash: &TextHash) -> String {
    let digest = Sha256::new().chain_update(model).chain_update(hash);
    hex(&digest.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl TextStore {
    /// `notice` gets a sentence for the visitor, once, when vectors will not survive closing the tab.
    pub fn new(notice: impl Fn(String) + 'static) -> Self {
        Self(Rc::new(Inner {
            database: Mutex::default(),
            memory: RefCell::default(),
            claimed: RefCell::default(),
            notice: Box::new(notice),
            noticed: Cell::new(false),
            asked_to_stay: Cell::new(false),
        }))
    }

    /// The vectors kept under these names, as far as there are any.
    pub(super) async fn get(&self, names: &[String]) -> Vec<Option<TextVector>> {
        let kept = self.read(names).await;
        let vectors = kept.into_iter();
        vectors.map(|bytes| TextVector::decode(&bytes?)).collect()
    }

    /// Keeps vectors under their names. What cannot be written stays in memory.
    pub(super) async fn put(&self, vectors: &[(String, TextVector)]) {
        let encoded = vectors.iter();
        let encoded = encoded.map(|(name, vector)| (name.clone(), vector.encode()));
        self.write(encoded.collect()).await;
    }

    /// Components of the vectors that this model gave last.
    pub(super) async fn dim(&self, model: &str) -> Option<usize> {
        let kept = self.read(&[dim_name(model)]).await.pop()??;
        let dim = u32::from_le_bytes(kept.try_into().ok()?);
        Some(dim as usize)
    }

    /// Notes how many components the vectors of this model have now.
    pub(super) async fn note_dim(&self, model: &str, dim: usize) {
        let bytes = (dim as u32).to_le_bytes().to_vec();
        self.write(vec![(dim_name(model), bytes)]).await;
    }

    /// Whether somebody in this tab is paying for what has that name.
    pub(super) fn is_claimed(&self, name: &str) -> bool {
        self.0.claimed.borrow().contains(name)
    }

    /// Claims what has that name, unless somebody else is paying for it, in whichever tab.
    pub(super) async fn claim(&self, name: &str) -> Option<Claim> {
        if !self.0.claimed.borrow_mut().insert(name.to_owned()) {
            return None;
        }
        // Should this be dropped while it waits, the name has to go as well.
        let mut mine = Unclaim {
            store: self,
            name: Some(name),
        };
        let lock = Lock::if_free(&format!("iba-lab text {name}")).await?;
        mine.name = None;
        Some(Claim {
            store: self.clone(),
            name: name.to_owned(),
            _lock: lock,
        })
    }

    /// Forgets everything.
    pub async fn clear(&self) {
        self.0.memory.borrow_mut().clear();
        if let Some(database) = self.database().await {
            // What cannot be deleted now can be tried again.
            let _ = clear(&database).await;
        }
    }

    async fn read(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        let mut found = Vec::with_capacity(names.len());
        let database = self.database().await;
        for names in names.chunks(AT_ONCE) {
            let kept = match &database {
                Some(database) => get(database, names).await.unwrap_or_default(),
                None => Vec::new(),
            };
            let memory = self.0.memory.borrow();
            found.extend(names.iter().enumerate().map(|(at, name)| {
                let kept = kept.get(at).cloned().flatten();
                memory.get(name).cloned().or(kept)
            }));
        }
        found
    }

    async fn write(&self, items: Vec<(String, Vec<u8>)>) {
        let written = match self.database().await {
            Some(database) => put(&database, &items).await.map_err(|e| sentence(&e)),
            None => Err("this browser offers no storage here".to_owned()),
        };
        match written {
            Ok(()) => {
                let written = |name: &String| items.iter().any(|(other, _)| other == name);
                self.0.memory.borrow_mut().retain(|name, _| !written(name));
                self.ask_to_stay().await;
            }
            Err(cause) => {
                self.0.memory.borrow_mut().extend(items);
                self.tell(&cause);
            }
        }
    }

    async fn database(&self) -> Option<Rc<Rexie>> {
        let mut database = self.0.database.lock().await;
        if database.is_none() {
            let builder = Rexie::builder(NAME).version(VERSION);
            let opened = builder.add_object_store(ObjectStore::new(DRAWER)).build();
            *database = Some(opened.await.ok().map(Rc::new));
        }
        database.clone().flatten()
    }

    /// Browsers drop what sites keep when space is short, unless they are asked not to; they may say
    /// no.
    async fn ask_to_stay(&self) {
        if self.0.asked_to_stay.replace(true) {
            return;
        }
        // Undefined on insecure pages.
        let storage: JsValue = page::window().navigator().storage().into();
        if let Some(storage) = storage.dyn_ref::<web_sys::StorageManager>()
            && let Ok(promise) = storage.persist()
        {
            let _ = JsFuture::from(promise).await;
        }
    }

    fn tell(&self, cause: &str) {
        if !self.0.noticed.replace(true) {
            (self.0.notice)(format!(
                "Vectors from the embedding endpoint will not survive closing this tab ({cause}): what was paid for would be paid again. Free some space, or let this site keep data."
            ));
        }
    }
}

/// Takes a name off the list again.
struct Unclaim<'a> {
    store: &'a TextStore,
    name: Option<&'a str>,
}

impl Drop for Unclaim<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name {
            self.store.0.claimed.borrow_mut().remove(name);
        }
    }
}

fn dim_name(model: &str) -> String {
    format!("{model}/numbers")
}

async fn get(database: &Rexie, names: &[String]) -> rexie::Result<Vec<Option<Vec<u8>>>> {
    let transaction = database.transaction(&[DRAWER], TransactionMode::ReadOnly)?;
    let store = transaction.store(DRAWER)?;
    let asked = names.iter().map(|name| store.get(name.as_str().into()));
    let found = try_join_all(asked).await?;
    let bytes = |value: JsValue| Some(value.dyn_into::<Uint8Array>().ok()?.to_vec());
    Ok(found.into_iter().map(|value| bytes(value?)).collect())
}

async fn put(database: &Rexie, items: &[(String, Vec<u8>)]) -> rexie::Result<()> {
    let transaction = database.transaction(&[DRAWER], TransactionMode::ReadWrite)?;
    let values = items.iter().map(|(name, bytes)| {
        let value = Uint8Array::from(bytes.as_slice()).into();
        (value, Some(name.as_str().into()))
    });
    transaction.store(DRAWER)?.put_all(values).await?;
    transaction.commit().await
}

async fn clear(database: &Rexie) -> rexie::Result<()> {
    let transaction = database.transaction(&[DRAWER], TransactionMode::ReadWrite)?;
    transaction.store(DRAWER)?.clear().await?;
    transaction.commit().await
}

/// The browser's reason; the crate's own text says only "idb error".
fn sentence(error: &rexie::Error) -> String {
    match error {
        rexie::Error::IdbError(inner) => inner.to_string(),
        other => other.to_string(),
    }
}
