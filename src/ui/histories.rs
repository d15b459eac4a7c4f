//! All histories of a dataset, searched as one: owned by the root, so that a graph that took minutes
//! to build is still there after a look at a session.

use super::data::Open;
use super::parts::Problem;
use super::sources;
use super::state::{Edge, Lab};
use crate::bench::manifest::EmbeddingSet;
use crate::browser::abort::Abort;
use crate::browser::collection::{Collection, CollectionError, Linked, Maker, Source, Wanted};
use crate::browser::engine::{EngineProgress, OnEngineProgress};
use crate::browser::fetch;
use crate::browser::transport::Heard;
use crate::embed::registry::{KNOWN, Known};
use crate::search::{HnswParams, recall};
use crate::settings::retriever::ModelChoice;
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
    pub cut: Cut,
}

/// What is in a vector only in part, because it is longer than the model reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cut {
    /// Passages, as far as that is known.
    pub passages: u32,
    pub query: bool,
}

/// A finished graph, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub linked: Linked,
    /// Share of the ten nearest passages that it finds, against the exact search.
    pub recall: f64,
    /// Tasks of the dataset that were asked.
    pub sample: usize,
    /// Milliseconds of one exact search, and of one by the graph.
    pub millis: (f64, f64),
}

/// Passages of the chosen model have no vectors yet: what can be done about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The chosen model.
    pub model: String,
    /// Its vectors come from an endpoint, where they may cost something.
    pub paid: bool,
    /// The models whose vectors the dataset ships.
    pub ships: Vec<String>,
    /// The shipped model can search them.
    pub other: bool,
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
    /// Something to decide before meaning can be compared.
    pub offer: RwSignal<Option<Offer>>,
    /// The model that searches, by its name.
    pub model_name: RwSignal<String>,
    /// Search by the shipped model here, instead of the chosen one.
    by_shipped: StoredValue<bool>,
    /// Whose vectors may be made, by [`sources::chosen`].
    may_make: StoredValue<Option<String>>,
    /// The choices under which the collection was opened.
    chosen: StoredValue<String>,
    collection: StoredValue<Option<Kept>, LocalStorage>,
    /// Of the search and of the building.
    aborts: StoredValue<[Abort; 2], LocalStorage>,
    /// Number of the last search; an earlier one has nothing to say any more.
    turn: StoredValue<u32>,
}

/// A collection, the dataset it is of and the vectors it has.
#[derive(Clone)]
struct Kept {
    dataset: String,
    identity: String,
    collection: Rc<Collection>,
}

