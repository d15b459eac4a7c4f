//! The passages of many histories, searched as one: exactly, by a graph, or by words.

use super::library::sentence;
use super::protocol::{Answer, CollectionHit, SearchMethod};
use crate::bench::visible::Session;
use crate::embed::{ChunkSpan, Passage, VectorFile, passages};
use crate::search::lexical::fuse;
use crate::search::{Exact, Graph, Hnsw, HnswParams, Index, Lexical, Rows};
use std::mem::take;
use std::sync::Arc;

/// Hits of each scorer that are fused, at least.
const FUSED_DEPTH: usize = 100;

/// Histories that came, and the indexes over them.
#[derive(Default)]
pub(super) struct Collection {
    /// Name of each history, and its first row.
    parts: Vec<(String, usize)>,
    spans: Vec<ChunkSpan>,
    /// One for each row, or none at all.
    passages: Vec<Passage>,
    growing: VectorFile,
    /// Made of what has grown as soon as somebody searches.
    exact: Option<Exact>,
    graph: Option<Hnsw>,
    lexical: Option<Lexical>,
}

/// What to look for.
pub(super) struct CollectionSearch {
    pub queries: Vec<String>,
    pub vectors: Vec<Vec<f32>>,
    pub top_k: usize,
    pub method: SearchMethod,
}

impl Collection {
    /// Adds a history and says how many rows there are. Its sessions may stay away; then no history
    /// of the collection has texts. Or only their words are kept.
    pub(super) fn add(
        &mut self,
        part: &str,
        (sessions, words_only): (&[Session], bool),
        file: &[u8],
    ) -> Result<u32, String> {
        if self.exact.is_some() {
            return Err(format!(
                "'{part}' came when the collection had been searched already: begin another one"
            ));
        }
        let mut file = VectorFile::decode(file).map_err(sentence)?;
        if !self.spans.is_empty() && file.dim != self.growing.dim {
            return Err(format!(
                "the vectors of '{part}' have {} components and those before {}: all have to be of one model",
                file.dim, self.growing.dim
            ));
        }
        if !sessions.is_empty() {
            let found = passages(sessions, &file.spans).map_err(sentence)?;
            match words_only {
                true => {
                    let lexical = self.lexical.get_or_insert_default();
                    found.iter().for_each(|passage| lexical.add(&passage.text));
                }
                false => self.passages.extend(found),
            }
        }
        self.parts.push((part.to_owned(), self.spans.len()));
        self.growing.dim = file.dim;
        self.growing.scales.append(&mut file.scales);
        self.growing.rows.append(&mut file.rows);
        self.spans.append(&mut file.spans);
        Ok(self.spans.len() as u32)
    }

    /// Builds the graph over all rows.
    pub(super) fn build_graph(
        &mut self,
        params: HnswParams,
        step: impl Fn(usize, usize) + Send + Sync + 'static,
    ) {
        let rows = Arc::clone(self.exact().rows());
        self.graph = Some(Hnsw::build(rows, params, step));
    }

    /// Takes a graph that was built before over rows of that name.
    pub(super) fn load_graph(
        &mut self,
        source: (&[u8], &str),
        ef_search: usize,
    ) -> Result<(), String> {
        let rows = Arc::clone(self.exact().rows());
        let graph = Hnsw::load(rows, source, ef_search).map_err(|error| error.to_string())?;
        self.graph = Some(graph);
        Ok(())
    }

    /// What there is now of the graph.
    pub(super) fn graph_built(&self, millis: f64) -> Answer {
        let graph = self.graph.as_ref().map(Hnsw::graph);
        Answer::GraphBuilt {
            rows: graph.map_or(0, Graph::len) as u32,
            params: graph.map(|graph| graph.params).unwrap_or_default(),
            millis,
        }
    }

    /// One list a query, best first.
    pub(super) fn search(
        &mut self,
        wanted: &CollectionSearch,
    ) -> Result<Vec<Vec<CollectionHit>>, String> {
        let CollectionSearch {
            queries,
            vectors,
            top_k,
            method,
        } = wanted;
        let dim = self.exact().rows().dim();
        if let Some(other) = vectors.iter().find(|vector| vector.len() != dim) {
            return Err(format!(
                "the vectors of this collection have {dim} components and the query's {}: load the model that made them",
                other.len()
            ));
        }
        let lists: Vec<Vec<(u32, f32)>> = match method {
            SearchMethod::Exact => self.nearest(vectors, *top_k),
            SearchMethod::Hnsw => {
                let graph = self.graph.as_ref();
                let graph = graph.ok_or("the graph of this collection is not built yet")?;
                let lists = vectors.iter().map(|vector| graph.search(vector, *top_k));
                lists.collect()
            }
            SearchMethod::Lexical => self.by_words(queries, *top_k)?,
            SearchMethod::Fused => {
                let deep = FUSED_DEPTH.max(*top_k);
                let near = self.nearest(vectors, deep);
                let same = self.by_words(queries, deep)?;
                let pairs = near.into_iter().zip(same);
                pairs.map(|(a, b)| fuse(&[a, b], *top_k)).collect()
            }
        };
        let lists = lists.into_iter();
        let hits = lists.map(|list| list.into_iter().map(|hit| self.hit(hit)).collect());
        Ok(hits.collect())
    }

    fn nearest(&mut self, vectors: &[Vec<f32>], k: usize) -> Vec<Vec<(u32, f32)>> {
        let exact = self.exact();
        vectors.iter().map(|v| exact.search(v, k)).collect()
    }

    fn by_words(&mut self, queries: &[String], k: usize) -> Result<Vec<Vec<(u32, f32)>>, String> {
        let texts = self.passages.iter().map(|passage| passage.text.as_str());
        let lexical = self.lexical.get_or_insert_with(|| Lexical::new(texts));
        if lexical.len() != self.spans.len() {
            return Err(
                "this collection has vectors only, so words cannot be searched in it".to_owned(),
            );
        }
        Ok(queries.iter().map(|q| lexical.search(q, k)).collect())
    }

    fn exact(&mut self) -> &Exact {
        let Self { exact, growing, .. } = self;
        exact.get_or_insert_with(|| {
            let (scales, rows) = (take(&mut growing.scales), take(&mut growing.rows));
            Exact::over(Arc::new(Rows::new(growing.dim as usize, scales, rows)))
        })
    }

    fn hit(&self, (row, score): (u32, f32)) -> CollectionHit {
        let row = row as usize;
        let after = self.parts.partition_point(|(_, first)| *first <= row);
        CollectionHit {
            part: self.parts[after - 1].0.clone(),
            span: self.spans[row].clone(),
            passage: self.passages.get(row).cloned(),
            score,
        }
    }
}
