//! All histories of a dataset, searched as one: owned by the root, so that a graph that took minutes
//! to build is still there after a look at a session.

use super::data::Open;
use super::parts::Problem;
use super::state::{Edge, Lab};
use crate::bench::manifest::EmbeddingSet;
use crate::browser::abort::Abort;
use crate::browser::collection::{Collection, CollectionError, Wanted};
use crate::browser::engine::{EngineProgress, OnEngineProgress};
use crate::browser::fetch;
use crate::search::{HnswParams, recall};
use crate::worker::protocol::{CollectionHit, SearchMethod};
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::rc::Rc;

/// Hits shown of one search.
const TOP_K: u32 = 10;
/// Tasks of the dataset by which a graph's recall is measured, at most.
const SAMPLE: usize = 50;

/// What is being done, so that it can be shown and stopped.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Work {
    #[default]
    Nothing,
    Going(EngineProgress),
    Failed(Problem),
}

/// What was found, for which words, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub query: String,
    /// How it was really searched.
    pub method: SearchMethod,
    /// Whether words stand in for meaning until the model is there.
    pub meanwhile: bool,
    pub hits: Vec<CollectionHit>,
    /// Of the search alone.
    pub millis: f64,
}

/// A finished graph, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub params: HnswParams,
    pub seconds: f64,
    /// Share of the ten nearest passages that it finds, against the exact search.
    pub recall: f64,
    /// Tasks of the dataset that were asked.
    pub sample: usize,
    /// Milliseconds of one exact search, and of one by the graph.
    pub millis: (f64, f64),
}

/// Handle.
#[derive(Clone, Copy)]
pub struct Histories {
    /// Loading histories, then searching.
    pub work: RwSignal<Work>,
    /// Loading the model.
    pub model: RwSignal<Work>,
    /// Building the graph.
    pub building: RwSignal<Work>,
    pub found: RwSignal<Option<Found>>,
    pub graph: RwSignal<Option<Graph>>,
    /// Number of passages, once they are loaded.
    pub rows: RwSignal<Option<u32>>,
    collection: StoredValue<Option<Kept>, LocalStorage>,
    /// Of the search and of the building.
    aborts: StoredValue<[Abort; 2], LocalStorage>,
    /// Number of the last search; an earlier one has nothing to say any more.
    turn: StoredValue<u32>,
}

/// A collection and the dataset it is of.
#[derive(Clone)]
struct Kept {
    dataset: String,
    collection: Rc<Collection>,
}

impl Default for Histories {
    fn default() -> Self {
        Self::new()
    }
}

impl Histories {
    pub fn new() -> Self {
        Self {
            work: RwSignal::default(),
            model: RwSignal::default(),
            building: RwSignal::default(),
            found: RwSignal::default(),
            graph: RwSignal::default(),
            rows: RwSignal::default(),
            collection: StoredValue::new_local(None),
            aborts: StoredValue::new_local([Abort::new(), Abort::new()]),
            turn: StoredValue::new(0),
        }
    }

    /// Looks for a text. While the model loads, words are compared, and meaning as soon as it is
    /// there.
    pub fn search(self, lab: Lab, open: Open, query: String, method: SearchMethod) {
        let turn = self.turn.get_value() + 1;
        self.turn.set_value(turn);
        let abort = Abort::new();
        self.aborts.update_value(|aborts| {
            std::mem::replace(&mut aborts[0], abort.clone()).abort();
        });
        spawn_local(async move {
            let searched = self.find(lab, (&open, &query, method), &abort).await;
            if self.turn.get_value() != turn {
                return;
            }
            self.work.set(match searched {
                Ok(()) => Work::Nothing,
                Err(problem) => problem.map_or(Work::Nothing, Work::Failed),
            });
            if abort.is_aborted() {
                self.model.set(Work::Nothing);
            }
        });
    }

    /// Stops what is being loaded or searched.
    pub fn cancel(self) {
        self.aborts.with_value(|aborts| aborts[0].abort());
    }

    /// Stops building the graph; exact searches are not touched.
    pub fn cancel_building(self) {
        self.aborts.with_value(|aborts| aborts[1].abort());
    }

