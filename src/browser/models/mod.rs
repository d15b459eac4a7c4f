//! Embedding models that the visitor brings: found in a folder, fetched or taken from disk, tried,
//! kept, deleted. What is decided is decided in [`crate::embed::registry`].

mod alone;
mod error;
mod fetch;
mod find;
mod pieces;
mod trial;

pub use error::ModelError;
pub use find::{Found, Place};

use super::abort::Abort;
use super::clock::now_ms;
use super::engine::{EngineProgress, OnEngineProgress};
use super::error::BrowserError;
use super::page;
use super::shelf::Shelf;
use crate::embed::registry::room::{Needs, Space};
use crate::embed::registry::{KeptFile, KeptModel, Known, Role};
use crate::embed::spec::ModelSpec;
use crate::words::size;
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

    /// What lies at an address: see [`find::look`]. `chosen` is the model that the visitor says it
    /// is.
    pub async fn look(
        &self,
        address: &str,
        chosen: Option<&'static Known>,
        abort: &Abort,
    ) -> Result<Found, ModelError> {
        find::look(address, chosen, abort).await
    }

    /// What lies in dropped or picked files.
    pub async fn look_in(
        &self,
        files: Vec<super::files::PickedFile>,
        chosen: Option<&'static Known>,
        abort: &Abort,
    ) -> Result<Found, ModelError> {
        find::look_in(files, chosen, abort).await
    }

    /// Where models are kept, and whether the browser has promised to leave them there. Nothing where
    /// it keeps none.
    pub async fn keeping(&self) -> Option<Keeping> {
        let place = Shelf::open().await.ok()?.place();
        let asked = page::window().navigator().storage().persisted();
        let answer = match asked {
            Ok(asked) => JsFuture::from(asked).await.ok(),
            Err(_) => None,
        };
        let is_safe = answer.and_then(|answer| answer.as_bool()).unwrap_or(false);
        Some(Keeping { place, is_safe })
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
        let model = found.model(graph, spec, now_ms() as u64)?;
        fits(&model)?;
        if self.get(&model.id).await.is_none() {
            self.has_space(model.bytes().unwrap_or(0)).await?;
        }
        self.complete(model, Some(found), progress, abort).await
    }

    /// Goes on with a download, or tries a whole model once more.
    pub async fn go_on(
        &self,
        id: &str,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<KeptModel, ModelError> {
        let model = self.get(id).await.ok_or(ModelError::Gone)?;
        fits(&model)?;
        let left = model.bytes().unwrap_or(0).saturating_sub(model.kept());
        self.has_space(left).await?;
        self.complete(model, None, progress, abort).await
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
        self.complete(model, None, progress, abort).await
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

    /// Fetches what is missing and tries the model. `found` is where a model came from that has just
    /// been looked at; one that is kept says it itself.
    async fn complete(
        &self,
        wanted: KeptModel,
        found: Option<&Found>,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<KeptModel, ModelError> {
        let _turn = self.0.turn.lock().await;
        let waits = || {
            progress(EngineProgress {
                what: "waiting for another tab that is at this model".to_owned(),
                done: 0,
                total: None,
            });
        };
        let alone = alone::alone(&wanted.id, waits, abort).await?;
        persist().await;
        let shelf = Shelf::open().await.map_err(ModelError::keeping)?;
        let mut model = wanted;
        match (self.get(&model.id).await, found) {
            // What another tab was at is done.
            (Some(kept), _) if alone.waited && kept.is_ready() && kept.spec == model.spec => {
                return Ok(kept);
            }
            // The same folder again: what is there already stays.
            (Some(kept), Some(_)) => {
                model.files = merged(model.files, kept.files);
                model.fault = kept.fault;
            }
            (Some(kept), None) => model.files = kept.files,
            (None, Some(_)) => {}
            (None, None) => return Err(ModelError::Gone),
        }
        if found.is_some() {
            pieces::keep_record(&shelf, &model).await?;
        }
        if model.fault.take().is_some() {
            self.look_over(&shelf, &mut model).await;
        }
        self.fetch(&shelf, &mut model, found, progress, abort)
            .await?;
        match trial::run(&model, progress, abort).await {
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

    /// Fetches the graph, then what it needs beside itself, then the tokenizer.
    async fn fetch(
        &self,
        shelf: &Shelf,
        model: &mut KeptModel,
        found: Option<&Found>,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<(), ModelError> {
        let mut at = 0;
        while at < model.files.len() {
            if !model.files[at].is_whole() {
                let source = found.and_then(|found| found.source(&model.files[at]));
                fetch::complete(shelf, model, at, source, progress, abort).await?;
            }
            if at == 0 {
                self.take_data(shelf, model, found, abort).await?;
            }
            at += 1;
        }
        Ok(())
    }

    /// Adds the files in which the weights of a graph lie, as the graph names them.
    async fn take_data(
        &self,
        shelf: &Shelf,
        model: &mut KeptModel,
        found: Option<&Found>,
        abort: &Abort,
    ) -> Result<(), ModelError> {
        let new = find::data(model, &model.lacks(), found, abort).await?;
        let untold: Option<u64> = new.iter().map(|file| file.bytes).sum();
        let names: Vec<_> = new.iter().map(|file| file.name.clone()).collect();
        let (is_new, before) = (!new.is_empty(), model.files.clone());
        for (file, pieces) in model.take_data(new) {
            for number in 0..pieces {
                shelf.delete(&piece_name(model, file, number)).await;
            }
        }
        if model.files != before {
            pieces::keep_record(shelf, model).await?;
        }
        fits(model)?;
        if !is_new {
            return Ok(());
        }
        let is_little = untold.is_some_and(|bytes| bytes <= UNASKED);
        let is_told = model.files[0].url.is_empty() || is_little;
        match is_told {
            true => self.has_space(untold.unwrap_or(0)).await,
            false => Err(ModelError::Refused(format!(
                "the graph has come, and its weights lie in files of their own: {} ({}); “Go on” fetches them as well",
                names.join(", "),
                untold.map_or("the host does not say how large".to_owned(), size)
            ))),
        }
    }

    /// Forgets what is damaged of a model that failed, so that it comes anew.
    async fn look_over(&self, shelf: &Shelf, model: &mut KeptModel) {
        for at in 0..model.files.len() {
            if model.files[at].is_whole() {
                let growing = pieces::Growing::take_up(shelf, model, at).await;
                growing.forget_damage().await;
            }
        }
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

/// Bytes that are fetched although nobody was told of them before.
const UNASKED: u64 = 8 << 20;

/// The wanted files, as far as they had come before where they are the same. A kept graph knows better
/// than a look at the folder which data files there are.
fn merged(wanted: Vec<KeptFile>, known: Vec<KeptFile>) -> Vec<KeptFile> {
    let same_named = |file: &KeptFile| {
        let mut known = known.iter();
        known
            .find(|old| old.role == file.role && old.name == file.name)
            .map(|old| file.is_same(old))
    };
    let knows_data = known.first().is_some_and(|graph| graph.apart.is_some());
    let fits = |file: &KeptFile| same_named(file).unwrap_or(file.role == Role::Data);
    if knows_data && wanted.iter().all(fits) {
        return known;
    }
    // Pieces are named by the place of their file.
    let merge = |(at, file): (usize, KeptFile)| match known.get(at) {
        Some(old) if file.is_same(old) => old.clone(),
        _ => file,
    };
    wanted.into_iter().enumerate().map(merge).collect()
}

/// Whether it can be loaded here, as far as sizes say.
fn fits(model: &KeptModel) -> Result<(), ModelError> {
    match needs(model).too_large(device_memory()) {
        Some(why) => Err(ModelError::Refused(why)),
        None => Ok(()),
    }
}

/// Where models lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// In words.
    pub place: &'static str,
    /// The browser has promised not to drop them when space is short.
    pub is_safe: bool,
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
            "a piece of {} is missing from this browser's storage, which browsers empty when space is short: “Try again” in Settings fetches it, or delete the model and add it again",
            model.files[file].name
        ))
    })
}

impl From<BrowserError> for ModelError {
    fn from(error: BrowserError) -> Self {
        Self::keeping(error)
    }
}
