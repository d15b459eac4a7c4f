//! The visitor's keys: in memory, one for each address, never beside the settings.

use crate::browser::transport::Endpoint as Target;
use crate::llm::ApiKey;
use crate::settings::Endpoint;
use leptos::prelude::*;
use std::collections::BTreeMap;

/// Handle.
#[derive(Clone, Copy)]
pub struct Keys(RwSignal<BTreeMap<String, ApiKey>>);

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

impl Keys {
    pub fn new() -> Self {
        Self(RwSignal::new(BTreeMap::new()))
    }

    /// Whether a key is known for an address.
    pub fn has(&self, base_url: &str) -> bool {
        self.0.with(|keys| keys.contains_key(&host(base_url)))
    }

    /// Takes what the visitor pasted; `false` when that is no key.
    pub fn set(&self, base_url: &str, pasted: &str) -> bool {
        let key = ApiKey::new(pasted);
        let known = key.is_some();
        if let Some(key) = key {
            self.0.update(|keys| drop(keys.insert(host(base_url), key)));
        }
        known
    }

    pub fn forget(&self, base_url: &str) {
        self.0.update(|keys| drop(keys.remove(&host(base_url))));
    }

    /// Where calls to an endpoint go, with its key.
    pub fn target(&self, endpoint: &Endpoint) -> Target {
        let base_url = endpoint.base_url.trim().trim_end_matches('/').to_owned();
        let key = self
            .0
            .with_untracked(|keys| keys.get(&host(&base_url)).cloned());
        Target {
            base_url,
            key,
            limits: Default::default(),
        }
    }
}

/// What a key belongs to: scheme, host and port, so that it never goes to another server when the
/// address is edited.
pub fn host(base_url: &str) -> String {
    let origin = web_sys::Url::new(base_url.trim()).map(|url| url.origin());
    origin.unwrap_or_else(|_| base_url.trim().to_owned())
}