    /// Builds the graph over all passages and measures it on tasks of the dataset.
    pub fn build(self, lab: Lab, open: Open) {
        let abort = Abort::new();
        self.aborts.update_value(|aborts| aborts[1] = abort.clone());
        self.graph.set(None);
        self.building.set(going("starting"));
        spawn_local(async move {
            self.building
                .set(match self.built(lab, &open, &abort).await {
                    Ok(graph) => {
                        self.graph.set(Some(graph));
                        Work::Nothing
                    }
                    Err(problem) => problem.map_or(Work::Nothing, Work::Failed),
                });
        });
    }

    /// Forgets another dataset's passages.
    pub fn belong_to(self, open: &Open) {
        let dataset = &open.dataset.manifest_sha256;
        let other = self.collection.with_value(|kept| {
            let kept = kept.as_ref();
            kept.is_some_and(|kept| kept.dataset != *dataset)
        });
        if other {
            self.cancel();
            self.cancel_building();
            self.collection.set_value(None);
            self.found.set(None);
            self.graph.set(None);
            self.rows.set(None);
            for work in [self.work, self.model, self.building] {
                work.set(Work::Nothing);
            }
        }
    }

    /// Whether words can be searched; not known before the passages are loaded.
    pub fn has_texts(self) -> bool {
        self.collection
            .with_value(|kept| kept.as_ref().is_none_or(|k| k.collection.has_texts()))
    }

    async fn find(
        self,
        lab: Lab,
        (open, query, method): (&Open, &str, SearchMethod),
        abort: &Abort,
    ) -> Result<(), Option<Problem>> {
        let edge = lab.edge.get_untracked().ok_or(None)?;
        let collection = self.loaded(open, abort).await?;
        let by_graph = method == SearchMethod::Hnsw && collection.has_graph();
        let method = match method {
            SearchMethod::Hnsw if !by_graph => SearchMethod::Exact,
            method => method,
        };
        let queries = [query.to_owned()];
        let ask = async |method, vectors: &[Vec<f32>], meanwhile| {
            let wanted = Wanted {
                queries: &queries,
                vectors,
                top_k: TOP_K,
                method,
            };
            let (mut hits, millis) = collection.search(wanted, abort).await.map_err(said)?;
            let found = Found {
                query: query.to_owned(),
                method,
                meanwhile,
                hits: hits.pop().unwrap_or_default(),
                millis,
            };
            self.found.set(Some(found));
            Ok::<(), Option<Problem>>(())
        };
        if method == SearchMethod::Lexical {
            return ask(method, &[], false).await;
        }
        if !edge.engine.is_ready() && collection.has_texts() {
            ask(SearchMethod::Lexical, &[], true).await?;
        }
        let vectors = self.embed(&edge, &collection, &queries, abort).await?;
        ask(method, &vectors, false).await?;
        self.fetch_texts(open, abort).await
    }

    /// The passages of a dataset, loaded once.
    async fn loaded(self, open: &Open, abort: &Abort) -> Result<Rc<Collection>, Option<Problem>> {
        if let Some(kept) = self.collection.get_value() {
            return Ok(kept.collection);
        }
        let set = set_of(open).ok_or_else(no_vectors)?;
        let progress = self.show(self.work);
        self.work.set(going("loading histories"));
        let dataset = Rc::clone(&open.dataset);
        let collection = Collection::open(dataset, set, &progress, abort).await;
        let collection = Rc::new(collection.map_err(said)?);
        self.rows.set(Some(collection.rows()));
        self.collection.set_value(Some(Kept {
            dataset: open.dataset.manifest_sha256.clone(),
            collection: Rc::clone(&collection),
        }));
        self.work.set(going("searching"));
        Ok(collection)
    }

    /// Vectors of queries, with the model that made those of the dataset.
    async fn embed(
        self,
        edge: &Edge,
        collection: &Collection,
        texts: &[String],
        abort: &Abort,
    ) -> Result<Vec<Vec<f32>>, Option<Problem>> {
        let engine = &edge.engine;
        let failed = |error: crate::browser::engine::EngineError| match error {
            crate::browser::engine::EngineError::Cancelled => None,
            error => Some(Problem::new(&error, error.hint())),
        };
        if !engine.is_ready() {
            self.model.set(going("loading the embedding model"));
        }
        let model = engine.ensure_model(&self.show(self.model), abort).await;
        self.model.set(Work::Nothing);
        let model = model.map_err(failed)?;
        let set = collection.set();
        if model.sha256 != set.model_sha256 {
            return Err(Some(Problem::new(
                format!(
                    "This dataset ships vectors of {}, and the model in use is {}",
                    set.model, model.name
                ),
                Some("Choose that model in Settings, or search by words."),
            )));
        }
        engine.embed(texts, abort).await.map_err(failed)
    }

