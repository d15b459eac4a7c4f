//! Datasets: bundled, by address, from dropped files. One instance opens without the other shards.

use super::abort::Abort;
use super::cache::FileCache;
use super::clock::{Pace, now_ms};
use super::fetch::{Freshness, Get, OnProgress};
use super::files::{self, PickedFile};
use super::hash::sha256_hex;
use super::origin::{Origin, sort_files};
use super::page;
use super::store::{Drawer, Store};
use crate::bench::error::{DataError, Warning};
use crate::bench::hidden::ScenarioDimensions;
use crate::bench::index::{self, IndexReader};
use crate::bench::limits::FileKind;
use crate::bench::manifest::{self, IndexEntry, Manifest};
use crate::bench::shard::{Shard, ShardReader};
use crate::bench::source::manifest_address;
use crate::bench::unpack::unpack;
use crate::embed::Chunking;
use futures::lock::Mutex;
use js_sys::Uint8Array;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;

pub use super::origin::DatasetError;

/// The dataset that ships with the site.
const BUNDLED: &str = "datasets/iba-mini/manifest.json";
/// Parsed shards kept in memory; one is a few megabytes.
const SHARDS_KEPT: usize = 3;
/// Stored bytes read between two breaths: some 5 ms of unpacking and parsing.
const PIECE: u32 = 16 * 1024;
/// Addresses remembered.
const RECENT_KEPT: usize = 10;

/// Where a dataset came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Ships with this site.
    Bundled,
    /// Absolute address of its manifest.
    Url(String),
    /// Dropped or picked; path of the manifest among the files.
    Files(String),
}

/// An opened dataset: its manifest and index are in memory, shards come when asked for.
pub struct Dataset {
    pub manifest: Manifest,
    /// Identifies the dataset in every result.
    pub manifest_sha256: String,
    /// Every instance, for lists and filters.
    pub index: Vec<IndexEntry>,
    pub source: Source,
    /// What was odd about manifest and index.
    pub warnings: Vec<Warning>,
    /// The host could not be reached; this is what the last visit kept.
    pub is_kept_copy: bool,
    origin: Origin,
    /// Latest use last.
    shards: RefCell<Vec<(String, Rc<Shard>)>>,
    parsing: Mutex<()>,
}

impl Dataset {
    /// One persona's history and instances; from memory when it was used lately.
    pub async fn shard(
        &self,
        id: &str,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Rc<Shard>, DatasetError> {
        if let Some(shard) = self.kept_shard(id) {
            return Ok(shard);
        }
        let wanted = self
            .manifest
            .shard(id)
            .ok_or_else(|| DatasetError::NoShard(id.to_owned()))?;
        let bytes = self
            .origin
            .file(FileKind::Shard, &wanted.file, progress, abort)
            .await?;
        let _turn = self.parsing.lock().await;
        // Somebody else may have parsed it while this call waited.
        if let Some(shard) = self.kept_shard(id) {
            return Ok(shard);
        }
        let mut reader = ShardReader::new(&wanted.file.path, &self.manifest);
        in_pieces(&bytes, abort, |piece| reader.push(piece)).await?;
        let shard = Rc::new(reader.finish()?.0);
        self.keep_shard(id, Rc::clone(&shard));
        Ok(shard)
    }

    /// Vectors of a shard made by the model of that hash with that chunking, if shipped.
    pub async fn vectors(
        &self,
        shard: &str,
        model_sha256: &str,
        chunking: Chunking,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        let made_so = |set: &&manifest::EmbeddingSet| {
            set.model_sha256 == model_sha256
                && set.chunk_tokens == chunking.tokens
                && set.chunk_overlap == chunking.overlap
        };
        let set = self.manifest.embeddings.iter().find(made_so);
        let Some(file) = set.and_then(|set| set.files.get(shard)) else {
            return Ok(None);
        };
        let bytes = self
            .origin
            .file(FileKind::Vectors, file, progress, abort)
            .await?;
        Ok(Some(unpack(
            &file.path,
            &bytes.to_vec(),
            FileKind::Vectors.unpacked(),
        )?))
    }

    /// The preference dimensions of all scenarios: for the reader after "reveal", never for an agent.
    pub async fn dimensions(
        &self,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Vec<ScenarioDimensions>, DatasetError> {
        let file = &self.manifest.dimensions;
        let bytes = self
            .origin
            .file(FileKind::Dimensions, file, progress, abort)
            .await?;
        Ok(index::read_dimensions(&file.path, &self.manifest, &bytes.to_vec())?.0)
    }

    /// Names a shard's history in the engine: equal names mean equal passages.
    pub fn history_key(&self, shard: &str, chunking: Chunking) -> String {
        let file = self
            .manifest
            .shard(shard)
            .map(|shard| shard.file.sha256.as_str());
        format!(
            "{}/{}-{}",
            file.unwrap_or(shard),
            chunking.tokens,
            chunking.overlap
        )
    }

    fn kept_shard(&self, id: &str) -> Option<Rc<Shard>> {
        let mut shards = self.shards.borrow_mut();
        let at = shards.iter().position(|(kept, _)| kept == id)?;
        let entry = shards.remove(at);
        let shard = Rc::clone(&entry.1);
        shards.push(entry);
        Some(shard)
    }

    fn keep_shard(&self, id: &str, shard: Rc<Shard>) {
        let mut shards = self.shards.borrow_mut();
        shards.push((id.to_owned(), shard));
        let surplus = shards.len().saturating_sub(SHARDS_KEPT);
        shards.drain(..surplus);
    }
}

/// A dataset opened before, for the list on the start view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    pub url: String,
    pub title: String,
    pub instances: u32,
    /// Milliseconds since the Unix epoch.
    pub opened_ms: f64,
}

/// Opens datasets. A failed opening changes nothing that is open.
#[derive(Clone)]
pub struct Library {
    cache: FileCache,
    store: Store,
}

impl Library {
    pub fn new(cache: FileCache, store: Store) -> Self {
        Self { cache, store }
    }

