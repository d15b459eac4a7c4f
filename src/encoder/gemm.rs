//! Products of 16-bit activations and 8-bit weights, four rows by eight columns at a time.
//!
//! The one instruction that every WebAssembly engine turns into one of the machine is the product
//! of 16-bit pairs, so activations get as many of 16 bits as the sum over a row leaves room for:
//! finer than the usual eight, at no cost. Weights stay as the file stores them; eight columns at
//! a time are widened into a panel that all rows then share.

use super::lanes::{F4, H8, I4};
use std::ops::Range;

/// Rows of a tile.
pub(super) const TILE: usize = 4;
/// Columns of a panel.
pub(super) const PANEL: usize = 8;

/// Eight columns of a matrix, two rows an entry: for each column a word of two 16-bit numbers.
pub(super) type Panel = [[[i32; 4]; 2]];

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

/// Where `len` rows of `width` floats lie in a larger matrix.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub values: &'a [f32],
    /// From one row to the next.
    pub stride: usize,
    /// Of the first row.
    pub start: usize,
    pub width: usize,
    pub len: usize,
}

impl<'a> Source<'a> {
    /// All of a matrix with rows of `width`.
    pub fn whole(values: &'a [f32], width: usize) -> Self {
        Self {
            values,
            stride: width,
            start: 0,
            width,
            len: values.len() / width,
        }
    }

    pub fn row(&self, row: usize) -> &'a [f32] {
        let start = self.start + row * self.stride;
        &self.values[start..start + self.width]
    }
}

/// The largest activation so that no sum of `width` products with numbers up to `other`
/// overflows 32 bits.
pub(super) fn largest(width: usize, other: usize) -> f32 {
    let room = i32::MAX as usize / (width * other).max(1);
    room.min(i16::MAX as usize) as f32
}

/// The factor that makes the largest of `values` the integer `most`, and its inverse.
pub(super) fn scale_of(values: &[f32], most: f32) -> (f32, f32) {
    let mut top = F4::splat(0.0);
    for block in values.as_chunks::<4>().0 {
        top = top.max(F4::load(block).abs());
    }
    let top = top.largest();
    if top > 0.0 && top.is_finite() {
        (most / top, top / most)
    } else {
        (0.0, 0.0)
    }
}