    async fn built(self, lab: Lab, open: &Open, abort: &Abort) -> Result<Graph, Option<Problem>> {
        let edge = lab.edge.get_untracked().ok_or(None)?;
        let collection = self.loaded(open, abort).await?;
        self.work.set(Work::Nothing);
        let params = HnswParams::default();
        let progress = self.show(self.building);
        let built = collection.build_graph(params, &progress, abort).await;
        let millis = built.map_err(said)?;
        self.building.set(going("measuring its recall"));
        let index = &open.dataset.index;
        let every = index.len().div_ceil(SAMPLE).max(1);
        let tasks = index.iter().step_by(every);
        let queries: Vec<String> = tasks.map(|entry| entry.instruction.clone()).collect();
        let vectors = self.embed(&edge, &collection, &queries, abort).await?;
        let ask = async |method| {
            let wanted = Wanted {
                queries: &queries,
                vectors: &vectors,
                top_k: TOP_K,
                method,
            };
            collection.search(wanted, abort).await.map_err(said)
        };
        let (truth, exact) = ask(SearchMethod::Exact).await?;
        let (found, graph) = ask(SearchMethod::Hnsw).await?;
        let per_query = queries.len().max(1) as f64;
        Ok(Graph {
            params,
            seconds: millis / 1000.0,
            recall: recall(&places(&truth), &places(&found)),
            sample: queries.len(),
            millis: (exact / per_query, graph / per_query),
        })
    }

    /// Texts of the hits of a dataset whose texts are not loaded as a whole.
    async fn fetch_texts(self, open: &Open, abort: &Abort) -> Result<(), Option<Problem>> {
        let bare = |hits: &[CollectionHit]| {
            let bare = hits.iter().find(|hit| hit.passage.is_none());
            bare.map(|hit| hit.part.clone())
        };
        loop {
            let next = self
                .found
                .with_untracked(|found| bare(&found.as_ref()?.hits));
            let Some(part) = next else {
                return Ok(());
            };
            let shard = open.dataset.shard(&part, &fetch::silent(), abort).await;
            let shard = shard.map_err(|error| said(error.into()))?;
            self.found.update(|found| {
                let hits = found.iter_mut().flat_map(|found| &mut found.hits);
                for hit in hits.filter(|hit| hit.part == part) {
                    hit.passage = Some(hit.span.passage(&shard.history.sessions));
                }
            });
        }
    }

    /// Shows progress in a signal.
    fn show(self, signal: RwSignal<Work>) -> OnEngineProgress {
        Rc::new(move |progress| signal.set(Work::Going(progress)))
    }
}

/// Where hits lie, whatever their scores.
fn places(lists: &[Vec<CollectionHit>]) -> Vec<Vec<(String, u32, u32)>> {
    let place = |hit: &CollectionHit| (hit.part.clone(), hit.span.session, hit.span.start);
    let places = lists.iter();
    places
        .map(|list| list.iter().map(place).collect())
        .collect()
}

/// The vectors that the dataset ships; the first set, where there are several.
fn set_of(open: &Open) -> Option<EmbeddingSet> {
    open.dataset.manifest.embeddings.first().cloned()
}

fn no_vectors() -> Option<Problem> {
    Some(Problem::new(
        "This dataset ships no vectors, so its histories cannot be searched as one",
        Some("Add them with `lab dataset embed`, or open IBA-Mini, which has them."),
    ))
}

fn said(error: CollectionError) -> Option<Problem> {
    (!error.is_cancelled()).then(|| Problem::new(&error, error.hint()))
}

fn going(what: &str) -> Work {
    Work::Going(EngineProgress {
        what: what.to_owned(),
        done: 0,
        total: None,
    })
}