/// What can be searched now.
struct Loaded {
    collection: Rc<Collection>,
    /// Makes the queries' vectors, with the key and the address of today: the collection may be of
    /// an earlier search.
    maker: Maker,
    /// Only words: there are no vectors of the chosen model.
    words_only: bool,
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
            offer: RwSignal::default(),
            model_name: RwSignal::default(),
            by_shipped: StoredValue::default(),
            may_make: StoredValue::default(),
            chosen: StoredValue::default(),
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
            if matches!(searched, Err(Some(_))) {
                // Hits of another query would pass for those of this one.
                let is_other = |found: &Found| found.query != query;
                if self
                    .found
                    .with_untracked(|found| found.as_ref().is_some_and(is_other))
                {
                    self.found.set(None);
                }
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

    /// Stops what is being loaded, made or searched.
    pub fn cancel(self) {
        self.may_make.set_value(None);
        self.aborts.with_value(|aborts| aborts[0].abort());
    }

    /// Whether a search ended because a later one goes on with its work.
    fn is_overtaken(self, error: &CollectionError) -> bool {
        error.is_cancelled() && self.may_make.with_value(Option::is_some)
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

    /// Searches by the shipped model here, until another one is chosen in Settings.
    pub fn take_shipped(self) {
        self.by_shipped.set_value(true);
    }

    /// Searches by the retriever that was chosen in Settings just now.
    pub fn take_chosen(self) {
        self.by_shipped.set_value(false);
    }

    /// Shows a wait of the embedding endpoint.
    pub fn hear(self, heard: &Heard<'_>) {
        if let Heard::Again {
            reason,
            wait_seconds,
        } = heard
        {
            let seconds = wait_seconds.ceil();
            self.work
                .set(going(&format!("waiting {seconds} s, since {reason}")));
        }
    }

    /// Lets the vectors of the chosen model be made.
    pub fn make(self, lab: Lab, open: Open, query: String, method: SearchMethod) {
        let allowed = sources::chosen(lab, self.by_shipped.get_value());
        self.may_make.set_value(Some(allowed));
        self.search(lab, open, query, method);
    }

    /// Forgets passages of another dataset, or with another model's vectors.
    pub fn belong_to(self, lab: Lab, open: &Open) {
        let dataset = &open.dataset.manifest_sha256;
        let chosen = sources::chosen(lab, self.by_shipped.get_value());
        let before = self.chosen.get_value();
        self.chosen.set_value(chosen.clone());
        let other = self.collection.with_value(|kept| {
            let kept = kept.as_ref();
            kept.is_some_and(|kept| kept.dataset != *dataset)
        });
        if other || before != chosen {
            self.cancel();
            self.cancel_building();
            self.collection.set_value(None);
            self.found.set(None);
            self.graph.set(None);
            self.rows.set(None);
            self.offer.set(None);
            for work in [self.work, self.model, self.building] {
                work.set(Work::Nothing);
            }
        }
    }

    /// Size in bytes of the graph that the dataset ships for the vectors that are searched.
    pub fn shipped_graph(self, lab: Lab, open: &Open) -> Option<u64> {
        // They change with the passages.
        self.rows.track();
        if self.offer.with(Option::is_some) {
            return None;
        }
        let loaded = self
            .collection
            .with_value(|kept| kept.as_ref().map(|kept| kept.identity.clone()));
        let model = lab
            .settings
            .with(|settings| settings.retriever.model.clone());
        let shipped = model == ModelChoice::Shipped || self.by_shipped.get_value();
        let searched = |set: &&EmbeddingSet| match &loaded {
            Some(identity) => set.vectors_sha256() == *identity,
            // Before the first search nothing is known of the visitor's own models.
            None => shipped && Known::named(&set.model) == Some(&KNOWN[0]),
        };
        let set = open.dataset.manifest.embeddings.iter().find(searched)?;
        set.graph.as_ref().map(|file| file.bytes)
    }

    async fn find(
        self,
        lab: Lab,
        (open, query, method): (&Open, &str, SearchMethod),
        abort: &Abort,
    ) -> Result<(), Option<Problem>> {
        let Loaded {
            collection,
            maker,
            words_only,
        } = self.loaded((lab, open), method, abort).await?;
        let by_graph = method == SearchMethod::Hnsw && collection.has_graph();
        let method = match method {
            SearchMethod::Hnsw if !by_graph => SearchMethod::Exact,
            method => method,
        };
        let queries = [query.to_owned()];
        let ask = async |method, (vectors, cut): (&[Vec<f32>], u32), meanwhile| {
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
                cut: match method {
                    SearchMethod::Lexical => Cut::default(),
                    _ => Cut {
                        passages: collection.cut(),
                        query: cut > 0,
                    },
                },
            };
            self.found.set(Some(found));
            self.fetch_texts(open, abort).await
        };
        if method == SearchMethod::Lexical {
            return ask(method, (&[], 0), false).await;
        }
        if words_only || (!maker.is_ready() && collection.has_words()) {
            ask(SearchMethod::Lexical, (&[], 0), true).await?;
        }
        if words_only {
            return Ok(());
        }
        let (vectors, cut) = self.embed(&maker, &queries, abort).await?;
        ask(method, (&vectors, cut), false).await
    }

    /// The passages of a dataset, loaded once. Where there are no vectors of the chosen model, the
    /// visitor is asked, and words can be searched meanwhile.
    async fn loaded(
        self,
        (lab, open): (Lab, &Open),
        method: SearchMethod,
        abort: &Abort,
    ) -> Result<Loaded, Option<Problem>> {
        let edge = lab.edge.get_untracked().ok_or(None)?;
        if method == SearchMethod::Lexical {
            self.offer.set(None);
            let collection = self.worded(&edge, open, abort).await?;
            return Ok(Loaded {
                maker: collection.source().maker.clone(),
                collection,
                words_only: true,
            });
        }
        let by_shipped = self.by_shipped.get_value();
        let source = sources::source(lab, &edge, open, by_shipped, abort).await?;
        self.model_name.set(source.name.clone());
        let words = method == SearchMethod::Fused;
        if let Some(collection) = self.known(&source.identity, words) {
            return Ok(Loaded {
                collection,
                maker: source.maker,
                words_only: false,
            });
        }
        let chosen = sources::chosen(lab, by_shipped);
        let may_make = self.may_make.get_value().as_ref() == Some(&chosen);
        self.offer.set(None);
        let how = (words, may_make);
        let (collection, words_only) = match self.opened(open, source.clone(), how, abort).await {
            Err(CollectionError::NotMade) => {
                let offer = sources::offer(&source, open, &edge, abort).await;
                self.offer.set(Some(offer));
                (self.worded(&edge, open, abort).await?, true)
            }
            // What was not finished can be gone on with.
            Err(error) if may_make && !self.is_overtaken(&error) => {
                self.may_make.set_value(None);
                let offer = sources::offer(&source, open, &edge, &Abort::new()).await;
                self.offer.set(Some(offer));
                return Err(said(error));
            }
            opened => (opened.map_err(said)?, false),
        };
        Ok(Loaded {
            collection,
            maker: source.maker,
            words_only,
        })
    }

    /// The passages loaded before, if they are those and have words where words are needed.
    fn known(self, identity: &str, words: bool) -> Option<Rc<Collection>> {
        self.collection.with_value(|kept| {
            let kept = kept.as_ref().filter(|kept| kept.identity == identity)?;
            let fits = !words || kept.collection.has_words();
            fits.then(|| Rc::clone(&kept.collection))
        })
    }

    /// Passages whose words can be searched: those loaded before, or what the dataset has.
    async fn worded(
        self,
        edge: &Edge,
        open: &Open,
        abort: &Abort,
    ) -> Result<Rc<Collection>, Option<Problem>> {
        let loaded = self.collection.with_value(Clone::clone);
        let source = match loaded {
            Some(kept) if kept.collection.has_words() => {
                self.work.set(Work::Nothing);
                return Ok(kept.collection);
            }
            Some(kept) => kept.collection.source().clone(),
            None => sources::stand_in(edge, open),
        };
        let opened = self.opened(open, source, (true, false), abort).await;
        opened.map_err(said)
    }

    /// Loads passages, with words where they are wanted, and makes their vectors where that is
    /// allowed.
    async fn opened(
        self,
        open: &Open,
        source: Source,
        how: (bool, bool),
        abort: &Abort,
    ) -> Result<Rc<Collection>, CollectionError> {
        let progress = self.show(self.work);
        self.work.set(going("loading histories"));
        let dataset = Rc::clone(&open.dataset);
        let collection = Collection::open(dataset, source, how, &progress, abort).await?;
        let collection = Rc::new(collection);
        let identity = collection.source().identity.clone();
        match self.known(&identity, false) {
            Some(before) => collection.take_graph(&before),
            None => self.graph.set(None),
        }
        self.rows.set(Some(collection.rows()));
        self.collection.set_value(Some(Kept {
            dataset: open.dataset.manifest_sha256.clone(),
            identity,
            collection: Rc::clone(&collection),
        }));
        self.work.set(going("searching"));
        Ok(collection)
    }

    /// Vectors of queries, with the model that made those of the dataset, and how many were cut.
    async fn embed(
        self,
        maker: &Maker,
        texts: &[String],
        abort: &Abort,
    ) -> Result<(Vec<Vec<f32>>, u32), Option<Problem>> {
        if !maker.is_ready() {
            self.model.set(going("loading the embedding model"));
        }
        let made = maker.queries(texts, &self.show(self.model), abort).await;
        self.model.set(Work::Nothing);
        made.map_err(said)
    }

    async fn built(self, lab: Lab, open: &Open, abort: &Abort) -> Result<Graph, Option<Problem>> {
        let Loaded {
            collection,
            maker,
            words_only,
        } = self.loaded((lab, open), SearchMethod::Hnsw, abort).await?;
        self.work.set(Work::Nothing);
        if words_only {
            let text = format!(
                "There is nothing to build a graph over: the passages have no vectors of {}.",
                self.model_name.get_untracked()
            );
            let hint = "Embed all passages with it first, or search by the shipped model.";
            return Err(Some(Problem::new(text, Some(hint))));
        }
        let progress = self.show(self.building);
        let params = HnswParams::for_rows(collection.rows() as usize);
        let linked = collection.link(params, &progress, abort);
        let linked = linked.await.map_err(said)?;
        self.building.set(going("measuring its recall"));
        let index = &open.dataset.index;
        let every = index.len().div_ceil(SAMPLE).max(1);
        let tasks = index.iter().step_by(every);
        let queries: Vec<String> = tasks.map(|entry| entry.instruction.clone()).collect();
        let (vectors, _) = self.embed(&maker, &queries, abort).await?;
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
            linked,
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

pub(super) fn said(error: CollectionError) -> Option<Problem> {
    (!error.is_cancelled()).then(|| Problem::new(&error, error.hint()))
}

fn going(what: &str) -> Work {
    Work::Going(EngineProgress {
        what: what.to_owned(),
        done: 0,
        total: None,
    })
}