impl Rows {
    /// Quantises rows; the width is a multiple of four.
    pub fn fill(&mut self, source: Source, most: f32) {
        let tiles = source.len.div_ceil(TILE);
        self.len = source.len;
        self.pairs = source.width / 2;
        self.words.clear();
        self.words.resize(tiles * self.pairs, [0; 4]);
        self.scales.clear();
        self.scales.resize(tiles * TILE, 0.0);
        for row in 0..source.len {
            let values = source.row(row);
            let (factor, scale) = scale_of(values, most);
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

/// A tile times a panel: the inner loop of everything.
#[inline(always)]
pub(super) fn product(tile: &[[i32; 4]], panel: &Panel) -> [[I4; 2]; TILE] {
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

/// Where the bytes of a weight are.
#[derive(Debug)]
pub(super) enum Bytes {
    /// As the model file stores them.
    File(Range<usize>),
    /// Made here, of a float weight.
    Own(Vec<u8>),
}

impl Bytes {
    pub fn of<'a>(&'a self, file: &'a [u8]) -> &'a [u8] {
        match self {
            Bytes::File(range) => &file[range.clone()],
            Bytes::Own(bytes) => bytes,
        }
    }
}

/// A linear layer: `inputs` rows of `outputs` bytes with one scale a column.
#[derive(Debug)]
pub(super) struct Linear {
    pub inputs: usize,
    pub outputs: usize,
    pub weights: Bytes,
    /// One for each output.
    pub scales: Vec<f32>,
    /// One for each output.
    pub bias: Vec<f32>,
}

impl Linear {
    /// The most an activation may be for this layer.
    pub fn most(&self) -> f32 {
        largest(self.inputs, 128)
    }

    /// All outputs of all rows: `put` gets the row, the first of eight columns, and their values.
    #[inline(always)]
    pub fn apply(
        &self,
        file: &[u8],
        rows: &Rows,
        panel: &mut Vec<[[i32; 4]; 2]>,
        mut put: impl FnMut(usize, usize, [F4; 2]),
    ) {
        let weights = self.weights.of(file);
        panel.resize(self.inputs / 2, [[0; 4]; 2]);
        for column in (0..self.outputs).step_by(PANEL) {
            unpack(weights, self.outputs, column, panel);
            let of_columns = |values: &[f32]| {
                let values = &values[column..column + PANEL];
                let halves = values.as_chunks().0;
                [F4::load(&halves[0]), F4::load(&halves[1])]
            };
            let (scales, bias) = (of_columns(&self.scales), of_columns(&self.bias));
            for tile in 0..rows.tiles() {
                let sums = product(rows.tile(tile), panel);
                for (row, sums) in rows.rows_of(tile).zip(sums) {
                    let scale = F4::splat(rows.scale(row));
                    let value = |n: usize| sums[n].float().mul_add(scale.mul(scales[n]), bias[n]);
                    put(row, column, [value(0), value(1)]);
                }
            }
        }
    }

    /// All outputs as a matrix.
    pub fn write(&self, file: &[u8], rows: &Rows, panel: &mut Vec<[[i32; 4]; 2]>, out: &mut [f32]) {
        let width = self.outputs;
        self.apply(file, rows, panel, |row, column, values| {
            store(&mut out[row * width + column..], values);
        });
    }

    /// All outputs through the Gaussian error linear unit, as a matrix.
    pub fn write_gelu(
        &self,
        file: &[u8],
        rows: &Rows,
        panel: &mut Vec<[[i32; 4]; 2]>,
        out: &mut [f32],
    ) {
        let width = self.outputs;
        self.apply(file, rows, panel, |row, column, [left, right]| {
            store(
                &mut out[row * width + column..],
                [left.gelu(), right.gelu()],
            );
        });
    }

    /// Adds all outputs to a matrix.
    pub fn add(&self, file: &[u8], rows: &Rows, panel: &mut Vec<[[i32; 4]; 2]>, out: &mut [f32]) {
        let width = self.outputs;
        self.apply(file, rows, panel, |row, column, [left, right]| {
            let out = &mut out[row * width + column..];
            let before = out.as_chunks().0;
            let (a, b) = (F4::load(&before[0]), F4::load(&before[1]));
            store(out, [left.add(a), right.add(b)]);
        });
    }
}

/// Writes eight values at the front of `out`.
#[inline(always)]
pub(super) fn store(out: &mut [f32], [left, right]: [F4; 2]) {
    let halves = out[..PANEL].as_chunks_mut().0;
    left.store(&mut halves[0]);
    right.store(&mut halves[1]);
}

/// Widens eight columns of `weights`, which has rows of `outputs` bytes.
fn unpack(weights: &[u8], outputs: usize, column: usize, panel: &mut Panel) {
    for (entry, rows) in panel.iter_mut().zip(weights.chunks_exact(2 * outputs)) {
        let upper = H8::load_bytes(eight(&rows[column..]));
        let lower = H8::load_bytes(eight(&rows[outputs + column..]));
        let [left, right] = upper.interleave(lower);
        left.store(&mut entry[0]);
        right.store(&mut entry[1]);
    }
}

fn eight(bytes: &[u8]) -> &[u8; 8] {
    bytes.first_chunk().expect("columns come in eights")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers come out exactly; all edges of tiles are met.
    #[test]
    fn products_of_whole_numbers() {
        for len in [1, 3, 4, 5, 9] {
            let (inputs, outputs) = (12, 16);
            let value = |row: usize, n: usize| ((row * 7 + n * 5) % 19) as f32 - 9.0;
            let weight = |n: usize, column: usize| ((n * 3 + column * 11) % 255) as i32 - 127;
            let weights: Vec<u8> = (0..inputs * outputs)
                .map(|at| weight(at / outputs, at % outputs) as i8 as u8)
                .collect();
            let linear = Linear {
                inputs,
                outputs,
                weights: Bytes::Own(weights),
                scales: (0..outputs).map(|c| (c % 3 + 1) as f32).collect(),
                bias: (0..outputs).map(|c| c as f32).collect(),
            };
            let values: Vec<f32> = (0..len * inputs)
                .map(|at| value(at / inputs, at % inputs))
                .collect();
            let mut rows = Rows::default();
            rows.fill(Source::whole(&values, inputs), linear.most());
            let mut out = vec![0.0; len * outputs];
            linear.write(&[], &rows, &mut Vec::new(), &mut out);
            for row in 0..len {
                for column in 0..outputs {
                    let sum: f32 = (0..inputs)
                        .map(|n| value(row, n) * weight(n, column) as f32)
                        .sum();
                    let wanted = sum * (column % 3 + 1) as f32 + column as f32;
                    let found = out[row * outputs + column];
                    // Half a step of 16 bits a product.
                    let slack = 9.0 / 32767.0 * 0.5 * 127.0 * 12.0 * 3.0;
                    assert!((found - wanted).abs() < slack, "{found} is not {wanted}");
                }
            }
        }
    }

    #[test]
    fn the_largest_sums_fit_into_32_bits() {
        for width in [4, 384, 1536, 3072, 4096] {
            let most = largest(width, 128);
            let linear = Linear {
                inputs: width,
                outputs: 8,
                weights: Bytes::Own(vec![0x80; width * 8]),
                scales: vec![1.0; 8],
                bias: vec![0.0; 8],
            };
            let mut rows = Rows::default();
            rows.fill(Source::whole(&vec![2.0; width], width), most);
            let mut out = vec![0.0; 8];
            linear.write(&[], &rows, &mut Vec::new(), &mut out);
            let wanted = -256.0 * width as f32;
            assert!(
                (out[7] / wanted - 1.0).abs() < 1e-6,
                "{} of {width}",
                out[7]
            );
        }
    }

    #[test]
    fn rows_of_zeros_stay_zeros() {
        let mut rows = Rows::default();
        rows.fill(Source::whole(&[0.0; 16], 8), 1000.0);
        assert_eq!(rows.scale(1), 0.0);
        assert!(rows.tile(0).iter().all(|words| *words == [0; 4]));
    }
}
