//! Products of 16-bit pairs, for every machine: a row's activations as 16-bit integers, weights
//! widened to 16 bits.

use super::gemm::{Grid, Source, TILE, eight};
use super::lanes::{F4, H8, I4};
use std::ops::Range;

/// Two rows of eight columns of a matrix: for each column a word of two 16-bit numbers.
pub(super) type Entry = [[i32; 4]; 2];

/// Activations as 16-bit integers with a scale for each row, in tiles of four rows: an entry holds
/// for each of the four a word of two neighbouring numbers.
#[derive(Debug, Default)]
pub(super) struct Rows {
    len: usize,
    /// Entries of a tile: half the width.
    pairs: usize,
    words: Vec<[i32; 4]>,
    scales: Vec<f32>,
}

/// Eight columns of a weight, widened.
#[derive(Debug, Default)]
#[cfg_attr(all(feature = "relaxed", target_arch = "wasm32"), allow(dead_code))]
pub(super) struct Panel {
    entries: Vec<Entry>,
}

#[cfg_attr(all(feature = "relaxed", target_arch = "wasm32"), allow(dead_code))]
impl Panel {
    /// Eight columns of `weights`, which has rows of `outputs` bytes.
    pub fn fill(&mut self, weights: &[u8], outputs: usize, column: usize) {
        self.entries
            .resize(weights.len() / outputs / 2, [[0; 4]; 2]);
        let rows = weights.chunks_exact(2 * outputs);
        for (entry, rows) in self.entries.iter_mut().zip(rows) {
            let upper = H8::load_bytes(eight(&rows[column..]));
            let lower = H8::load_bytes(eight(&rows[outputs + column..]));
            let [left, right] = upper.interleave(lower);
            left.store(&mut entry[0]);
            right.store(&mut entry[1]);
        }
    }
}

/// A tile of `rows` times a panel.
#[inline(always)]
#[cfg_attr(all(feature = "relaxed", target_arch = "wasm32"), allow(dead_code))]
pub(super) fn product(rows: &Rows, tile: usize, panel: &Panel) -> [[I4; 2]; TILE] {
    sums(rows.tile(tile), &panel.entries)
}

impl Rows {
    /// Quantises rows; the width is a multiple of four.
    pub fn fill(&mut self, source: Source, grid: Grid) {
        let tiles = source.len.div_ceil(TILE);
        self.len = source.len;
        self.pairs = source.width / 2;
        self.words.clear();
        self.words.resize(tiles * self.pairs, [0; 4]);
        self.scales.clear();
        self.scales.resize(tiles * TILE, 0.0);
        for row in 0..source.len {
            let values = source.row(row);
            let (factor, scale) = grid.of_row(values);
            self.scales[row] = scale;
            let tile = &mut self.words[row / TILE * self.pairs..][..self.pairs];
            let factor = F4::splat(factor);
            for (entries, block) in tile
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip(values.as_chunks().0)
            {
                let [low, high] = F4::load(block).mul(factor).round().pairs();
                entries[0][row % TILE] = low;
                entries[1][row % TILE] = high;
            }
        }
    }

    pub fn tiles(&self) -> usize {
        self.len.div_ceil(TILE)
    }

    pub fn tile(&self, tile: usize) -> &[[i32; 4]] {
        &self.words[tile * self.pairs..(tile + 1) * self.pairs]
    }

    /// The rows of a tile that exist.
    pub fn rows_of(&self, tile: usize) -> Range<usize> {
        tile * TILE..((tile + 1) * TILE).min(self.len)
    }

    pub fn scale(&self, row: usize) -> f32 {
        self.scales[row]
    }
}

/// A tile times columns.
#[inline(always)]
pub(super) fn sums(tile: &[[i32; 4]], panel: &[Entry]) -> [[I4; 2]; TILE] {
    let mut sums = [[I4::zero(); 2]; TILE];
    for (pairs, columns) in tile.iter().zip(panel) {
        let (left, right) = (H8::load(&columns[0]), H8::load(&columns[1]));
        for row in 0..TILE {
            let pair = H8::splat_pair(&pairs[row]);
            sums[row][0] = sums[row][0].add(pair.dot(left));
            sums[row][1] = sums[row][1].add(pair.dot(right));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_zeros_stay_zeros() {
        let mut rows = Rows::default();
        rows.fill(Source::whole(&[0.0; 16], 8), Grid::full(1000.0));
        assert_eq!(rows.scale(1), 0.0);
        assert!(rows.tile(0).iter().all(|words| *words == [0; 4]));
    }
}
