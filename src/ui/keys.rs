//! The visitor's keys: in memory, one for each address, never beside the settings.

use crate::browser::transport::Endpoint as Target;
use crate::llm::provider::Provider;
use crate::llm::{ApiKey, redact};
use crate::settings::retriever::ModelChoice;
use crate::settings::{Choice, Endpoint, Settings};
use crate::worker::protocol::SearchMethod;
use leptos::prelude::*;
use std::collections::BTreeMap;

/// Id of the row for servers nothing is known about.
pub const ANY: &str = "openai-compatible";

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

    /// A file or text without any key that is held; `None` when none is in it.
    pub fn cleaned(&self, file: &[u8]) -> Option<Vec<u8>> {
        self.0.with_untracked(|keys| {
            let held: Vec<&ApiKey> = keys.values().collect();
            redact::cleaned(file, &held)
        })
    }

    /// Forgets every key held in this tab.
    pub fn forget_all(&self) {
        self.0.set(BTreeMap::new());
    }

    /// How many keys are held in this tab.
    pub fn count(&self) -> usize {
        self.0.with(BTreeMap::len)
    }

    /// Which key a run with these settings lacks, in a sentence with the next step.
    pub fn missing(&self, settings: &Settings) -> Option<String> {
        let agent = (settings.agent == Choice::Endpoint).then_some(&settings.endpoint);
        let lacks = |endpoint: &&Endpoint| {
            known_provider(&endpoint.base_url).is_some_and(|provider| provider.needs_key)
                && !self.has(&endpoint.base_url)
        };
        let retriever = &settings.retriever;
        let embedding = (retriever.model == ModelChoice::Endpoint
            && retriever.method != SearchMethod::Lexical)
            .then_some(&retriever.endpoint.endpoint);
        let endpoint = agent
            .into_iter()
            .chain(embedding)
            .chain(settings.judges().into_iter().map(|(endpoint, _)| endpoint))
            .find(lacks)?;
        let host = host(&endpoint.base_url);
        Some(format!(
            "No key for {host} is held in this tab. Paste or unlock it in Settings, or choose the embedded baseline."
        ))
    }

    /// Where calls to an endpoint go, with its key.
    pub fn target(&self, endpoint: &Endpoint) -> Target {
        let base_url = endpoint.plain_url();
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

/// The provider behind an address, unless it is just some server.
pub fn known_provider(base_url: &str) -> Option<&'static Provider> {
    let url = base_url.trim();
    let provider = (!url.is_empty()).then(|| Provider::from_url(url))?;
    (provider.id != ANY).then_some(provider)
}

/// What a key belongs to: scheme, host and port, so that it never goes to another server when the
/// address is edited.
pub fn host(base_url: &str) -> String {
    let origin = web_sys::Url::new(base_url.trim()).map(|url| url.origin());
    origin.unwrap_or_else(|_| base_url.trim().to_owned())
}
