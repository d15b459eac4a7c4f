//! The BERT family by our own fused operators: int8 weights where the file has them, 14-bit
//! activations, hand-written lanes. Several times as fast as the general engine and a third of its
//! memory; what it does not recognise is left to that engine.
//!
//! [`onnx`] reads the file, [`recognise`] finds the encoder in the graph and [`weights`] its numbers, [`gemm`], [`attention`]
//! and [`lanes`] compute; the inner loops are in [`pairs`], and in `limbs` for relaxed SIMD.

mod attention;
mod gemm;
mod lanes;
#[cfg(any(test, all(feature = "relaxed", target_arch = "wasm32")))]
mod limbs;
mod onnx;
mod pairs;
mod recognise;
mod tables;
mod weights;

/// What linear layers compute with.
#[cfg(all(feature = "relaxed", target_arch = "wasm32"))]
use limbs as kernel;
#[cfg(not(all(feature = "relaxed", target_arch = "wasm32")))]
use pairs as kernel;

pub use onnx::Unfit;

use crate::embed::{ModelFile, Pooling};
use attention::{Head, Inputs};
use gemm::{Linear, Source};
use kernel::{Panel, Rows};
use lanes::F4;
use onnx::Graph;
use tables::{Embeddings, RelativeBias};

/// Rows that go through the feed-forward layers together; their inner values stay in the cache.
const BLOCK: usize = 128;

/// Multiplications of one step, about: no more than some tens of milliseconds of a slow processor. Half
/// a layer of a small model fits into one; that of a large model takes several.
const STEP: u64 = 400_000_000;

/// An encoder with its weights, most of them within the bytes of the model file.
pub struct Encoder {
    file: ModelFile,
    parts: Parts,
}

/// What a graph says of itself, whoever runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    /// A data file that weights lie in and that is not there.
    pub missing: Option<String>,
    /// Tokens that can be looked up, where that can be seen.
    pub vocabulary: Option<usize>,
}

/// Reads no more of a graph than it says of itself. Fails on what is no ONNX file, or a cut one.
pub fn outline(file: &ModelFile) -> Result<Outline, Unfit> {
    let graph = read(file)?;
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Ok(Outline {
        inputs: owned(&graph.inputs),
        outputs: owned(&graph.outputs),
        missing: graph.missing_data().map(str::to_owned),
        vocabulary: graph.rows_looked_up_by("input_ids"),
    })
}

fn read(file: &ModelFile) -> Result<Graph<'_>, Unfit> {
    Graph::read(file.bytes(), file.graph().len(), &|name| file.place(name))
}

/// What the graph was found to be.
#[derive(Debug)]
struct Parts {
    hidden: usize,
    embeddings: Embeddings,
    norm: Norm,
    layers: Vec<Layer>,
    bias: Option<RelativeBias>,
    /// What the graph itself makes of the last layer.
    pooling: Option<Pooling>,
    /// Whether the graph makes unit vectors.
    normalises: bool,
}

/// Layer normalisation.
#[derive(Debug)]
struct Norm {
    gain: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

/// Post-norm transformer layer.
#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    head_width: usize,
    /// Factor of the attention scores.
    scale: f32,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

/// Texts on their way through the layers. Each is computed for itself: no padding, and no vector
/// depends on its neighbours.
pub struct Run {
    lengths: Vec<usize>,
    hidden: Vec<f32>,
    /// Half layers done: attention, then feed-forward.
    done: usize,
    /// Parts done of the next half: queries, keys, values and what is made of them; or, for each block
    /// of rows, the way up and the way down.
    part: usize,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    rows: Rows,
    panel: Panel,
    attention: attention::Scratch,
    inner: Vec<f32>,
}

impl Encoder {
    /// Finds the encoder in an ONNX file, or says why there is none and gives the file back.
    pub fn read(file: ModelFile) -> Result<Self, (Unfit, ModelFile)> {
        match recognise::parts(&file) {
            Ok(parts) => Ok(Self { file, parts }),
            Err(why) => Err((why, file)),
        }
    }

    /// Components of a vector.
    pub fn dim(&self) -> usize {
        self.parts.hidden
    }

    /// How the graph pools, when it does.
    pub fn pooling(&self) -> Option<Pooling> {
        self.parts.pooling
    }

    /// Whether the graph makes unit vectors; [`Encoder::finish`] does not.
    pub fn normalises(&self) -> bool {
        self.parts.normalises
    }