    /// The dataset that ships with the site.
    pub async fn open_bundled(
        &self,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Rc<Dataset>, DatasetError> {
        self.open_web(page::resolve(BUNDLED)?, Source::Bundled, progress, abort)
            .await
    }

    /// By the address of a manifest or of the folder that holds it.
    pub async fn open_url(
        &self,
        address: &str,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Rc<Dataset>, DatasetError> {
        let url = manifest_address(address)
            .ok_or_else(|| DatasetError::Address(address.trim().to_owned()))?;
        let dataset = self
            .open_web(url.clone(), Source::Url(url), progress, abort)
            .await?;
        self.remember(&dataset).await;
        Ok(dataset)
    }

    /// From dropped or picked files that hold a `manifest.json`.
    pub async fn open_files(
        &self,
        files: Vec<PickedFile>,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Rc<Dataset>, DatasetError> {
        let (manifest, files) = sort_files(files).ok_or(DatasetError::NoManifest)?;
        let bytes = files::read(&manifest, FileKind::Manifest.stored(), progress, abort).await?;
        let start = Start {
            bytes,
            place: manifest.path.clone(),
            is_kept_copy: false,
        };
        open(
            start,
            Origin::Files(files),
            Source::Files(manifest.path),
            progress,
            abort,
        )
        .await
    }

    /// Datasets opened by address, latest first.
    pub async fn recent(&self) -> Vec<Recent> {
        let kept = self.store.all(Drawer::Datasets).await;
        let mut recent: Vec<Recent> = kept
            .iter()
            .flat_map(|(_, text)| serde_json::from_str(text))
            .collect();
        recent.sort_by(|a, b| b.opened_ms.total_cmp(&a.opened_ms));
        recent
    }

    async fn open_web(
        &self,
        url: String,
        source: Source,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Rc<Dataset>, DatasetError> {
        let get = Get {
            url: &url,
            limit: FileKind::Manifest.stored(),
            expect: None,
            freshness: Freshness::Revalidate,
            progress,
            abort,
        };
        let (bytes, is_kept_copy) = self.cache.fresh(get).await?;
        let start = Start {
            bytes,
            place: url.clone(),
            is_kept_copy,
        };
        let origin = Origin::Web {
            manifest: url,
            cache: self.cache.clone(),
        };
        open(start, origin, source, progress, abort).await
    }

    async fn remember(&self, dataset: &Dataset) {
        let Source::Url(url) = &dataset.source else {
            return;
        };
        let recent = Recent {
            url: url.clone(),
            title: dataset.manifest.title.clone(),
            instances: dataset.index.len() as u32,
            opened_ms: now_ms(),
        };
        if let Ok(text) = serde_json::to_string(&recent) {
            self.store.put(Drawer::Datasets, url, text).await;
        }
        for old in self.recent().await.iter().skip(RECENT_KEPT) {
            self.store.delete(Drawer::Datasets, &old.url).await;
        }
    }
}

/// A manifest as it came.
struct Start {
    bytes: Uint8Array,
    place: String,
    is_kept_copy: bool,
}

async fn open(
    start: Start,
    origin: Origin,
    source: Source,
    progress: &OnProgress,
    abort: &Abort,
) -> Result<Rc<Dataset>, DatasetError> {
    let (manifest, mut warnings) = manifest::parse(&start.bytes.to_vec(), &start.place)?;
    let manifest_sha256 = sha256_hex(&start.bytes).await;
    let bytes = origin
        .file(FileKind::Index, &manifest.index, progress, abort)
        .await?;
    let mut reader = IndexReader::new(&manifest.index.path, &manifest);
    in_pieces(&bytes, abort, |piece| reader.push(piece)).await?;
    let (index, more) = reader.finish()?;
    warnings.extend(more);
    Ok(Rc::new(Dataset {
        manifest,
        manifest_sha256,
        index,
        source,
        warnings,
        is_kept_copy: start.is_kept_copy,
        origin,
        shards: RefCell::default(),
        parsing: Mutex::new(()),
    }))
}

/// Feeds a reader without holding up the page.
async fn in_pieces(
    bytes: &Uint8Array,
    abort: &Abort,
    mut push: impl FnMut(&[u8]) -> Result<(), DataError>,
) -> Result<(), DatasetError> {
    let mut pace = Pace::new();
    for start in (0..bytes.length()).step_by(PIECE as usize) {
        if abort.is_aborted() {
            return Err(DatasetError::Cancelled);
        }
        let end = bytes.length().min(start.saturating_add(PIECE));
        push(&bytes.subarray(start, end).to_vec())?;
        pace.breathe().await;
    }
    Ok(())
}
