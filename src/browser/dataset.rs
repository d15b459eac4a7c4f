//! Datasets: bundled, by address, from dropped files. One instance opens without the other shards.

use super::abort::Abort;
use super::clock::Pace;
use super::fetch::OnProgress;
use super::hash::sha256_hex;
use super::model::ModelInfo;
use super::origin::Origin;
use crate::bench::error::{DataError, Warning};
use crate::bench::hidden::ScenarioDimensions;
use crate::bench::index::{self, IndexReader};
use crate::bench::limits::FileKind;
use crate::bench::manifest::{self, EmbeddingSet, IndexEntry, Manifest};
use crate::bench::shard::{Shard, ShardReader};
use crate::bench::unpack::unpack;
use crate::embed::Chunking;
use futures::lock::Mutex;
use js_sys::Uint8Array;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

pub use super::library::{Library, Recent};
pub use super::origin::DatasetError;

/// Parsed shards kept in memory; one is a few megabytes.
const SHARDS_KEPT: usize = 3;
/// Stored bytes read between two breaths: some 5 ms of unpacking and parsing.
const PIECE: u32 = 16 * 1024;

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
    /// What was odd about shards and has not been asked for yet.
    odd: RefCell<Vec<Warning>>,
    /// The same of another shard is no news.
    told: RefCell<BTreeSet<String>>,
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
        let (shard, odd) = reader.finish()?;
        self.note(odd);
        let shard = Rc::new(shard);
        self.keep_shard(id, Rc::clone(&shard));
        Ok(shard)
    }

    /// The shipped set of the vectors that this model gives chunks cut so.
    pub fn set_of(&self, model: &ModelInfo, chunking: Chunking) -> Option<&EmbeddingSet> {
        let mut sets = self.manifest.embeddings.iter();
        sets.find(|set| model.gives(set) && chunking.fits(set))
    }

    /// Vectors of a shard from a set, if it has some of it.
    pub async fn vectors(
        &self,
        shard: &str,
        set: &EmbeddingSet,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        let Some(file) = set.files.get(shard) else {
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

    /// The graph over the vectors of a set, if shipped.
    pub async fn graph(
        &self,
        set: &EmbeddingSet,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Option<Uint8Array>, DatasetError> {
        let Some(file) = &set.graph else {
            return Ok(None);
        };
        let bytes = self.origin.file(FileKind::Graph, file, progress, abort);
        Ok(Some(bytes.await?))
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

    /// What was odd about the shards read since this was last asked, each kind once.
    pub fn take_odd(&self) -> Vec<Warning> {
        self.odd.take()
    }

    fn note(&self, warnings: Vec<Warning>) {
        let mut told = self.told.borrow_mut();
        let news = warnings
            .into_iter()
            .filter(|warning| told.insert(warning.text.clone()));
        self.odd.borrow_mut().extend(news);
    }

    /// Names a shard's history in the engine: equal names mean equal passages.
    pub fn history_key(&self, shard: &str, chunking: Chunking) -> String {
        let file = self
            .manifest
            .shard(shard)
            .map(|shard| shard.file.sha256.as_str());
        format!("{}/{}", file.unwrap_or(shard), chunking.name())
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

/// A manifest as it came.
pub(super) struct Start {
    pub bytes: Uint8Array,
    pub place: String,
    pub is_kept_copy: bool,
}

/// Reads the manifest and the index behind it.
pub(super) async fn open(
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
        odd: RefCell::default(),
        told: RefCell::default(),
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