    /// The longest input that the position table serves.
    pub fn max_tokens(&self) -> usize {
        self.parts.embeddings.longest()
    }

    /// Looks the tokens of some texts up. Each text has at least one token, all within the
    /// vocabulary, and no more than [`Encoder::max_tokens`].
    pub fn start(&self, texts: &[&[u32]]) -> Result<Run, Unfit> {
        let mut hidden = Vec::new();
        for text in texts {
            self.parts
                .embeddings
                .append(self.file.bytes(), text, &mut hidden)?;
        }
        self.parts.norm.apply(&mut hidden, self.parts.hidden);
        Ok(Run {
            lengths: texts.iter().map(|text| text.len()).collect(),
            hidden,
            done: 0,
            part: 0,
            scratch: Scratch::default(),
        })
    }

    /// Does half a layer, or a part of it in a large model; `true` when all layers are done.
    pub fn advance(&self, run: &mut Run) -> bool {
        if let Some(layer) = self.parts.layers.get(run.done / 2) {
            let costs = match run.done % 2 {
                0 => self.attention_costs(layer, run),
                _ => self.feeding_costs(layer, run),
            };
            for _ in 0..together(&costs[run.part..]) {
                match run.done % 2 {
                    0 => self.attend(layer, run),
                    _ => self.feed(layer, run),
                }
                run.part += 1;
            }
            if run.part >= costs.len() {
                (run.part, run.done) = (0, run.done + 1);
            }
        }
        run.done >= 2 * self.parts.layers.len()
    }

    /// Multiplications of each part of an attention.
    fn attention_costs(&self, layer: &Layer, run: &Run) -> Vec<u64> {
        let rows = run.hidden.len() / self.parts.hidden;
        let scores: usize = run.lengths.iter().map(|length| length * length).sum();
        let last = layer.output.products(rows) + 2 * (scores * self.parts.hidden) as u64;
        let linear = [&layer.query, &layer.key, &layer.value];
        let linear = linear.map(|linear| linear.products(rows));
        linear.into_iter().chain([last]).collect()
    }

    /// Multiplications of each part of the feed-forward layers.
    fn feeding_costs(&self, layer: &Layer, run: &Run) -> Vec<u64> {
        let blocks = run.hidden.chunks(BLOCK * self.parts.hidden);
        let both = blocks.flat_map(|block| {
            let rows = block.len() / self.parts.hidden;
            [layer.up.products(rows), layer.down.products(rows)]
        });
        both.collect()
    }

    /// One pooled vector for each text, not normalised.
    pub fn finish(&self, run: Run, pooling: Pooling) -> Vec<Vec<f32>> {
        let width = self.parts.hidden;
        let mut rest = run.hidden.as_slice();
        let mut out = Vec::with_capacity(run.lengths.len());
        for length in run.lengths {
            let (text, after) = rest.split_at(length * width);
            out.push(pool(text, width, pooling));
            rest = after;
        }
        out
    }

    /// Does the next part of an attention.
    fn attend(&self, layer: &Layer, run: &mut Run) {
        let width = self.parts.hidden;
        let Scratch {
            rows,
            panel,
            attention,
            inner,
        } = &mut run.scratch;
        let size = run.hidden.len();
        inner.resize(4 * size, 0.0);
        let (queries, others) = inner.split_at_mut(size);
        let (keys, others) = others.split_at_mut(size);
        let (values, context) = others.split_at_mut(size);
        if run.part == 0 {
            rows.fill(Source::whole(&run.hidden, width), layer.query.grid());
        }
        match run.part {
            0 => return layer.query.write(self.file.bytes(), rows, panel, queries),
            1 => return layer.key.write(self.file.bytes(), rows, panel, keys),
            2 => return layer.value.write(self.file.bytes(), rows, panel, values),
            _ => {}
        }
        let mut start = 0;
        for length in &run.lengths {
            let text = start..start + length * width;
            start = text.end;
            let inputs = Inputs {
                queries: &queries[text.clone()],
                keys: &keys[text.clone()],
                values: &values[text.clone()],
                hidden: width,
            };
            for number in 0..width / layer.head_width {
                let bias = self.parts.bias.as_ref();
                let bias = bias.map(|bias| bias.of_head(number, *length));
                let head = Head {
                    number,
                    width: layer.head_width,
                    scale: layer.scale,
                    bias: bias.as_deref(),
                };
                attention.attend(inputs, head, &mut context[text.clone()]);
            }
        }
        rows.fill(Source::whole(context, width), layer.output.grid());
        layer
            .output
            .add(self.file.bytes(), rows, panel, &mut run.hidden);
        layer.attention_norm.apply(&mut run.hidden, width);
    }

