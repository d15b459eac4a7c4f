//! Embedding models that the visitor brings: found in a folder, fetched or taken from disk, tried,
//! kept, deleted. What is decided is decided in [`crate::embed::registry`].

mod error;
mod fetch;
mod find;
mod pieces;
mod trial;

pub use error::ModelError;
pub use find::{Found, Graph, Place};

use super::abort::Abort;
use super::clock::now_ms;
use super::engine::OnEngineProgress;
use super::error::BrowserError;
use super::page;
use super::shelf::Shelf;
use crate::embed::registry::room::{Needs, Space};
use crate::embed::registry::{KeptFile, KeptModel, Role};
use crate::embed::spec::ModelSpec;
use futures::lock::Mutex;
use js_sys::{Reflect, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

pub(super) use pieces::piece_name;

/// Tokens of the longest text that is embedded by itself: a chunk with its prefix.
const LONGEST: u64 = 320;

/// Handle; clones share one shelf.
#[derive(Clone, Default)]
pub struct Models(Rc<Inner>);

#[derive(Default)]
struct Inner {
    /// One fetches at a time.
    turn: Mutex<()>,
}

impl Models {
    /// Every model on the shelf, also those that have come only in part, the latest first.
    pub async fn list(&self) -> Vec<KeptModel> {
        let Ok(shelf) = Shelf::open().await else {
            return Vec::new();
        };
        let mut models = Vec::new();
        for name in shelf.names().await {
            if name.ends_with(RECORD)
                && let Some(bytes) = shelf.get(&name).await
                && let Ok(model) = serde_json::from_slice::<KeptModel>(&bytes.to_vec())
            {
                models.push(model);
            }
        }
        models.sort_by_key(|model| std::cmp::Reverse(model.added_ms));
        models
    }

    /// The model of that id.
    pub async fn get(&self, id: &str) -> Option<KeptModel> {
        let shelf = Shelf::open().await.ok()?;
        let bytes = shelf.get(&format!("{id}{RECORD}")).await?;
        serde_json::from_slice(&bytes.to_vec()).ok()
    }

    /// What lies at an address: see [`find::look`].
    pub async fn look(&self, address: &str, abort: &Abort) -> Result<Found, ModelError> {
        find::look(address, abort).await
    }

    /// What lies in dropped or picked files.
    pub async fn look_in(
        &self,
        files: Vec<super::files::PickedFile>,
        abort: &Abort,
    ) -> Result<Found, ModelError> {
        find::look_in(files, abort).await
    }

    /// Fetches what was found, to be read as `spec` says, and tries it. What has come stays when it
    /// is cut or cancelled; [`Models::go_on`] goes on from there.
    pub async fn add(
        &self,
        found: &Found,
        graph: usize,
        spec: ModelSpec,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<KeptModel, ModelError> {
        let mut model = found.model(graph, spec, now_ms() as u64)?;
        if let Some(why) = needs(&model).too_large(device_memory()) {
            return Err(ModelError::Refused(why));
        }
        let known = self.get(&model.id).await;
        match known {
            // The same folder again: what is there already stays.
            Some(known) => model.files = merged(model.files, known.files),
            None => self.has_space(model.bytes().unwrap_or(0)).await?,
        }
        self.keep(&model).await?;
        self.complete(model, found, progress, abort).await
    }

    /// Goes on with a download, or tries a whole model once more.
    pub async fn go_on(
        &self,
        id: &str,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<KeptModel, ModelError> {
        let model = self.get(id).await.ok_or(ModelError::Gone)?;
        let left = model.bytes().unwrap_or(0).saturating_sub(model.kept());
        self.has_space(left).await?;
        let nothing = Found::default();
        self.complete(model, &nothing, progress, abort).await
    }

    /// Reads a kept model in another way, and tries that.
    pub async fn reread(
        &self,
        id: &str,
        spec: ModelSpec,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<KeptModel, ModelError> {
        let mut model = self.get(id).await.ok_or(ModelError::Gone)?;
        model.spec = spec;
        model.tried = None;
        self.complete(model, &Found::default(), progress, abort)
            .await
    }

    /// Notes why a model failed when it was used.
    pub async fn note_fault(&self, id: &str, why: String) {
        if let Some(mut model) = self.get(id).await {
            model.fault = Some(why);
            let _ = self.keep(&model).await; // it will fail again, and be noted then
        }
    }

    /// Deletes a model.
    pub async fn delete(&self, id: &str) {
        let Ok(shelf) = Shelf::open().await else {
            return;
        };
        // The record last: without it nobody would find the pieces.
        let own = format!("{id}.");
        let names = shelf.names().await;
        let (records, pieces): (Vec<_>, Vec<_>) = names
            .iter()
            .filter(|name| name.starts_with(&own))
            .partition(|name| name.ends_with(RECORD));
        for name in pieces.into_iter().chain(records) {
            shelf.delete(name).await;
        }
    }

    /// Deletes all models.
    pub async fn clear(&self) {
        for model in self.list().await {
            self.delete(&model.id).await;
        }
    }

    async fn complete(
        &self,
        mut model: KeptModel,
        found: &Found,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<KeptModel, ModelError> {
        let _turn = self.0.turn.lock().await;
        persist().await;
        let shelf = Shelf::open().await.map_err(ModelError::keeping)?;
        model.fault = None;
        for at in 0..model.files.len() {
            if !model.files[at].is_whole() {
                let source = found.source(&model.files[at]);
                fetch::complete(&shelf, &mut model, at, source, progress, abort).await?;
            }
        }
        match trial::run(&shelf, &model, progress, abort).await {
            Ok(tried) => model.tried = Some(tried),
            Err(ModelError::Cancelled) => return Err(ModelError::Cancelled),
            Err(error) => {
                model.tried = None;
                model.fault = Some(error.to_string());
                pieces::keep_record(&shelf, &model).await?;
                return Err(error);
            }
        }
        pieces::keep_record(&shelf, &model).await?;
        Ok(model)
    }

    async fn keep(&self, model: &KeptModel) -> Result<(), ModelError> {
        let shelf = Shelf::open().await.map_err(ModelError::keeping)?;
        pieces::keep_record(&shelf, model).await
    }

    async fn has_space(&self, bytes: u64) -> Result<(), ModelError> {
        match space().await.and_then(|space| space.lacks(bytes)) {
            Some(why) => Err(ModelError::Refused(why)),
            None => Ok(()),
        }
    }
}

/// End of the name of a model's record.
const RECORD: &str = ".model.json";

/// The wanted files, as far as they had come before where they are the same.
fn merged(wanted: Vec<KeptFile>, known: Vec<KeptFile>) -> Vec<KeptFile> {
    let before = |file: &KeptFile| {
        let same =
            |old: &&KeptFile| old.role == file.role && old.name == file.name && old.url == file.url;
        known.iter().find(same).cloned()
    };
    let merge = |file: KeptFile| match before(&file) {
        Some(old) if old.bytes == file.bytes => old,
        _ => file,
    };
    wanted.into_iter().map(merge).collect()
}

/// What a model takes of the machine.
pub fn needs(model: &KeptModel) -> Needs {
    let bytes = |role: Role| {
        let files = model.files.iter().filter(|file| file.role == role);
        files
            .map(|file| file.bytes.unwrap_or(file.kept()))
            .sum::<u64>()
    };
    Needs {
        weights: bytes(Role::Graph) + bytes(Role::Data),
        tokenizer: bytes(Role::Tokenizer),
        hidden: model.hidden.unwrap_or(1024),
        tokens: LONGEST,
    }
}

/// Memory of the device in bytes, where the browser says so.
pub fn device_memory() -> Option<u64> {
    let navigator: JsValue = page::window().navigator().into();
    let gigabytes = Reflect::get(&navigator, &"deviceMemory".into())
        .ok()?
        .as_f64()?;
    // Browsers say at most eight, however much there is.
    (gigabytes < 8.0).then_some((gigabytes * (1u64 << 30) as f64) as u64)
}

/// Space for this site, where the browser says so.
pub async fn space() -> Option<Space> {
    let storage = page::window().navigator().storage();
    let estimate = JsFuture::from(storage.estimate().ok()?).await.ok()?;
    let number = |name: &str| Some(Reflect::get(&estimate, &name.into()).ok()?.as_f64()? as u64);
    Some(Space {
        used: number("usage")?,
        quota: number("quota")?,
    })
}

/// Asks the browser not to drop large files when space is short; it may say no.
async fn persist() {
    if let Ok(promise) = page::window().navigator().storage().persist() {
        let _ = JsFuture::from(promise).await;
    }
}

/// The bytes of a kept file, piece by piece.
pub(super) async fn piece(
    shelf: &Shelf,
    model: &KeptModel,
    file: usize,
    number: usize,
) -> Result<Uint8Array, ModelError> {
    let wanted = model.files[file].pieces[number];
    let bytes = shelf.get(&piece_name(model, file, number)).await;
    let whole = bytes.filter(|bytes| u64::from(bytes.length()) == wanted);
    whole.ok_or_else(|| {
        ModelError::Refused(format!(
            "a piece of {} is missing from this browser's storage, which browsers empty when space is short: delete the model and add it again",
            model.files[file].name
        ))
    })
}

impl From<BrowserError> for ModelError {
    fn from(error: BrowserError) -> Self {
        Self::keeping(error)
    }
}
