//! Files by their hash: fetched once, checked always, kept for the next visit and for offline.

use super::abort::Abort;
use super::fetch::{self, FetchError, Freshness, Get, OnProgress};
use super::flight::Flights;
use super::hash::sha256_hex;
use super::kept::Kept;
use crate::bench::error::DataError;
use crate::bench::hash;
use crate::bench::limits::FileKind;
use crate::bench::manifest::FileRef;
use js_sys::Uint8Array;

/// A second layer of gzip makes a file hardly larger.
const SLACK: u64 = 64 * 1024;

/// A file whose hash is known before it is fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Absolute address.
    pub url: String,
    pub file: FileRef,
    /// For files of a dataset, which hosts may unpack or pack once more on the way.
    pub kind: Option<FileKind>,
}

impl Wanted {
    /// Most bytes accepted: the larger of its sizes, and something for a second layer of gzip.
    fn limit(&self) -> u64 {
        self.file.bytes.max(self.file.unpacked.unwrap_or_default()) + SLACK
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CacheError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It is not the file that its manifest means, or no data at all.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl CacheError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Fetch(error) => error.hint(),
            Self::Data(error) => Some(error.hint()),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Fetch(FetchError::Cancelled))
    }
}

/// Handle; clones share one cache.
#[derive(Clone, Default)]
pub struct FileCache {
    kept: Kept,
    flights: Flights<Result<Uint8Array, CacheError>>,
}

impl FileCache {
    pub fn new() -> Self {
        Self::default()
    }

    /// The file: from a download under way, from the last visit, or from the network. Its hash has
    /// been checked.
    pub async fn file(
        &self,
        wanted: &Wanted,
        progress: &OnProgress,
        abort: &Abort,
    ) -> Result<Uint8Array, CacheError> {
        loop {
            let job = Job {
                kept: self.kept,
                wanted: wanted.clone(),
                progress: progress.clone(),
                abort: abort.clone(),
            };
            let (result, mine) = self
                .flights
                .join(&wanted.file.sha256, || Box::pin(job.run()))
                .await;
            // Another visitor of the same file gave up; that is no reason for this one to.
            let others = !mine && result.as_ref().is_err_and(CacheError::is_cancelled);
            if !others || abort.is_aborted() {
                return result;
            }
        }
    }

    /// A small file without a known hash: from the network, and what [`Self::keep_fresh`] kept
    /// only when the network fails. `true` when it is the kept copy.
    pub async fn fresh(&self, get: Get<'_>) -> Result<(Uint8Array, bool), FetchError> {
        let url = get.url;
        match fetch::get(get).await {
            Ok(fetched) => Ok((fetched.bytes, false)),
            Err(error) if error.is_network() => match self.kept.get(url).await {
                Some(bytes) => Ok((bytes, true)),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Keeps such a file for a visit without network. Only once it has proved sound: a bad one
    /// must not take the place of a good one.
    pub async fn keep_fresh(&self, url: &str, bytes: &Uint8Array) {
        self.kept.put(url, bytes).await;
    }

    /// What an earlier visit made and kept under this name.
    pub(super) async fn made(&self, name: &str) -> Option<Uint8Array> {
        self.kept.get(&Kept::made(name)).await
    }

    /// Keeps what was costly to make.
    pub(super) async fn keep_made(&self, name: &str, bytes: &Uint8Array) {
        self.kept.put(&Kept::made(name), bytes).await;
    }

    /// Keeps the vectors that were made of a history, and how many of its passages are longer than the
    /// model reads.
    pub(super) async fn keep_vectors(&self, name: &str, file: &Uint8Array, too_long: u32) {
        let count = Uint8Array::from(too_long.to_le_bytes().as_slice());
        self.keep_made(&format!("{name}/too-long"), &count).await;
        self.keep_made(name, file).await;
    }

    /// What was counted when the vectors of that name were kept.
    pub(super) async fn too_long(&self, name: &str) -> Option<u32> {
        let kept = self.made(&format!("{name}/too-long")).await;
        let bytes = kept.and_then(|bytes| bytes.to_vec().try_into().ok());
        bytes.map(u32::from_le_bytes)
    }

    /// Forgets what was made under this name.
    pub(super) async fn forget_made(&self, name: &str) {
        self.kept.delete(&Kept::made(name)).await;
    }

    /// Forgets every kept file.
    pub async fn clear(&self) {
        self.kept.clear().await;
    }
}

/// One file on its way.
struct Job {
    kept: Kept,
    wanted: Wanted,
    progress: OnProgress,
    abort: Abort,
}

impl Job {
    async fn run(self) -> Result<Uint8Array, CacheError> {
        let key = Kept::key(&self.wanted.file.sha256);
        if let Some(bytes) = self.kept.get(&key).await {
            if self.check(&bytes).await.is_ok() {
                return Ok(bytes);
            }
            self.kept.delete(&key).await;
        }
        let bytes = self.download().await?;
        self.kept.put(&key, &bytes).await;
        Ok(bytes)
    }

    /// A wrong hash may come from a stale answer in the browser's own cache, so it is asked past
    /// that once.
    async fn download(&self) -> Result<Uint8Array, CacheError> {
        let bytes = self.fetch(Freshness::Normal).await?;
        if self.check(&bytes).await.is_ok() {
            return Ok(bytes);
        }
        let bytes = self.fetch(Freshness::Reload).await?;
        self.check(&bytes).await?;
        Ok(bytes)
    }

    async fn fetch(&self, freshness: Freshness) -> Result<Uint8Array, FetchError> {
        let get = Get {
            url: &self.wanted.url,
            limit: self.wanted.limit(),
            expect: Some(self.wanted.file.bytes),
            freshness,
            progress: &self.progress,
            abort: &self.abort,
        };
        Ok(fetch::get(get).await?.bytes)
    }

    async fn check(&self, bytes: &Uint8Array) -> Result<(), CacheError> {
        let found = sha256_hex(bytes).await;
        let Wanted { file, kind, url } = &self.wanted;
        if found == file.sha256 || file.unpacked_sha256.as_ref() == Some(&found) {
            return Ok(());
        }
        match kind {
            Some(kind) => Ok(hash::check(*kind, file, &bytes.to_vec())?),
            None => Err(DataError::HashMismatch {
                place: url.clone(),
                found,
                expected: file.sha256.clone(),
            }
            .into()),
        }
    }
}
