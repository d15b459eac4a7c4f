//! Rough inner products from one bit a component: a row of 384 is one line of memory instead of six,
//! and a walk that jumps from row to row waits for memory more than for anything else.
//!
//! A row `x` is kept as the signs of `r = x − m`, where `m` is the middle of all rows. With
//! `x · q = m · q + r · m + r · (q − m)`, the first term is one for all rows, the second one number a
//! row, and only the last is estimated: as `|r|² / |r|₁` times the components of `q − m`, each with the
//! sign of `r` there. That is right where the query lies along the signs, and unbiased over directions
//! across them (the estimator of RaBitQ, Gao and Long 2024, without its rotation).

use super::Rows;

/// Words in a line of memory.
const WORDS: usize = 8;
/// Bits of a component of the query.
const PLANES: usize = 4;
/// Largest component of the query in so many bits, which have a sign.
const MOST: f32 = 7.0;
/// So many rows, at most, say where the middle is.
const SAMPLED: usize = 10_000;

/// What comes from memory together.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([u64; WORDS]);

/// The sketches of all rows of an index.
pub(super) struct Sketches {
    middle: Vec<f32>,
    /// Lines of a row.
    per_row: usize,
    /// For each row the signs, a bit for each component that is above the middle; the last word of
    /// its last line holds two floats: `r · m`, and `|r|² / |r|₁`.
    lines: Vec<Line>,
}

/// A query as the sketches are asked for it.
pub(super) struct Rough {
    /// For each line of a row, for each bit of a component, that bit of all components.
    planes: Vec<[Line; PLANES]>,
    /// What turns the components back into floats.
    step: f32,
    /// Sum of all components, in steps.
    sum: i32,
    /// Inner product with the middle.
    middle: f32,
}

impl Sketches {
    pub fn new(rows: &Rows) -> Self {
        let dim = rows.dim();
        // The two floats have a word of their own.
        let per_row = (dim.div_ceil(64) + 1).div_ceil(WORDS);
        let middle = middle(rows);
        let mut lines = vec![Line::default(); per_row * rows.len()];
        for (index, lines) in lines.chunks_exact_mut(per_row).enumerate() {
            let scale = rows.scale(index);
            let (mut along, mut square, mut sum) = (0.0, 0.0, 0.0);
            for (block, (bytes, centre)) in rows
                .row(index)
                .chunks(64)
                .zip(middle.chunks(64))
                .enumerate()
            {
                let mut word = 0;
                for (n, (byte, m)) in bytes.iter().zip(centre).enumerate() {
                    let rest = f32::from(*byte) * scale - m;
                    word |= u64::from(rest > 0.0) << n;
                    along += rest * m;
                    square += rest * rest;
                    sum += rest.abs();
                }
                lines[block / WORDS].0[block % WORDS] = word;
            }
            let stretch = if sum > 0.0 { square / sum } else { 0.0 };
            lines[per_row - 1].0[WORDS - 1] = pack(along, stretch);
        }
        Self {
            middle,
            per_row,
            lines,
        }
    }

    /// The query, prepared.
    pub fn query(&self, query: &[f32]) -> Rough {
        let rest = || query.iter().zip(&self.middle).map(|(q, m)| q - m);
        let longest = rest().fold(0.0, |most: f32, x| most.max(x.abs()));
        let step = if longest > 0.0 { longest / MOST } else { 1.0 };
        let mut planes = vec![[Line::default(); PLANES]; self.per_row];
        let mut sum = 0;
        for (n, x) in rest().enumerate() {
            let steps = (x / step).round() as i32;
            sum += steps;
            let (line, word, bit) = (n / 64 / WORDS, n / 64 % WORDS, n % 64);
            for (plane, lines) in planes[line].iter_mut().enumerate() {
                lines.0[word] |= (steps as u64 >> plane & 1) << bit;
            }
        }
        let middle = query.iter().zip(&self.middle).map(|(q, m)| q * m).sum();
        Rough {
            planes,
            step,
            sum,
            middle,
        }
    }

    /// Asks for a row, so that it comes from memory while others do; the number means nothing.
    #[inline]
    pub fn touch(&self, row: u32) -> u64 {
        self.of(row).iter().fold(0, |bits, line| bits ^ line.0[0])
    }

