//! The walk along a graph: always on from the best row known, until none of them leads nearer.

use super::graph::Graph;
use super::sketch::{Rough, Sketches};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hint::black_box;

/// A row and how near it is; the row number breaks ties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    pub score: f32,
    pub row: u32,
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| other.row.cmp(&self.row))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Working memory of walks, kept from one to the next.
#[derive(Default)]
pub(super) struct Walk {
    /// One bit a row.
    seen: Vec<u64>,
    /// Rows to be compared next.
    batch: Vec<u32>,
    /// Rows from which the walk may go on, the best one on top.
    open: BinaryHeap<Near>,
    best: Best,
}

/// The best rows so far, and some more: they are told apart only when there are twice as many.
#[derive(Default)]
struct Best {
    most: usize,
    rows: Vec<Near>,
    /// What a row needs to be among them; it only rises.
    floor: f32,
}

impl Walk {
    /// The best `ef` rows that are found, in no order, with what their sketches say of them.
    pub(super) fn nearest(
        &mut self,
        (graph, sketches): (&Graph, &Sketches),
        query: &Rough,
        ef: usize,
    ) -> &mut [Near] {
        self.seen.clear();
        self.seen.resize(graph.len().div_ceil(64), 0);
        self.open.clear();
        self.best.clear(ef);
        self.see(&graph.entries);
        self.compare(sketches, query);
        // That many rows are best, so no more of them can lead on.
        for _ in 0..ef {
            let Some(next) = self.open.pop() else {
                break;
            };
            self.see(graph.neighbours(next.row as usize));
            self.compare(sketches, query);
        }
        self.best.whole()
    }

    /// Notes those rows that were not seen before. Most were, in no order that a processor could
    /// guess, so nothing hangs on it but how many are kept.
    #[inline]
    fn see(&mut self, rows: &[u32]) {
        let Self { seen, batch, .. } = self;
        batch.resize(rows.len(), 0);
        let mut count = 0;
        for row in rows {
            let (word, bit) = (&mut seen[*row as usize / 64], row % 64);
            batch[count] = *row;
            count += (!*word >> bit & 1) as usize;
            *word |= 1 << bit;
        }
        batch.truncate(count);
    }

    /// Compares what was noted with the query.
    fn compare(&mut self, sketches: &Sketches, query: &Rough) {
        // They lie far apart: asked for all at once, they come from memory together.
        let touched = self.batch.iter().map(|row| sketches.touch(*row));
        black_box(touched.fold(0, |all, bits| all ^ bits));
        for row in &self.batch {
            let score = sketches.score(*row, query);
            if score >= self.best.floor {
                let near = Near { score, row: *row };
                self.best.add(near);
                self.open.push(near);
            }
        }
    }
}

impl Best {
    fn clear(&mut self, most: usize) {
        self.most = most;
        self.rows.clear();
        self.floor = f32::NEG_INFINITY;
    }

    fn add(&mut self, near: Near) {
        self.rows.push(near);
        if self.rows.len() == 2 * self.most {
            let worst = self.whole().last().map(|worst| worst.score);
            self.floor = worst.unwrap_or(self.floor);
        }
    }

    /// Drops what is not among the best; the last one left is the worst.
    fn whole(&mut self) -> &mut [Near] {
        if self.rows.len() > self.most {
            self.rows
                .select_nth_unstable_by(self.most - 1, |a, b| b.cmp(a));
            self.rows.truncate(self.most);
        }
        &mut self.rows
    }
}
