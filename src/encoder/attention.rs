//! Attention of one head over one text, in 16-bit integers: scores, softmax, weighted values.

use super::gemm::{Grid, PANEL, Source, TILE, largest, scale_of, store};
use super::lanes::F4;
use super::pairs::{Entry, Rows, sums};

/// The largest probability as an integer; it and [`VALUE`] leave room for [`SEGMENT`] products.
const PROBABILITY: f32 = 4095.0;
const VALUE: f32 = 2047.0;
/// Keys whose products are summed in 32 bits.
const SEGMENT: usize = 256;

/// Queries, keys and values of one text: `len` rows of `hidden` floats each.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub queries: &'a [f32],
    pub keys: &'a [f32],
    pub values: &'a [f32],
    pub hidden: usize,
}

/// One head of an attention.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    pub number: usize,
    /// Components of the head.
    pub width: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// Added to the score of query `i` and key `j` at `len - 1 - i + j`: relative positions.
    pub bias: Option<&'a [f32]>,
}

/// Memory that is used again for each head.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    queries: Rows,
    /// Panels of eight keys each.
    keys: Vec<Entry>,
    key_scales: Vec<f32>,
    /// For each segment, panels of eight components each.
    values: Vec<Entry>,
    value_scales: Vec<f32>,
    scores: Vec<f32>,
    /// Probabilities of four queries, laid out as a tile.
    probabilities: Vec<[i32; 4]>,
    sums: [f32; TILE],
}

impl Scratch {
    /// Attends and writes the head's columns of `out`, which is laid out as the inputs are.
    pub fn attend(&mut self, inputs: Inputs, head: Head, out: &mut [f32]) {
        let source = |values| Source {
            values,
            stride: inputs.hidden,
            start: head.number * head.width,
            width: head.width,
            len: inputs.queries.len() / inputs.hidden,
        };
        let most = (i32::MAX as f32 / head.width as f32).sqrt().floor() - 1.0;
        let most = most.min(largest(1, 1));
        self.queries.fill(source(inputs.queries), Grid::full(most));
        self.pack_keys(source(inputs.keys), most);
        self.pack_values(source(inputs.values));
        for tile in 0..self.queries.tiles() {
            self.score(tile, head);
            self.soften(tile);
            self.gather(tile, head, inputs.hidden, out);
        }
    }

    fn pack_keys(&mut self, keys: Source, most: f32) {
        let pairs = keys.width / 2;
        let panels = keys.len.div_ceil(PANEL);
        self.keys.clear();
        self.keys.resize(panels * pairs, [[0; 4]; 2]);
        self.key_scales.clear();
        self.key_scales.resize(panels * PANEL, 0.0);
        for key in 0..keys.len {
            let values = keys.row(key);
            let (factor, scale) = scale_of(values, most);
            self.key_scales[key] = scale;
            let panel = &mut self.keys[key / PANEL * pairs..][..pairs];
            let (half, lane) = (key % PANEL / 4, key % 4);
            let blocks = values.as_chunks().0;
            for (entries, block) in panel.as_chunks_mut::<2>().0.iter_mut().zip(blocks) {
                let words = F4::load(block).mul(F4::splat(factor)).round().pairs();
                entries[0][half][lane] = words[0];
                entries[1][half][lane] = words[1];
            }
        }
    }

    /// Values get one scale a component, over all keys: the sum runs over keys.
    fn pack_values(&mut self, values: Source) {
        let mut tops = vec![F4::splat(0.0); values.width / 4];
        for key in 0..values.len {
            for (top, block) in tops.iter_mut().zip(values.row(key).as_chunks().0) {
                *top = top.max(F4::load(block).abs());
            }
        }
        let tops = tops.into_iter().flat_map(F4::array);
        self.value_scales = tops.map(|top| top / VALUE).collect();
        let invert = |scale: &f32| if *scale > 0.0 { 1.0 / scale } else { 0.0 };
        let factors: Vec<f32> = self.value_scales.iter().map(invert).collect();
        let panels = values.width / PANEL;
        let segments = values.len.div_ceil(SEGMENT);
        self.values.clear();
        self.values
            .resize(segments * panels * SEGMENT / 2, [[0; 4]; 2]);
        let quantised = |key: usize, column: usize| {
            let factors = factors[column..].as_chunks().0;
            let blocks: &[[f32; 4]] = match key < values.len {
                true => values.row(key)[column..].as_chunks().0,
                false => &[[0.0; 4]; 2],
            };
            let half = |n: usize| F4::load(&blocks[n]).mul(F4::load(&factors[n])).round();
            half(0).narrow(half(1))
        };
        for key in (0..values.len).step_by(2) {
            let segment = key / SEGMENT * panels;
            for panel in 0..panels {
                let column = panel * PANEL;
                let [left, right] = quantised(key, column).interleave(quantised(key + 1, column));
                let at = (segment + panel) * (SEGMENT / 2) + key % SEGMENT / 2;
                left.store(&mut self.values[at][0]);
                right.store(&mut self.values[at][1]);
            }
        }
    }

