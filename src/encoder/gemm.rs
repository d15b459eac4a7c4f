//! Linear layers: products of integer activations and 8-bit weights, four rows by eight columns at
//! a time.
//!
//! Activations are quantised by the row, by its root mean square and not by its largest number: most
//! then are small integers, and the few large ones of trained models may have 14 bits. There are two
//! kernels for one arithmetic: [`super::pairs`] for every machine, and `limbs` in the program for
//! browsers with relaxed SIMD, which spends time on what is large only. Their sums are exact, so that
//! both give the same bits and nothing need say which one ran. Weights stay as the file stores them;
//! eight columns at a time are rearranged into a panel that all rows then share.

use super::kernel::{Panel, Rows, product};
use super::lanes::F4;
use std::ops::Range;

/// Rows of a tile.
pub(super) const TILE: usize = 4;
/// Columns of a panel.
pub(super) const PANEL: usize = 8;

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

/// The largest activation of a linear layer: two limbs of seven bits hold it and its opposite.
const ACTIVATION: f32 = 8000.0;
/// Steps of the grid that the root mean square of a row gets. Of MiniLM's activations this leaves
/// 1 % outside a window of 128 steps; cosines to float32 are 0.9994 on average.
const STEPS: f32 = 24.0;

/// How rows become integers.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    /// The largest integer there is room for.
    most: f32,
    /// Steps of the root mean square; as many as there is room for where that is fewer.
    steps: f32,
    /// The 128 integers that most numbers shall be among begin this far below 0: for `limbs`.
    #[cfg_attr(
        not(all(feature = "relaxed", target_arch = "wasm32")),
        allow(dead_code)
    )]
    pub below: i32,
}

impl Grid {
    /// The largest number of a row becomes `most`.
    pub fn full(most: f32) -> Self {
        Self {
            most,
            steps: f32::INFINITY,
            below: 64,
        }
    }

    /// The factor that makes a row integers, and its inverse; zeros for what is no row of numbers.
    pub fn of_row(&self, values: &[f32]) -> (f32, f32) {
        let (factor, scale) = scale_of(values, self.most);
        let squares = values.as_chunks::<4>().0.iter();
        let squares = squares.fold(F4::splat(0.0), |sum, block| {
            let block = F4::load(block);
            sum.add(block.mul(block))
        });
        let step = (squares.sum() / values.len() as f32).sqrt() / self.steps;
        if step > scale && scale > 0.0 && step.is_finite() {
            (1.0 / step, step)
        } else {
            (factor, scale)
        }
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
    /// Multiplications for so many rows.
    pub fn products(&self, rows: usize) -> u64 {
        (rows * self.inputs) as u64 * self.outputs as u64
    }

    /// How this layer takes its inputs.
    pub fn grid(&self) -> Grid {
        Grid {
            most: largest(self.inputs, 128).min(ACTIVATION),
            steps: STEPS,
            below: 64,
        }
    }

    /// The same for what comes out of a Gaussian error linear unit, nothing of which is below -0.17.
    pub fn grid_after_gelu(&self) -> Grid {
        Grid {
            below: 28,
            ..self.grid()
        }
    }

    /// All outputs of all rows: `put` gets the row, the first of eight columns, and their values.
    #[inline(always)]
    pub fn apply(
        &self,
        file: &[u8],
        rows: &Rows,
        panel: &mut Panel,
        mut put: impl FnMut(usize, usize, [F4; 2]),
    ) {
        let weights = self.weights.of(file);
        for column in (0..self.outputs).step_by(PANEL) {
            panel.fill(weights, self.outputs, column);
            let of_columns = |values: &[f32]| {
                let values = &values[column..column + PANEL];
                let halves = values.as_chunks().0;
                [F4::load(&halves[0]), F4::load(&halves[1])]
            };
            let (scales, bias) = (of_columns(&self.scales), of_columns(&self.bias));
            for tile in 0..rows.tiles() {
                let sums = product(rows, tile, panel);
                for (row, sums) in rows.rows_of(tile).zip(sums) {
                    let scale = F4::splat(rows.scale(row));
                    let value = |n: usize| sums[n].float().mul_add(scale.mul(scales[n]), bias[n]);
                    put(row, column, [value(0), value(1)]);
                }
            }
        }
    }

    /// All outputs as a matrix.
    pub fn write(&self, file: &[u8], rows: &Rows, panel: &mut Panel, out: &mut [f32]) {
        let width = self.outputs;
        self.apply(file, rows, panel, |row, column, values| {
            store(&mut out[row * width + column..], values);
        });
    }

    /// All outputs through the Gaussian error linear unit, as a matrix.
    pub fn write_gelu(&self, file: &[u8], rows: &Rows, panel: &mut Panel, out: &mut [f32]) {
        let width = self.outputs;
        self.apply(file, rows, panel, |row, column, [left, right]| {
            store(
                &mut out[row * width + column..],
                [left.gelu(), right.gelu()],
            );
        });
    }

    /// Adds all outputs to a matrix.
    pub fn add(&self, file: &[u8], rows: &Rows, panel: &mut Panel, out: &mut [f32]) {
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

/// The bytes of a panel's columns.
pub(super) fn eight(bytes: &[u8]) -> &[u8; 8] {
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
            rows.fill(Source::whole(&values, inputs), linear.grid());
            let mut out = vec![0.0; len * outputs];
            linear.write(&[], &rows, &mut Panel::default(), &mut out);
            for row in 0..len {
                for column in 0..outputs {
                    let sum: f32 = (0..inputs)
                        .map(|n| value(row, n) * weight(n, column) as f32)
                        .sum();
                    let wanted = sum * (column % 3 + 1) as f32 + column as f32;
                    let found = out[row * outputs + column];
                    // Half a step a product; the root mean square is at most 9.
                    let slack = 9.0 / STEPS * 0.5 * 127.0 * 12.0 * 3.0;
                    assert!((found - wanted).abs() < slack, "{found} is not {wanted}");
                }
            }
        }
    }

    #[test]
    fn the_largest_sums_fit_into_32_bits() {
        for width in [4, 384, 1536, 3072, 4096] {
            let linear = Linear {
                inputs: width,
                outputs: 8,
                weights: Bytes::Own(vec![0x80; width * 8]),
                scales: vec![1.0; 8],
                bias: vec![0.0; 8],
            };
            let mut rows = Rows::default();
            rows.fill(
                Source::whole(&vec![2.0; width], width),
                Grid::full(largest(width, 128).min(ACTIVATION)),
            );
            let mut out = vec![0.0; 8];
            linear.write(&[], &rows, &mut Panel::default(), &mut out);
            let wanted = -256.0 * width as f32;
            assert!(
                (out[7] / wanted - 1.0).abs() < 1e-6,
                "{} of {width}",
                out[7]
            );
        }
    }
}
