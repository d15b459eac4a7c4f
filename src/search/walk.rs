//! The walk along a graph: always on from the best row known, until none of them leads nearer.

use super::dot::four_dots_wide;
use super::graph::Graph;
use super::rows::Rows;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::hint::black_box;

/// Bytes that come from memory together.
const LINE: usize = 64;

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
    /// The best rows, the worst one on top.
    best: BinaryHeap<Reverse<Near>>,
}

impl Walk {
    /// The best `ef` rows that are found, best first. A score is the inner product of bytes times the
    /// row's scale.
    pub(super) fn nearest(
        &mut self,
        (graph, rows): (&Graph, &Rows),
        query: &[i16],
        ef: usize,
    ) -> Vec<Near> {
        self.seen.clear();
        self.seen.resize(graph.len().div_ceil(64), 0);
        self.open.clear();
        self.see(&graph.entries);
        self.compare(rows, query, ef);
        while let Some(next) = self.open.pop() {
            if self.best.len() >= ef && self.best.peek().is_some_and(|worst| next < worst.0) {
                break;
            }
            self.see(graph.neighbours(next.row as usize));
            self.compare(rows, query, ef);
        }
        let mut best: Vec<Near> = self.best.drain().map(|near| near.0).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        best
    }

    /// Notes those rows that were not seen before.
    #[inline]
    fn see(&mut self, rows: &[u32]) {
        for row in rows {
            let (word, bit) = (&mut self.seen[*row as usize / 64], 1 << (row % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.batch.push(*row);
            }
        }
    }

    /// Compares what was noted with the query, four rows at a time.
    fn compare(&mut self, rows: &Rows, query: &[i16], ef: usize) {
        // They lie far apart: asked for all at once, they come from memory together.
        let mut touched = 0i8;
        for row in &self.batch {
            let bytes = rows.row(*row as usize);
            for byte in bytes.iter().step_by(LINE) {
                touched ^= byte;
            }
        }
        black_box(touched);
        for group in self.batch.chunks(4) {
            // A short group is filled up with its first row, which then counts once.
            let ids: [u32; 4] = std::array::from_fn(|n| *group.get(n).unwrap_or(&group[0]));
            let dots = four_dots_wide(ids.map(|row| rows.row(row as usize)), query);
            for (row, dot) in group.iter().zip(dots) {
                let near = Near {
                    score: dot as f32 * rows.scale(*row as usize),
                    row: *row,
                };
                if self.best.len() >= ef {
                    if self.best.peek().is_none_or(|worst| near <= worst.0) {
                        continue;
                    }
                    self.best.pop();
                }
                self.best.push(Reverse(near));
                self.open.push(near);
            }
        }
        self.batch.clear();
    }
}