    /// Scores of four queries with all keys.
    fn score(&mut self, tile: usize, head: Head) {
        let pairs = head.width / 2;
        let width = self.key_scales.len();
        self.scores.resize(TILE * width, 0.0);
        let rows = self.queries.rows_of(tile);
        for (number, panel) in self.keys.chunks_exact(pairs).enumerate() {
            let sums = sums(self.queries.tile(tile), panel);
            let key = number * PANEL;
            let scales = self.key_scales[key..].as_chunks().0;
            let scales = [F4::load(&scales[0]), F4::load(&scales[1])];
            for (n, row) in rows.clone().enumerate() {
                let scale = F4::splat(self.queries.scale(row) * head.scale);
                let score = |half: usize| sums[n][half].float().mul(scale.mul(scales[half]));
                store(&mut self.scores[n * width + key..], [score(0), score(1)]);
            }
        }
        if let Some(bias) = head.bias {
            let len = bias.len().div_ceil(2);
            for (n, row) in rows.enumerate() {
                let scores = &mut self.scores[n * width..][..len];
                for (score, bias) in scores.iter_mut().zip(&bias[len - 1 - row..]) {
                    *score += bias;
                }
            }
        }
    }

    /// Scores to probabilities, as integers whose sum is remembered.
    fn soften(&mut self, tile: usize) {
        let width = self.key_scales.len();
        let len = self.queries_len();
        self.probabilities.clear();
        self.probabilities.resize(width / 2, [0; 4]);
        for n in 0..self.queries.rows_of(tile).len() {
            let scores = &mut self.scores[n * width..][..width];
            scores[len..].fill(f32::MIN);
            let blocks = scores.as_chunks::<4>().0;
            let top = blocks
                .iter()
                .fold(F4::splat(f32::MIN), |top, block| top.max(F4::load(block)));
            let top = F4::splat(top.largest());
            let mut sum = F4::splat(0.0);
            for (entries, block) in self
                .probabilities
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip(blocks)
            {
                let share = F4::load(block).sub(top).exp();
                let whole = share.mul(F4::splat(PROBABILITY)).round();
                sum = sum.add(whole.float());
                let [low, high] = whole.pairs();
                entries[0][n] = low;
                entries[1][n] = high;
            }
            self.sums[n] = sum.sum();
        }
    }

    fn queries_len(&self) -> usize {
        let tiles = self.queries.tiles();
        self.queries.rows_of(tiles.max(1) - 1).end
    }

    /// The values of all keys, weighted by the probabilities of four queries.
    fn gather(&self, tile: usize, head: Head, hidden: usize, out: &mut [f32]) {
        let panels = head.width / PANEL;
        for panel in 0..panels {
            let mut totals = [[F4::splat(0.0); 2]; TILE];
            let segments = self.probabilities.chunks(SEGMENT / 2);
            for (segment, probabilities) in segments.enumerate() {
                let at = (segment * panels + panel) * (SEGMENT / 2);
                let values = &self.values[at..at + SEGMENT / 2];
                let sums = sums(probabilities, values);
                for (total, sum) in totals.iter_mut().zip(sums) {
                    *total = [total[0].add(sum[0].float()), total[1].add(sum[1].float())];
                }
            }
            let column = panel * PANEL;
            let scales = self.value_scales[column..].as_chunks().0;
            let scales = [F4::load(&scales[0]), F4::load(&scales[1])];
            for (n, row) in self.queries.rows_of(tile).enumerate() {
                let share = F4::splat(1.0 / self.sums[n]);
                let value = |half: usize| totals[n][half].mul(scales[half].mul(share));
                let at = row * hidden + head.number * head.width + column;
                store(&mut out[at..], [value(0), value(1)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attention as the formula stands, in double precision.
    fn reference(inputs: Inputs, head: Head) -> Vec<f32> {
        let Inputs { hidden, .. } = inputs;
        let len = inputs.queries.len() / hidden;
        let at = |m: &[f32], row: usize, n: usize| {
            f64::from(m[row * hidden + head.number * head.width + n])
        };
        let mut out = vec![0.0; len * hidden];
        for i in 0..len {
            let scores: Vec<f64> = (0..len)
                .map(|j| {
                    let dot: f64 = (0..head.width)
                        .map(|n| at(inputs.queries, i, n) * at(inputs.keys, j, n))
                        .sum();
                    let bias = head.bias.map_or(0.0, |bias| bias[len - 1 - i + j]);
                    (dot * f64::from(head.scale) + f64::from(bias)).exp()
                })
                .collect();
            let total: f64 = scores.iter().sum();
            for n in 0..head.width {
                let value: f64 = (0..len).map(|j| scores[j] * at(inputs.values, j, n)).sum();
                out[i * hidden + head.number * head.width + n] = (value / total) as f32;
            }
        }
        out
    }

    #[test]
    fn agrees_with_the_formula() {
        let hidden = 32;
        for len in [1, 2, 7, 8, 33, 256, 257, 300] {
            let wave = |step: f32| -> Vec<f32> {
                (0..len * hidden)
                    .map(|n| (n as f32 * step).sin() * 1.5)
                    .collect()
            };
            let (queries, keys, values) = (wave(0.37), wave(0.73), wave(1.31));
            let inputs = Inputs {
                queries: &queries,
                keys: &keys,
                values: &values,
                hidden,
            };
            let bias: Vec<f32> = (0..2 * len - 1).map(|n| (n as f32 * 0.11).cos()).collect();
            for bias in [None, Some(bias.as_slice())] {
                let head = Head {
                    number: 1,
                    width: 16,
                    scale: 0.25,
                    bias,
                };
                let mut out = vec![0.0; len * hidden];
                Scratch::default().attend(inputs, head, &mut out);
                for (found, wanted) in out.iter().zip(reference(inputs, head)) {
                    assert!(
                        (found - wanted).abs() < 2e-3,
                        "{len} keys: {found} {wanted}"
                    );
                }
            }
        }
    }
}
