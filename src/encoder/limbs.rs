//! Products of limbs of seven bits, by relaxed SIMD's dot product of bytes: twice as much at a time
//! as 16-bit pairs, and weights need no widening.
//!
//! The instruction multiplies signed bytes with numbers of 0 to 127; what it makes of others is the
//! machine's choice. So an activation q goes as q + b = 128 h + l, and
//! Σ q w = 128 Σ h w + Σ l w - b Σ w. Most h are 0: only those quads of neighbours are multiplied by
//! their high limbs in which one of four rows has another, as h + 64. All is exact in 32 bits,
//! whatever overflows on the way, and so the very number that [`super::pairs`] gives.

use super::gemm::{Grid, Source, TILE, eight};
use super::lanes::{F4, I4};
use imp::{Bytes, Sums, limbs};
use std::ops::Range;

/// Four rows of eight columns of a matrix: for each column a word of four bytes.
type Entry = [[i32; 4]; 2];

/// Activations with a scale for each row, in tiles of four rows: an entry holds for each of the four
/// a word of four neighbours.
#[derive(Debug, Default)]
pub(super) struct Rows {
    len: usize,
    /// Entries of a tile: a quarter of the width.
    quads: usize,
    low: Vec<[i32; 4]>,
    /// With 64 added.
    high: Vec<[i32; 4]>,
    /// Entries of tiles whose high limbs are not all 0: which of the tile's, and the limbs.
    large: Vec<(u32, [i32; 4])>,
    /// For each tile, where its large entries end.
    ends: Vec<usize>,
    scales: Vec<f32>,
    below: i32,
}

/// Eight columns of a weight.
#[derive(Debug, Default)]
pub(super) struct Panel {
    entries: Vec<Entry>,
    /// The sum of each column.
    sums: Entry,
}

/// Four high limbs of 0, as stored.
const ZEROS: i32 = 0x4040_4040;

impl Rows {
    /// Quantises rows; the width is a multiple of four.
    pub fn fill(&mut self, source: Source, grid: Grid) {
        let tiles = source.len.div_ceil(TILE);
        self.len = source.len;
        self.quads = source.width / 4;
        self.below = grid.below;
        self.low.clear();
        self.low.resize(tiles * self.quads, [0; 4]);
        self.high.clear();
        self.high.resize(tiles * self.quads, [ZEROS; 4]);
        self.scales.clear();
        self.scales.resize(tiles * TILE, 0.0);
        for row in 0..source.len {
            let values = source.row(row);
            let (factor, scale) = grid.of_row(values);
            self.scales[row] = scale;
            let factor = F4::splat(factor);
            let tile = row / TILE * self.quads..(row / TILE + 1) * self.quads;
            let high = &mut self.high[tile.clone()];
            let low = &mut self.low[tile];
            let blocks = values.as_chunks().0;
            for ((high, low), block) in high.iter_mut().zip(low).zip(blocks) {
                let words = limbs(F4::load(block).mul(factor).round(), grid.below);
                high[row % TILE] = words[0];
                low[row % TILE] = words[1];
            }
        }
        self.large.clear();
        self.ends.clear();
        for tile in 0..tiles {
            let entries = &self.high[tile * self.quads..(tile + 1) * self.quads];
            let numbered = (0..).zip(entries.iter().copied());
            self.large
                .extend(numbered.filter(|(_, words)| *words != [ZEROS; 4]));
            self.ends.push(self.large.len());
        }
    }

    /// The large entries of a tile.
    fn large(&self, tile: usize) -> &[(u32, [i32; 4])] {
        let start = tile.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.large[start..self.ends[tile]]
    }

    pub fn tiles(&self) -> usize {
        self.len.div_ceil(TILE)
    }

    /// The rows of a tile that exist.
    pub fn rows_of(&self, tile: usize) -> Range<usize> {
        tile * TILE..((tile + 1) * TILE).min(self.len)
    }

    pub fn scale(&self, row: usize) -> f32 {
        self.scales[row]
    }
}