    /// Does the next part of the feed-forward layers.
    fn feed(&self, layer: &Layer, run: &mut Run) {
        let width = self.parts.hidden;
        let Scratch {
            rows, panel, inner, ..
        } = &mut run.scratch;
        let (from, len) = (run.part / 2 * BLOCK * width, run.hidden.len());
        let to = len.min(from + BLOCK * width);
        let block = &mut run.hidden[from..to];
        if run.part.is_multiple_of(2) {
            rows.fill(Source::whole(block, width), layer.up.grid());
            inner.resize(block.len() / width * layer.up.outputs, 0.0);
            layer.up.write_gelu(self.file.bytes(), rows, panel, inner);
            return;
        }
        rows.fill(
            Source::whole(inner, layer.up.outputs),
            layer.down.grid_after_gelu(),
        );
        layer.down.add(self.file.bytes(), rows, panel, block);
        if to == len {
            layer.norm.apply(&mut run.hidden, width);
        }
    }
}

/// How many of the next parts make one step: at least one.
fn together(costs: &[u64]) -> usize {
    let mut sum = 0;
    let fits = |cost: &&u64| {
        sum += **cost;
        sum <= STEP
    };
    costs.iter().take_while(fits).count().max(1)
}

impl Norm {
    /// Normalises rows in place.
    fn apply(&self, rows: &mut [f32], width: usize) {
        for row in rows.chunks_exact_mut(width) {
            let blocks = row.as_chunks_mut::<4>().0;
            let zero = F4::splat(0.0);
            let total = blocks.iter().fold(zero, |sum, b| sum.add(F4::load(b)));
            let mean = F4::splat(total.sum() / width as f32);
            let spread = blocks.iter().fold(zero, |sum, b| {
                let off = F4::load(b).sub(mean);
                sum.add(off.mul(off))
            });
            let variance = spread.sum() / width as f32;
            let factor = F4::splat(1.0 / (variance + self.epsilon).sqrt());
            let gains = self.gain.as_chunks::<4>().0;
            let shifts = self.shift.as_chunks::<4>().0;
            for ((block, gain), shift) in blocks.iter_mut().zip(gains).zip(shifts) {
                let off = F4::load(block).sub(mean).mul(factor);
                off.mul_add(F4::load(gain), F4::load(shift)).store(block);
            }
        }
    }
}

/// One vector of the rows of a text.
pub fn pool(rows: &[f32], width: usize, pooling: Pooling) -> Vec<f32> {
    match pooling {
        Pooling::Cls => rows[..width].to_vec(),
        Pooling::Mean => {
            let mut sum = vec![0.0; width];
            for row in rows.chunks_exact(width) {
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
            let count = (rows.len() / width) as f32;
            sum.iter_mut().for_each(|sum| *sum /= count);
            sum
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_normalised() {
        let norm = Norm {
            gain: vec![2.0; 4],
            shift: vec![1.0; 4],
            epsilon: 0.0,
        };
        // Mean 2, variance 5.
        let mut row = [-1.0, 1.0, 3.0, 5.0];
        norm.apply(&mut row, 4);
        for (found, off) in row.iter().zip([-3.0f32, -1.0, 1.0, 3.0]) {
            let wanted = 1.0 + 2.0 * off / 5f32.sqrt();
            assert!((found - wanted).abs() < 1e-6, "{row:?}");
        }
    }

    #[test]
    fn a_step_is_half_a_layer_of_a_small_model_and_less_of_a_large_one() {
        let costs = |rows: u64, width: u64| {
            let square = rows * width * width;
            [square, square, square, square + 2 * rows * rows * width]
        };
        // MiniLM and BGE-M3 at 300 tokens.
        assert_eq!(together(&costs(300, 384)), 4);
        let large = costs(300, 1024);
        for part in 0..4 {
            assert_eq!(together(&large[part..]), 1);
            assert!(large[part] < 600_000_000, "{large:?}");
        }
        assert_eq!(together(&[u64::MAX]), 1, "every step goes on");
    }

    #[test]
    fn pooling() {
        let rows = [1.0, 2.0, 3.0, 6.0];
        assert_eq!(pool(&rows, 2, Pooling::Mean), [2.0, 4.0]);
        assert_eq!(pool(&rows, 2, Pooling::Cls), [1.0, 2.0]);
    }
}
