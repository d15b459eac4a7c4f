//! Approximate search over many vectors: the HNSW graph of instant-distance. It pays for whole
//! benchmarks, not for one persona: building takes minutes for two hundred thousand rows, cannot be
//! interrupted, and so belongs in a worker of its own that can be ended.

use super::dot::dot_i8;
use super::{HnswParams, Index, Rows, best_first};
use crate::embed::vectors::quantise;
use instant_distance::{Builder, HnswMap, Point, Search};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How often the progress of a build is told.
const TOLD: usize = 250;

/// An HNSW graph over quantised rows. It walks by the inner products of bytes; what it finds is
/// scored in floats, as [`super::Exact`] does it.
pub struct Hnsw {
    rows: Arc<Rows>,
    map: HnswMap<Place, u32>,
    /// Working memory of the search, which is as long as the rows are many.
    search: RefCell<Search>,
}

impl Hnsw {
    /// Builds the graph. `step(done, total)` is called now and then while rows are inserted, from any
    /// thread.
    pub fn build(
        rows: Arc<Rows>,
        params: HnswParams,
        step: impl Fn(usize, usize) + Send + Sync + 'static,
    ) -> Self {
        let all = Arc::new(Site {
            watch: Some(Watch::new(rows.len(), Box::new(step))),
            rows: Arc::clone(&rows),
        });
        let numbers: Vec<u32> = (0..rows.len() as u32).collect();
        let place = |at: &u32| Place {
            site: Arc::clone(&all),
            at: *at,
        };
        let places = numbers.iter().map(place).collect();
        let builder = Builder::default()
            .ef_construction(params.ef_construction)
            .ef_search(params.ef_search)
            .seed(params.seed);
        Self {
            map: builder.build(places, numbers),
            rows,
            search: RefCell::default(),
        }
    }
}

impl Index for Hnsw {
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        let mut bytes = Vec::with_capacity(query.len());
        let scale = quantise(query, &mut bytes);
        let query_place = Place {
            site: Arc::new(Site {
                rows: Arc::new(Rows::new(query.len(), vec![scale], bytes)),
                watch: None,
            }),
            at: 0,
        };
        let mut search = self.search.borrow_mut();
        let found = self.map.search(&query_place, &mut search);
        let mut buffer = Vec::with_capacity(query.len());
        let hits = found.map(|item| {
            let row = *item.value;
            (row, self.rows.score(row as usize, query, &mut buffer))
        });
        best_first(hits.collect(), k)
    }
}

/// A row by its number, so that the graph holds no second copy of it.
#[derive(Clone)]
struct Place {
    site: Arc<Site>,
    at: u32,
}

struct Site {
    rows: Arc<Rows>,
    /// None for a query.
    watch: Option<Watch>,
}

impl Point for Place {
    fn distance(&self, other: &Self) -> f32 {
        let (a, b) = (self.at as usize, other.at as usize);
        let site = &*self.site;
        if let Some(watch) = &site.watch {
            watch.measured_from(a);
        }
        let (rows, others) = (&site.rows, &other.site.rows);
        1.0 - dot_i8(rows.row(a), others.row(b)) as f32 * rows.scale(a) * others.scale(b)
    }
}

/// Counts insertions, of which instant-distance tells nothing: it measures from a row to others for
/// the first time when that row is inserted.
struct Watch {
    seen: Vec<AtomicBool>,
    done: AtomicUsize,
    every: usize,
    step: Box<dyn Fn(usize, usize) + Send + Sync>,
}

impl Watch {
    fn new(rows: usize, step: Box<dyn Fn(usize, usize) + Send + Sync>) -> Self {
        Self {
            seen: (0..rows).map(|_| AtomicBool::new(false)).collect(),
            done: AtomicUsize::new(0),
            every: (rows / TOLD).max(1),
            step,
        }
    }

    #[inline]
    fn measured_from(&self, row: usize) {
        if !self.seen[row].load(Ordering::Relaxed) {
            self.first(row);
        }
    }

    #[cold]
    fn first(&self, row: usize) {
        if self.seen[row].swap(true, Ordering::Relaxed) {
            return;
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(self.every) {
            (self.step)(done, self.seen.len());
        }
    }
}