impl Panel {
    /// Eight columns of `weights`, which has rows of `outputs` bytes.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "relaxed-simd"))]
    pub fn fill(&mut self, weights: &[u8], outputs: usize, column: usize) {
        self.entries
            .resize(weights.len() / outputs / 4, [[0; 4]; 2]);
        let ones = Bytes::splat_word(&0x0101_0101);
        let mut sums = [Sums::zero(); 2];
        let rows = weights.chunks_exact(4 * outputs);
        for (entry, rows) in self.entries.iter_mut().zip(rows) {
            let row = |n: usize| Bytes::load_eight(eight(&rows[n * outputs + column..]));
            let upper = row(0).interleave(row(1));
            let lower = row(2).interleave(row(3));
            let [left, right] = upper.interleave_pairs(lower);
            left.store(&mut entry[0]);
            right.store(&mut entry[1]);
            sums = [sums[0].add_dot(left, ones), sums[1].add_dot(right, ones)];
        }
        sums[0].store(&mut self.sums[0]);
        sums[1].store(&mut self.sums[1]);
    }
}

/// A tile of `rows` times a panel.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "relaxed-simd"))]
pub(super) fn product(rows: &Rows, tile: usize, panel: &Panel) -> [[I4; 2]; TILE] {
    let mut sums = [[Sums::zero(); 2]; TILE];
    // 64 for each high limb, to be taken off again.
    let mut offsets = [Sums::zero(); 2];
    let all = Bytes::splat_word(&ZEROS);
    for (at, words) in rows.large(tile) {
        let columns = &panel.entries[*at as usize];
        let (left, right) = (Bytes::load(&columns[0]), Bytes::load(&columns[1]));
        offsets = [
            offsets[0].add_dot(left, all),
            offsets[1].add_dot(right, all),
        ];
        for row in 0..TILE {
            let word = Bytes::splat_word(&words[row]);
            sums[row][0] = sums[row][0].add_dot(left, word);
            sums[row][1] = sums[row][1].add_dot(right, word);
        }
    }
    let below = |half: usize| Sums::load(&panel.sums[half]).times(rows.below);
    let below = [below(0), below(1)];
    for row in &mut sums {
        *row = [
            row[0].sub(offsets[0]).times_128().sub(below[0]),
            row[1].sub(offsets[1]).times_128().sub(below[1]),
        ];
    }
    let low = &rows.low[tile * rows.quads..(tile + 1) * rows.quads];
    for (words, columns) in low.iter().zip(&panel.entries) {
        let (left, right) = (Bytes::load(&columns[0]), Bytes::load(&columns[1]));
        for row in 0..TILE {
            let word = Bytes::splat_word(&words[row]);
            sums[row][0] = sums[row][0].add_dot(left, word);
            sums[row][1] = sums[row][1].add_dot(right, word);
        }
    }
    let whole = |row: [Sums; 2]| [row[0].whole(), row[1].whole()];
    [
        whole(sums[0]),
        whole(sums[1]),
        whole(sums[2]),
        whole(sums[3]),
    ]
}

#[cfg(target_arch = "wasm32")]
mod imp {
    use super::I4;
    use std::arch::wasm32::*;

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub struct Bytes(v128);
    /// Four sums of 32 bits, which wrap around.
    #[derive(Clone, Copy)]
    pub struct Sums(v128);

    /// The high limbs of four numbers as a word, 64 added to each; and the low ones.
    #[inline(always)]
    pub fn limbs(numbers: I4, below: i32) -> [i32; 2] {
        let above = i32x4_add(numbers.0, i32x4_splat(8192 + below));
        let word = |lanes: v128| {
            let narrow = i16x8_narrow_i32x4(lanes, lanes);
            i32x4_extract_lane::<0>(u8x16_narrow_i16x8(narrow, narrow))
        };
        [
            word(u32x4_shr(above, 7)),
            word(v128_and(above, i32x4_splat(127))),
        ]
    }