    /// The inner product of a row and the query, roughly.
    #[inline]
    pub fn score(&self, row: u32, query: &Rough) -> f32 {
        let lines = self.of(row);
        let mut counts = [0; PLANES];
        for (line, planes) in lines.iter().zip(&query.planes) {
            for (plane, count) in planes.iter().zip(&mut counts) {
                // The word with the floats counts for nothing: there, the planes are empty.
                let pairs = line.0.iter().zip(&plane.0);
                *count += pairs.map(|(a, b)| (a & b).count_ones()).sum::<u32>();
            }
        }
        // The highest bit is the sign.
        let [ones, twos, fours, eights] = counts.map(|count| count as i32);
        let above = ones + 2 * twos + 4 * fours - 8 * eights;
        let (along, stretch) = unpack(lines[self.per_row - 1].0[WORDS - 1]);
        query.middle + along + stretch * query.step * (2 * above - query.sum) as f32
    }

    #[inline]
    fn of(&self, row: u32) -> &[Line] {
        &self.lines[row as usize * self.per_row..][..self.per_row]
    }
}

/// The mean of rows that are spread over all.
fn middle(rows: &Rows) -> Vec<f32> {
    let mut sums = vec![0.0; rows.dim()];
    let every = rows.len().div_ceil(SAMPLED).max(1);
    let sampled = (0..rows.len()).step_by(every);
    let count = sampled.len().max(1) as f32;
    for index in sampled {
        let scale = rows.scale(index);
        for (sum, byte) in sums.iter_mut().zip(rows.row(index)) {
            *sum += f32::from(*byte) * scale;
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= count);
    sums
}

fn pack(along: f32, stretch: f32) -> u64 {
    u64::from(along.to_bits()) << 32 | u64::from(stretch.to_bits())
}

fn unpack(word: u64) -> (f32, f32) {
    (
        f32::from_bits((word >> 32) as u32),
        f32::from_bits(word as u32),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn along_the_signs_a_score_is_right() {
        // The middle is (2, 2); the rows are (1, -1) and (-1, 1) away from it.
        let rows = Rows::new(2, vec![1.0; 2], vec![3, 1, 1, 3]);
        let sketches = Sketches::new(&rows);
        // (7, -7) away from the middle, which seven steps each way tell exactly.
        let query = sketches.query(&[9.0, -5.0]);
        assert_eq!(sketches.score(0, &query), 3.0 * 9.0 - 5.0);
        assert_eq!(sketches.score(1, &query), 9.0 - 3.0 * 5.0);
    }

    #[test]
    fn rows_of_any_width_are_scored_by_their_signs() {
        for dim in [1, 63, 64, 384, 448, 449, 1024, 4096] {
            // Two rows either side of zero: the middle is zero, all of a row is as long as its signs.
            let signs: Vec<i8> = (0..dim)
                .map(|n| if n * n % 7 < 3 { 1 } else { -1 })
                .collect();
            let other = signs.iter().map(|sign| -sign);
            let rows = Rows::new(
                dim,
                vec![0.5; 2],
                signs.iter().copied().chain(other).collect(),
            );
            let sketches = Sketches::new(&rows);
            let steps = |n: usize| (n % 15) as f32 - 7.0;
            let query: Vec<f32> = (0..dim).map(|n| 2.0 * steps(n)).collect();
            let expected: f32 = signs
                .iter()
                .zip(&query)
                .map(|(s, q)| 0.5 * f32::from(*s) * q)
                .sum();
            let query = sketches.query(&query);
            assert_eq!(sketches.score(0, &query), expected, "{dim}");
            assert_eq!(sketches.score(1, &query), -expected, "{dim}");
        }
    }

    #[test]
    fn equal_rows_have_nothing_but_their_middle() {
        let rows = Rows::new(3, vec![0.1; 3], [10, -20, 30].repeat(3));
        let sketches = Sketches::new(&rows);
        let score = sketches.score(1, &sketches.query(&[1.0, 1.0, 1.0]));
        assert!((score - 2.0).abs() < 1e-5, "{score}");
        let none = Sketches::new(&Rows::new(3, Vec::new(), Vec::new()));
        assert!(none.lines.is_empty());
    }
}
