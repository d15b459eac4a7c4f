//! Files by their hash: fetched once, checked always, kept for the next visit and for offline.

use super::abort::Abort;
use super::fetch::{FetchError, OnProgress};
use std::rc::Rc;

/// A file whose hash is known before it is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Absolute address.
    pub url: String,
    /// Lower-case hex.
    pub sha256: String,
    /// Size as stored on the host.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CacheError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(
        "{url} is not the file the manifest names: its SHA-256 is {found}, expected {expected}"
    )]
    Hash {
        url: String,
        expected: String,
        found: String,
    },
}

/// Handle; clones share one cache.
#[derive(Clone, Default)]
pub struct FileCache {}

impl FileCache {
    pub fn new() -> Self {
        Self::default()
    }

    /// The file, from memory in flight, the cache, or the network. Its hash has been checked.
    pub async fn file(
        &self,
        _wanted: &Wanted,
        _progress: &OnProgress,
        _abort: &Abort,
    ) -> Result<Rc<Vec<u8>>, CacheError> {
        todo!()
    }

    /// Forgets every kept file.
    pub async fn clear(&self) {
        todo!()
    }
}