    impl Bytes {
        #[inline(always)]
        pub fn load(from: &[i32; 4]) -> Self {
            // SAFETY: 16 readable bytes; v128.load accepts any alignment.
            Self(unsafe { v128_load(from.as_ptr().cast()) })
        }
        #[inline(always)]
        pub fn store(self, to: &mut [i32; 4]) {
            // SAFETY: 16 writable bytes; v128.store accepts any alignment.
            unsafe { v128_store(to.as_mut_ptr().cast(), self.0) }
        }
        /// Four times the same word.
        #[inline(always)]
        pub fn splat_word(word: &i32) -> Self {
            // SAFETY: 4 readable bytes.
            Self(unsafe { v128_load32_splat(std::ptr::from_ref(word).cast()) })
        }
        #[inline(always)]
        pub fn load_eight(from: &[u8; 8]) -> Self {
            // SAFETY: 8 readable bytes.
            Self(unsafe { v128_load64_zero(from.as_ptr().cast()) })
        }
        /// The first eight bytes of both in turn.
        #[inline(always)]
        pub fn interleave(self, other: Self) -> Self {
            Self(i8x16_shuffle::<
                0,
                16,
                1,
                17,
                2,
                18,
                3,
                19,
                4,
                20,
                5,
                21,
                6,
                22,
                7,
                23,
            >(self.0, other.0))
        }
        /// Pairs of bytes of both in turn, the first four and the last four pairs of each.
        #[inline(always)]
        pub fn interleave_pairs(self, other: Self) -> [Self; 2] {
            [
                Self(i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(self.0, other.0)),
                Self(i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(self.0, other.0)),
            ]
        }
    }

    impl Sums {
        #[inline(always)]
        pub fn zero() -> Self {
            Self(i32x4_splat(0))
        }
        #[inline(always)]
        pub fn load(from: &[i32; 4]) -> Self {
            Self(Bytes::load(from).0)
        }
        #[inline(always)]
        pub fn store(self, to: &mut [i32; 4]) {
            Bytes(self.0).store(to);
        }
        /// Adds the products of four signed bytes and four of 0 to 127 to each sum.
        #[target_feature(enable = "relaxed-simd")]
        #[inline]
        pub fn add_dot(self, signed: Bytes, seven_bits: Bytes) -> Self {
            Self(i32x4_relaxed_dot_i8x16_i7x16_add(
                signed.0,
                seven_bits.0,
                self.0,
            ))
        }
        #[inline(always)]
        pub fn sub(self, other: Self) -> Self {
            Self(i32x4_sub(self.0, other.0))
        }
        #[inline(always)]
        pub fn times(self, factor: i32) -> Self {
            Self(i32x4_mul(self.0, i32x4_splat(factor)))
        }
        #[inline(always)]
        pub fn times_128(self) -> Self {
            Self(i32x4_shl(self.0, 7))
        }
        #[inline(always)]
        pub fn whole(self) -> I4 {
            I4(self.0)
        }
    }
}

/// Arrays that do the same: tests compare both kernels on any machine.
#[cfg(not(target_arch = "wasm32"))]
mod imp {
    use super::I4;
    use std::array::from_fn;

    #[derive(Clone, Copy)]
    pub struct Bytes([u8; 16]);
    #[derive(Clone, Copy)]
    pub struct Sums([i32; 4]);

    pub fn limbs(numbers: I4, below: i32) -> [i32; 2] {
        let above = numbers.array().map(|number| number + 8192 + below);
        let word = |limb: fn(i32) -> i32| i32::from_le_bytes(above.map(|n| limb(n) as u8));
        [word(|n| n >> 7), word(|n| n & 127)]
    }

    impl Bytes {
        pub fn load(from: &[i32; 4]) -> Self {
            Self(from_fn(|n| from[n / 4].to_le_bytes()[n % 4]))
        }
        pub fn store(self, to: &mut [i32; 4]) {
            let words = self.0.as_chunks().0;
            *to = from_fn(|n| i32::from_le_bytes(words[n]));
        }
        pub fn splat_word(word: &i32) -> Self {
            Self::load(&[*word; 4])
        }
        pub fn load_eight(from: &[u8; 8]) -> Self {
            Self(from_fn(|n| from.get(n).copied().unwrap_or(0)))
        }
        pub fn interleave(self, other: Self) -> Self {
            Self(from_fn(|n| [self, other][n % 2].0[n / 2]))
        }
        pub fn interleave_pairs(self, other: Self) -> [Self; 2] {
            let byte = |n: usize| [self, other][n / 2 % 2].0[n / 4 * 2 + n % 2];
            [Self(from_fn(byte)), Self(from_fn(|n| byte(n + 16)))]
        }
    }

