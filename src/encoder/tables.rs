//! What tokens and positions are looked up in.

use super::onnx::{Unfit, floats, unfit};
use std::ops::Range;

/// Rows of a lookup table within the model file.
#[derive(Debug)]
pub(super) struct Table {
    pub rows: usize,
    pub width: usize,
    pub kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Bytes, with one scale a row or one for all.
    Bytes {
        range: Range<usize>,
        scales: Vec<f32>,
        /// What stands for 0.
        zero: i16,
        unsigned: bool,
    },
    /// Floats, four bytes each.
    Floats { range: Range<usize> },
}

impl Table {
    /// Adds row `index` to `out`.
    fn add(&self, file: &[u8], index: usize, out: &mut [f32]) {
        match &self.kind {
            Kind::Bytes {
                range,
                scales,
                zero,
                unsigned,
            } => {
                let row = &file[range.clone()][index * self.width..][..self.width];
                let scale = scales[index % scales.len()];
                for (out, byte) in out.iter_mut().zip(row) {
                    let number = match unsigned {
                        true => i16::from(*byte),
                        false => i16::from(*byte as i8),
                    };
                    *out += f32::from(number - zero) * scale;
                }
            }
            Kind::Floats { range } => {
                let row = &file[range.clone()][index * self.width * 4..][..self.width * 4];
                for (out, value) in out.iter_mut().zip(floats(row)) {
                    *out += value;
                }
            }
        }
    }

    /// All of it as floats.
    pub fn floats(&self, file: &[u8]) -> Vec<f32> {
        let mut out = vec![0.0; self.rows * self.width];
        for (index, row) in out.chunks_exact_mut(self.width).enumerate() {
            self.add(file, index, row);
        }
        out
    }
}

/// The sum of a token's row, its position's row, and perhaps the row of the first segment.
#[derive(Debug)]
pub(super) struct Embeddings {
    pub words: Table,
    pub positions: Table,
    /// The row of the first token's position.
    pub first_position: usize,
    pub segments: Option<Table>,
}

impl Embeddings {
    /// Tokens that have a position.
    pub fn longest(&self) -> usize {
        self.positions.rows.saturating_sub(self.first_position)
    }

    /// Appends one row for each token.
    pub fn append(&self, file: &[u8], text: &[u32], out: &mut Vec<f32>) -> Result<(), Unfit> {
        if text.len() > self.longest() {
            return unfit(format!(
                "the text has {} tokens and the model has positions for {}",
                text.len(),
                self.longest()
            ));
        }
        for (position, token) in text.iter().enumerate() {
            let token = *token as usize;
            if token >= self.words.rows {
                return unfit(format!(
                    "the tokenizer gives token {token} and the model knows {}: they do not belong together",
                    self.words.rows
                ));
            }
            let start = out.len();
            out.resize(start + self.words.width, 0.0);
            let row = &mut out[start..];
            self.words.add(file, token, row);
            if let Some(segments) = &self.segments {
                segments.add(file, 0, row);
            }
            self.positions
                .add(file, self.first_position + position, row);
        }
        Ok(())
    }
}

/// A score for each head and bucket of distances between query and key (MPNet, T5).
#[derive(Debug)]
pub(super) struct RelativeBias {
    pub heads: usize,
    pub buckets: usize,
    /// `buckets` rows of `heads` floats.
    pub values: Vec<f32>,
}

impl RelativeBias {
    /// The bias of query `i` and key `j` at `len - 1 - i + j`.
    pub fn of_head(&self, head: usize, len: usize) -> Vec<f32> {
        let last = len as i64 - 1;
        (-last..=last)
            .map(|distance| self.values[self.bucket(distance) * self.heads + head])
            .collect()
    }

    /// Half of the buckets for keys that follow; half of those one by one, the others for
    /// logarithmic ranges up to a distance of 128.
    fn bucket(&self, distance: i64) -> usize {
        let half = self.buckets / 2;
        let exact = half / 2;
        let after = if distance > 0 { half } else { 0 };
        let distance = distance.unsigned_abs() as usize;
        if distance < exact {
            return after + distance;
        }
        let share = (distance as f32 / exact as f32).ln() / (128.0 / exact as f32).ln();
        after + (exact + (share * (half - exact) as f32) as usize).min(half - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_distances() {
        let bias = RelativeBias {
            heads: 1,
            buckets: 32,
            values: (0..32).map(|n| n as f32).collect(),
        };
        // relative_position_bucket of the transformers package, 32 buckets, distance 128.
        for (distance, bucket) in [
            (0, 0),
            (-1, 1),
            (1, 17),
            (-7, 7),
            (7, 23),
            (-8, 8),
            (-11, 8),
            (-12, 9),
            (16, 26),
            (-64, 14),
            (127, 31),
            (-128, 15),
            (4000, 31),
        ] {
            assert_eq!(bias.bucket(distance), bucket, "{distance}");
        }
        assert_eq!(bias.of_head(0, 3), [2.0, 1.0, 0.0, 17.0, 18.0]);
    }
}
