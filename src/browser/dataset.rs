//! Datasets: bundled, by address, from dropped files. One instance opens without the other shards.

use super::abort::Abort;
use super::cache::{CacheError, FileCache};
use super::fetch::{FetchError, OnProgress};
use super::files::{FileError, PickedFile};
use super::store::Store;
use crate::bench::manifest::{IndexEntry, Manifest};
use std::rc::Rc;

/// Where a dataset came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Ships with this site.
    Bundled,
    /// Absolute address of its manifest.
    Url(String),
    /// Dropped or picked; the folder's or file's name.
    Files(String),
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DatasetError {
    #[error("cancelled")]
    Cancelled,
    #[error("“{0}” is no web address of a dataset")]
    Address(String),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(transparent)]
    File(#[from] FileError),
    /// A reader of the dataset format refused a file; names file, line and field.
    #[error("{file}: {message}")]
    Format {
        file: String,
        message: String,
        hint: Option<String>,
    },
    #[error("the dropped files have no manifest.json")]
    NoManifest,
    #[error("the dataset has no shard “{0}”")]
    NoShard(String),
    #[error("the dropped files lack {0}, which the manifest names")]
    MissingFile(String),
}

/// An opened dataset: its manifest and index are in memory, shards come when asked for.
pub struct Dataset {
    pub manifest: Manifest,
    /// Identifies the dataset in every result.
    pub manifest_sha256: String,
    /// Every instance, for lists and filters.
    pub index: Vec<IndexEntry>,
    pub source: Source,
}

impl Dataset {
    /// Vectors of a shard made by the model of that hash with that chunking, if shipped.
    pub async fn vectors(
        &self,
        _shard: &str,
        _model_sha256: &str,
        _chunking: crate::embed::Chunking,
        _progress: &OnProgress,
        _abort: &Abort,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        todo!()
    }
}

/// A dataset opened before, for the list on the start view.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recent {
    pub url: String,
    pub title: String,
    pub instances: u32,
}

/// Opens datasets. A failed opening changes nothing that is open.
#[derive(Clone)]
pub struct Library {}

impl Library {
    pub fn new(_cache: FileCache, _store: Store) -> Self {
        todo!()
    }

    /// The dataset that ships with the site.
    pub async fn open_bundled(
        &self,
        _progress: &OnProgress,
        _abort: &Abort,
    ) -> Result<Rc<Dataset>, DatasetError> {
        todo!()
    }

    /// By the address of a manifest or of the folder that holds it.
    pub async fn open_url(
        &self,
        _address: &str,
        _progress: &OnProgress,
        _abort: &Abort,
    ) -> Result<Rc<Dataset>, DatasetError> {
        todo!()
    }

    /// From dropped or picked files that hold a `manifest.json`.
    pub async fn open_files(
        &self,
        _files: Vec<PickedFile>,
        _progress: &OnProgress,
        _abort: &Abort,
    ) -> Result<Rc<Dataset>, DatasetError> {
        todo!()
    }

    /// Datasets opened by address, latest first.
    pub async fn recent(&self) -> Vec<Recent> {
        todo!()
    }
}