    impl Sums {
        pub fn zero() -> Self {
            Self([0; 4])
        }
        pub fn load(from: &[i32; 4]) -> Self {
            Self(*from)
        }
        pub fn store(self, to: &mut [i32; 4]) {
            *to = self.0;
        }
        pub fn add_dot(self, signed: Bytes, seven_bits: Bytes) -> Self {
            Self(from_fn(|lane| {
                (4 * lane..4 * lane + 4).fold(self.0[lane], |sum, n| {
                    let number = seven_bits.0[n];
                    assert!(number < 128, "{number} has more than seven bits");
                    sum.wrapping_add(i32::from(signed.0[n] as i8) * i32::from(number))
                })
            }))
        }
        pub fn sub(self, other: Self) -> Self {
            Self(from_fn(|n| self.0[n].wrapping_sub(other.0[n])))
        }
        pub fn times(self, factor: i32) -> Self {
            Self(self.0.map(|n| n.wrapping_mul(factor)))
        }
        pub fn times_128(self) -> Self {
            Self(self.0.map(|n| n << 7))
        }
        pub fn whole(self) -> I4 {
            I4::of(self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::gemm::{Bytes as Weights, Linear};
    use super::super::pairs;
    use super::*;

    /// Sums of both kernels for all rows, eight columns from `column` on.
    fn both(
        values: &[f32],
        width: usize,
        grid: Grid,
        weights: &[u8],
        column: usize,
    ) -> [Vec<[i32; 4]>; 2] {
        let outputs = weights.len() / width;
        let source = Source::whole(values, width);
        let (mut ours, mut theirs) = (Rows::default(), pairs::Rows::default());
        let (mut panel, mut wide) = (Panel::default(), pairs::Panel::default());
        ours.fill(source, grid);
        theirs.fill(source, grid);
        panel.fill(weights, outputs, column);
        wide.fill(weights, outputs, column);
        assert_eq!(ours.tiles(), theirs.tiles());
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        for tile in 0..ours.tiles() {
            let here = ours.rows_of(tile);
            assert_eq!(here, theirs.rows_of(tile));
            let sums = product(&ours, tile, &panel);
            let other = pairs::product(&theirs, tile, &wide);
            for (n, row) in here.enumerate() {
                assert_eq!(ours.scale(row), theirs.scale(row));
                found.extend(sums[n].map(I4::array));
                wanted.extend(other[n].map(I4::array));
            }
        }
        [found, wanted]
    }

    fn linear(inputs: usize) -> Linear {
        Linear {
            inputs,
            outputs: 8,
            weights: Weights::Own(Vec::new()),
            scales: Vec::new(),
            bias: Vec::new(),
        }
    }

    #[test]
    fn both_kernels_give_the_same_integers() {
        for (len, width, outputs) in [(1, 4, 8), (5, 12, 24), (9, 384, 16), (4, 4096, 8)] {
            // Every 29th number is large.
            let values: Vec<f32> = (0..len * width)
                .map(|n| (n as f32 * 0.731).sin() * if n % 29 == 3 { 100.0 } else { 3.0 })
                .collect();
            let weights: Vec<u8> = (0..width * outputs)
                .map(|n| (n * n * 31 + n * 7) as u8)
                .collect();
            for column in (0..outputs).step_by(8) {
                for grid in [linear(width).grid(), linear(width).grid_after_gelu()] {
                    let [found, wanted] = both(&values, width, grid, &weights, column);
                    assert_eq!(
                        found, wanted,
                        "{len} × {width} × {outputs}, column {column}"
                    );
                    assert!(found.iter().flatten().any(|sum| *sum != 0));
                }
            }
        }
    }

    /// 2096 · 8000 · 128 = 2146304000, just below 2^31.
    #[test]
    fn the_largest_sums_are_exact() {
        let width = 2096;
        for value in [1.0f32, -1.0] {
            let values = vec![value; width];
            let weights = vec![0x80; width * 8];
            let [found, wanted] = both(&values, width, Grid::full(8000.0), &weights, 0);
            let exact = -128 * 8000 * width as i32 * value as i32;
            assert!(found.iter().flatten().all(|sum| *sum == exact), "{found:?}");
            assert_eq!(found, wanted);
        }
    }
}
