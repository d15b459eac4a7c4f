//! Where a dataset's files come from: a host, through the cache, or the visitor's disk.

use super::abort::Abort;
use super::cache::{CacheError, FileCache, Wanted};
use super::error::BrowserError;
use super::fetch::{FetchError, OnProgress};
use super::files::{self, FileError, PickedFile};
use super::hash::sha256_hex;
use super::page;
use crate::bench::error::DataError;
use crate::bench::hash;
use crate::bench::limits::{self, FileKind};
use crate::bench::manifest::FileRef;
use js_sys::Uint8Array;
use std::collections::BTreeMap;

/// The file that names all others.
pub(super) const MANIFEST: &str = "manifest.json";

/// Why a dataset, or a part of it, could not be opened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DatasetError {
    #[error("cancelled")]
    Cancelled,
    #[error("“{0}” is not the web address of a dataset")]
    Address(String),
    #[error("{0}")]
    Cache(CacheError),
    #[error("{0}")]
    File(FileError),
    /// A reader of the dataset format refused a file; names file, line and field.
    #[error(transparent)]
    Format(#[from] DataError),
    #[error("none of these files is called {MANIFEST}, so they are no dataset")]
    NoManifest,
    #[error("the dataset has no shard “{0}”")]
    NoShard(String),
    #[error("these files lack “{0}”, which their manifest names")]
    MissingFile(String),
    #[error(transparent)]
    Browser(#[from] BrowserError),
}

impl DatasetError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Address(_) => Some("It looks like https://host/folder/manifest.json."),
            Self::Cache(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Format(error) => Some(error.hint()),
            Self::NoManifest | Self::MissingFile(_) => {
                Some("Drop the dataset's whole folder, as `lab dataset build` wrote it.")
            }
            Self::NoShard(_) => Some("The link was made for another dataset; open that one first."),
            Self::Cancelled | Self::Browser(_) => None,
        }
    }
}

impl From<CacheError> for DatasetError {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::Fetch(FetchError::Cancelled) => Self::Cancelled,
            CacheError::Data(error) => Self::Format(error),
            error => Self::Cache(error),
        }
    }
}

impl From<FetchError> for DatasetError {
    fn from(error: FetchError) -> Self {
        CacheError::from(error).into()
    }
}

impl From<FileError> for DatasetError {
    fn from(error: FileError) -> Self {
        if error == FileError::Cancelled {
            Self::Cancelled
        } else {
            Self::File(error)
        }
    }
}

/// The files behind a manifest.
pub(super) enum Origin {
    /// Beside the manifest of that absolute address.
    Web { manifest: String, cache: FileCache },
    /// By path relative to the manifest.
    Files(BTreeMap<String, PickedFile>),
}

impl Origin {
    /// One file, with its hash checked.
    pub async fn file(
        &self,
        kind: FileKind,
        file: &FileRef,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Uint8Array, DatasetError> {
        limits::check(kind, &file.path, file.bytes)?;
        match self {
            Self::Web { manifest, cache } => {
                let url = page::join(manifest, &file.path)?;
                let wanted = Wanted {
                    url,
                    file: file.clone(),
                    kind: Some(kind),
                };
                Ok(cache.file(&wanted, progress, abort).await?)
            }
            Self::Files(files) => {
                let missing = || DatasetError::MissingFile(file.path.clone());
                let picked = find(files, &file.path).ok_or_else(missing)?;
                let bytes = files::read(picked, kind.unpacked(), progress, abort).await?;
                if sha256_hex(&bytes).await != file.sha256 {
                    hash::check(kind, file, &bytes.to_vec())?;
                }
                Ok(bytes)
            }
        }
    }
}

/// The manifest among dropped files, the one nearest to the top, and all files by their path
/// relative to it.
pub(super) fn sort_files(
    files: Vec<PickedFile>,
) -> Option<(PickedFile, BTreeMap<String, PickedFile>)> {
    let named = files.iter().filter(|picked| name(&picked.path) == MANIFEST);
    let manifest = named.min_by_key(|picked| picked.path.len())?.clone();
    let folder = manifest
        .path
        .strip_suffix(MANIFEST)
        .unwrap_or_default()
        .to_owned();
    let relative =
        |picked: PickedFile| Some((picked.path.strip_prefix(&folder)?.to_owned(), picked));
    Some((manifest, files.into_iter().filter_map(relative).collect()))
}

/// By path; by name alone when somebody picked the files one by one, which loses their folders.
fn find<'a>(files: &'a BTreeMap<String, PickedFile>, path: &str) -> Option<&'a PickedFile> {
    files.get(path).or_else(|| files.get(name(path)))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
