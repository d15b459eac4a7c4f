//! Opens datasets, by whatever the visitor has, and remembers their addresses.

use super::abort::Abort;
use super::cache::FileCache;
use super::clock::now_ms;
use super::dataset::{Dataset, DatasetError, Source, Start, open};
use super::fetch::{Freshness, Get, OnProgress};
use super::files::{self, PickedFile};
use super::origin::{Origin, sort_files};
use super::page;
use super::store::{Drawer, Store};
use crate::bench::limits::FileKind;
use crate::bench::source::manifest_address;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// The dataset that ships with the site.
const BUNDLED: &str = "datasets/iba-mini/manifest.json";
/// Addresses remembered.
const RECENT_KEPT: usize = 10;

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
            bytes: bytes.clone(),
            place: url.clone(),
            is_kept_copy,
        };
        let origin = Origin::Web {
            manifest: url.clone(),
            cache: self.cache.clone(),
        };
        let dataset = open(start, origin, source, progress, abort).await?;
        if !is_kept_copy {
            self.cache.keep_fresh(&url, &bytes).await;
        }
        Ok(dataset)
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
