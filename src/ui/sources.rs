//! Which vectors all histories are searched by: those of the chosen embedding model, shipped with the
//! dataset or made by it.

use super::data::Open;
use super::histories::{Offer, said};
use super::parts::Problem;
use super::state::{Edge, Lab};
use crate::browser::abort::Abort;
use crate::browser::collection::{CollectionError, Maker, Source, Vectors};
use crate::browser::engine::{Engine, ModelInfo};
use crate::browser::remote::{Remote, RemoteParts};
use crate::embed::Chunking;
use crate::settings::retriever::{ModelChoice, Retriever};
use crate::worker::protocol::SearchMethod;
use leptos::prelude::*;
use std::rc::Rc;

/// Names what the visitor has chosen in Settings, as far as vectors depend on it.
pub fn chosen(lab: Lab, by_shipped: bool) -> String {
    if by_shipped {
        return "shipped here".to_owned();
    }
    let parts = lab.settings.with_untracked(|settings| {
        let retriever = &settings.retriever;
        let endpoint = (retriever.model == ModelChoice::Endpoint).then_some(&retriever.endpoint);
        serde_json::to_string(&(&retriever.model, retriever.arithmetic, endpoint))
    });
    parts.unwrap_or_default()
}

/// The vectors to search by.
pub async fn source(
    lab: Lab,
    edge: &Edge,
    open: &Open,
    by_shipped: bool,
    abort: &Abort,
) -> Result<Source, Option<Problem>> {
    // The search page has a method of its own.
    let retriever = lab.settings.with_untracked(|settings| Retriever {
        method: SearchMethod::Exact,
        ..settings.retriever.clone()
    });
    let engine = match &retriever.model {
        ModelChoice::Kept { id } if !by_shipped => {
            let kept = edge.engines.kept(id).await;
            kept.map_err(|error| {
                let hint = "Choose another embedding model in Settings, or search by words.";
                Some(Problem::new(
                    format!("The chosen embedding model cannot be used: {error}"),
                    Some(hint),
                ))
            })?
        }
        ModelChoice::Endpoint if !by_shipped => {
            if let Some(missing) = retriever.missing() {
                let hint = "Complete it in Settings, or search by words.";
                return Err(Some(Problem::new(missing, Some(hint))));
            }
            return Ok(remote(lab, edge).await);
        }
        _ => edge.engine.clone(),
    };
    engine.set_arithmetic(retriever.arithmetic);
    let info = engine.info(abort).await;
    let info = info.map_err(|error| said(CollectionError::from(error)))?;
    Ok(by_engine(engine, &info, open))
}

/// The vectors of an engine's model: the dataset's, where it ships some of it.
fn by_engine(engine: Engine, info: &ModelInfo, open: &Open) -> Source {
    let set = open.dataset.set_of(info, Chunking::default());
    let (vectors, identity) = match set {
        Some(set) => (Vectors::Shipped(set.clone()), set.vectors_sha256()),
        None => (Vectors::Made, info.key.clone()),
    };
    Source {
        vectors,
        maker: Maker::Engine(engine),
        name: info.name.clone(),
        identity,
    }
}

async fn remote(lab: Lab, edge: &Edge) -> Source {
    let chosen = lab
        .settings
        .with_untracked(|settings| settings.retriever.endpoint.clone());
    let model = chosen.endpoint.model.trim().to_owned();
    let remote = Remote::new(RemoteParts {
        transport: edge.transport.clone(),
        cache: edge.cache.clone(),
        texts: edge.texts.clone(),
        store: edge.store.clone(),
        endpoint: lab.keys.target(&chosen.endpoint),
        model: model.clone(),
        dimensions: chosen.dimensions,
        query_prefix: chosen.query_prefix,
        passage_prefix: chosen.passage_prefix,
        heard: Rc::new(move |heard| lab.histories.hear(&heard)),
    });
    Source {
        vectors: Vectors::Made,
        identity: remote.identity().await,
        maker: Maker::Remote(Rc::new(remote), edge.engine.clone()),
        name: model,
    }
}

/// Passages of which only the words are looked at: as the dataset marks them for whatever model, or
/// windows of words where it ships no vectors.
pub fn stand_in(edge: &Edge, open: &Open) -> Source {
    let maker = Maker::Engine(edge.engine.clone());
    match open.dataset.manifest.embeddings.first() {
        Some(set) => Source {
            identity: set.vectors_sha256(),
            name: set.model.clone(),
            vectors: Vectors::Shipped(set.clone()),
            maker,
        },
        None => Source {
            identity: "windows of words".to_owned(),
            name: String::new(),
            vectors: Vectors::Windows,
            maker,
        },
    }
}

/// What to ask the visitor when vectors are missing.
pub async fn offer(source: &Source, open: &Open, edge: &Edge, abort: &Abort) -> Offer {
    let info = edge.engine.info(abort).await.ok();
    let sets = open.dataset.manifest.embeddings.iter();
    Offer {
        model: source.name.clone(),
        paid: matches!(source.maker, Maker::Remote(..)),
        ships: sets.map(|set| set.model.clone()).collect(),
        other: info.is_some_and(|info| open.dataset.set_of(&info, Chunking::default()).is_some()),
    }
}
