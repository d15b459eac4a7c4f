//! Approximate search over many vectors: the HNSW graph of instant-distance, walked by rows of bytes.
//! It pays for whole benchmarks, not for one persona: building takes minutes for two hundred thousand
//! rows, cannot be interrupted, and so belongs in a worker of its own that can be ended. A graph that
//! was built once can be kept as a file ([`Graph`]).

use super::dot::{dot_i8, four_dots_wide};
use super::exact::Query;
use super::graph::{Graph, GraphError, lead_back};
use super::sketch::Sketches;
use super::walk::{Near, Walk};
use super::{HnswParams, Index, Rows, best_first};
use instant_distance::{Builder, Point};
use serde::{Deserialize, Serialize, Serializer};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How often the progress of a build is told.
const TOLD: usize = 250;

/// An HNSW graph over quantised rows. It walks by rough scores from one bit a component; what it finds
/// is compared by bytes, and the best of it scored in floats, as [`super::Exact`] does it.
///
/// Of the layers that instant-distance builds, the walk takes the lowest; the upper ones only serve
/// to find a place to begin at, for which as many of their rows as the root of all are compared at
/// once.
pub struct Hnsw {
    rows: Arc<Rows>,
    sketches: Sketches,
    graph: Graph,
    walk: RefCell<Walk>,
}

impl Hnsw {
    /// Builds the graph. `step(done, total)` is called now and then while rows are inserted, from any
    /// thread.
    pub fn build(
        rows: Arc<Rows>,
        params: HnswParams,
        step: impl Fn(usize, usize) + Send + Sync + 'static,
    ) -> Self {
        let graph = link(&rows, params, Box::new(step));
        Self::over(rows, graph)
    }

    /// Uses a graph that was kept. `vectors` names the rows, as [`Graph::encode`] has it.
    pub fn load(
        rows: Arc<Rows>,
        (file, vectors): (&[u8], &str),
        ef_search: usize,
    ) -> Result<Self, GraphError> {
        let mut graph = Graph::decode(file, rows.len(), vectors)?;
        graph.params.ef_search = ef_search;
        Ok(Self::over(rows, graph))
    }

    fn over(rows: Arc<Rows>, graph: Graph) -> Self {
        Self {
            sketches: Sketches::new(&rows),
            rows,
            graph,
            walk: RefCell::default(),
        }
    }

    /// The graph, to be kept.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Scores by bytes instead of rough ones: the inner product of bytes times the row's scale.
    fn compare(&self, near: &mut [Near], query: &[i16]) {
        for group in near.chunks_mut(4) {
            // A short group is filled up with its first row, which then counts once.
            let ids: [u32; 4] = std::array::from_fn(|n| group.get(n).unwrap_or(&group[0]).row);
            let dots = four_dots_wide(ids.map(|row| self.rows.row(row as usize)), query);
            for (near, dot) in group.iter_mut().zip(dots) {
                near.score = dot as f32 * self.rows.scale(near.row as usize);
            }
        }
    }
}

impl Index for Hnsw {
    fn search(&self, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        if k == 0 || self.rows.is_empty() {
            return Vec::new();
        }
        let quantised = Query::new(query);
        let source = (&self.graph, &self.sketches);
        let ef = self.graph.params.ef_search.max(k);
        let rough = self.sketches.query(query);
        let mut walk = self.walk.borrow_mut();
        let near = walk.nearest(source, &rough, ef);
        self.compare(near, &quantised.wide);
        near.sort_unstable_by(|a, b| b.cmp(a));
        // What can be among the best k by its float score.
        let last = near.get(k - 1).map_or(f32::NEG_INFINITY, |near| near.score);
        let floor = last * quantised.scale - 2.0 * quantised.slack(self.rows.longest());
        let mut buffer = Vec::with_capacity(query.len());
        let hits = near
            .iter()
            .take_while(|near| near.score * quantised.scale >= floor)
            .map(|near| {
                let score = self.rows.score(near.row as usize, query, &mut buffer);
                (near.row, score)
            });
        best_first(hits.collect(), k)
    }
}

/// The lowest layer as instant-distance writes it out. Its points are in the order of insertion.
#[derive(Deserialize)]
struct Layers {
    points: Vec<u32>,
    /// Places in `points`; the largest number stands for none.
    zero: Vec<Vec<u32>>,
}

fn link(rows: &Arc<Rows>, params: HnswParams, step: Box<Step>) -> Graph {
    let site = Arc::new(Site {
        watch: Watch::new(rows.len(), step),
        rows: Arc::clone(rows),
    });
    let place = |at| Place {
        site: Arc::clone(&site),
        at,
    };
    let (hnsw, _) = Builder::default()
        .ef_construction(params.ef_construction)
        .seed(params.seed)
        .build_hnsw((0..rows.len() as u32).map(place).collect());
    let written = serde_json::to_vec(&hnsw).expect("a graph is numbers only");
    drop(hnsw);
    let Layers { points, zero } =
        serde_json::from_slice(&written).expect("instant-distance writes points and layers");
    drop(written);
    // From the order of insertion to that of the rows.
    let mut places = vec![0; points.len()];
    for (place, row) in points.iter().enumerate() {
        places[*row as usize] = place;
    }
    let neighbours = places.iter().map(|place| {
        let places = zero[*place].iter();
        let rows = places.filter_map(|other| points.get(*other as usize));
        rows.copied().collect()
    });
    let mut neighbours: Vec<Vec<u32>> = neighbours.collect();
    lead_back(&mut neighbours);
    let entries = points.len().isqrt();
    Graph::new(params, points[..entries].to_vec(), neighbours)
}

/// A row by its number, so that building holds no second copy of it.
#[derive(Clone)]
struct Place {
    site: Arc<Site>,
    at: u32,
}

struct Site {
    rows: Arc<Rows>,
    watch: Watch,
}

impl Point for Place {
    fn distance(&self, other: &Self) -> f32 {
        let (a, b) = (self.at as usize, other.at as usize);
        let Site { rows, watch } = &*self.site;
        watch.measured_from(a);
        1.0 - dot_i8(rows.row(a), rows.row(b)) as f32 * rows.scale(a) * rows.scale(b)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(self.at)
    }
}

type Step = dyn Fn(usize, usize) + Send + Sync;

/// Counts insertions, of which instant-distance tells nothing: it measures from a row to others for
/// the first time when that row is inserted.
struct Watch {
    seen: Vec<AtomicBool>,
    done: AtomicUsize,
    every: usize,
    step: Box<Step>,
}

impl Watch {
    fn new(rows: usize, step: Box<Step>) -> Self {
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
