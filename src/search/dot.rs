//! Inner products, the one loop of every search: with SIMD on wasm32, plain elsewhere.

pub use kernel::{dot_f32, dot_i8, dot_wide, four_dots_wide};

/// Plain loops over lanes, which compilers vectorise.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod kernel {
    /// Sum of products of two rows of equal length.
    pub fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
        a.iter()
            .zip(b)
            .map(|(x, y)| i32::from(*x) * i32::from(*y))
            .sum()
    }

    /// As [`dot_i8`], with one side widened before: the query of a scan.
    pub fn dot_wide(row: &[i8], query: &[i16]) -> i32 {
        row.iter()
            .zip(query)
            .map(|(x, y)| i32::from(*x) * i32::from(*y))
            .sum()
    }

    /// [`dot_wide`] of four rows.
    pub fn four_dots_wide(rows: [&[i8]; 4], query: &[i16]) -> [i32; 4] {
        rows.map(|row| dot_wide(row, query))
    }

    /// Sum of products of two rows of equal length.
    pub fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
        const LANES: usize = 8;
        let (blocks_a, rest_a) = a.as_chunks::<LANES>();
        let (blocks_b, rest_b) = b.as_chunks::<LANES>();
        let mut sums = [0f32; LANES];
        for (x, y) in blocks_a.iter().zip(blocks_b) {
            for lane in 0..LANES {
                sums[lane] += x[lane] * y[lane];
            }
        }
        let rest: f32 = rest_a.iter().zip(rest_b).map(|(x, y)| x * y).sum();
        sums.iter().sum::<f32>() + rest
    }
}

/// The size-optimised wasm build does not vectorise loops, so the lanes are written out.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod kernel {
    use std::arch::wasm32::*;

    /// Sum of products of two rows of equal length.
    pub fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
        let (blocks_a, rest_a) = a.as_chunks::<16>();
        let (blocks_b, rest_b) = b.as_chunks::<16>();
        let mut sums = [i32x4_splat(0); 2];
        for (x, y) in blocks_a.iter().zip(blocks_b) {
            for (half, sum) in sums.iter_mut().enumerate() {
                let product = i32x4_dot_i16x8(widen(x, half), widen(y, half));
                *sum = i32x4_add(*sum, product);
            }
        }
        let rest: i32 = rest_a
            .iter()
            .zip(rest_b)
            .map(|(x, y)| i32::from(*x) * i32::from(*y))
            .sum();
        total(i32x4_add(sums[0], sums[1])) + rest
    }

    /// As [`dot_i8`], with one side widened before: the query of a scan.
    pub fn dot_wide(row: &[i8], query: &[i16]) -> i32 {
        let (blocks, rest) = row.as_chunks::<32>();
        let (wide, rest_wide) = query.as_chunks::<32>();
        let mut sums = [i32x4_splat(0); 4];
        for (x, y) in blocks.iter().zip(wide) {
            let (x, _) = x.as_chunks::<16>();
            let (y, _) = y.as_chunks::<8>();
            for (part, sum) in sums.iter_mut().enumerate() {
                let product = i32x4_dot_i16x8(widen(&x[part / 2], part % 2), load(&y[part]));
                *sum = i32x4_add(*sum, product);
            }
        }
        let rest: i32 = rest
            .iter()
            .zip(rest_wide)
            .map(|(x, y)| i32::from(*x) * i32::from(*y))
            .sum();
        let [a, b, c, d] = sums;
        total(i32x4_add(i32x4_add(a, b), i32x4_add(c, d))) + rest
    }

    /// [`dot_wide`] of four rows; the query is loaded once for all.
    pub fn four_dots_wide(rows: [&[i8]; 4], query: &[i16]) -> [i32; 4] {
        let width = query.len();
        assert!(
            rows.iter().all(|row| row.len() == width),
            "rows as wide as the query"
        );
        let mut sums = [i32x4_splat(0); 4];
        let (blocks, rest) = query.as_chunks::<8>();
        for (at, block) in blocks.iter().enumerate() {
            let block = load(block);
            for (row, sum) in rows.iter().zip(&mut sums) {
                // SAFETY: the block ends within the width, and so do these 8 bytes within the row;
                // any alignment will do.
                let bytes = unsafe { i16x8_load_extend_i8x8(row.as_ptr().add(8 * at)) };
                *sum = i32x4_add(*sum, i32x4_dot_i16x8(bytes, block));
            }
        }
        let from = width - rest.len();
        std::array::from_fn(|row| {
            let pairs = rows[row][from..].iter().zip(rest);
            let rest: i32 = pairs.map(|(x, y)| i32::from(*x) * i32::from(*y)).sum();
            total(sums[row]) + rest
        })
    }

    /// Sum of products of two rows of equal length.
    pub fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
        let (blocks_a, rest_a) = a.as_chunks::<4>();
        let (blocks_b, rest_b) = b.as_chunks::<4>();
        let mut sums = f32x4_splat(0.0);
        for (x, y) in blocks_a.iter().zip(blocks_b) {
            sums = f32x4_add(sums, f32x4_mul(load(x), load(y)));
        }
        let rest: f32 = rest_a.iter().zip(rest_b).map(|(x, y)| x * y).sum();
        let lanes = [
            f32x4_extract_lane::<0>(sums),
            f32x4_extract_lane::<1>(sums),
            f32x4_extract_lane::<2>(sums),
            f32x4_extract_lane::<3>(sums),
        ];
        lanes.iter().sum::<f32>() + rest
    }

    fn total(sums: v128) -> i32 {
        i32x4_extract_lane::<0>(sums)
            + i32x4_extract_lane::<1>(sums)
            + i32x4_extract_lane::<2>(sums)
            + i32x4_extract_lane::<3>(sums)
    }

    /// Half of a block as 16-bit numbers, in one instruction.
    #[inline(always)]
    fn widen(block: &[i8; 16], half: usize) -> v128 {
        debug_assert!(half < 2);
        // SAFETY: half is 0 or 1, so the 8 bytes lie within the block; any alignment will do.
        unsafe { i16x8_load_extend_i8x8(block.as_ptr().add(8 * half)) }
    }

    fn load<T, const N: usize>(block: &[T; N]) -> v128 {
        const { assert!(size_of::<T>() * N == 16) };
        // SAFETY: the block is 16 readable bytes, and v128.load accepts any alignment.
        unsafe { v128_load(block.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_and_remainders_count() {
        // 1 + 4 + … + n² = n(n+1)(2n+1)/6
        for (n, expected) in [(0, 0), (1, 1), (15, 1240), (16, 1496), (37, 17575)] {
            let row: Vec<i8> = (1..=n).collect();
            let floats: Vec<f32> = row.iter().map(|x| f32::from(*x)).collect();
            let wide: Vec<i16> = row.iter().map(|x| i16::from(*x)).collect();
            assert_eq!(dot_i8(&row, &row), expected, "{n} bytes");
            assert_eq!(dot_wide(&row, &wide), expected, "{n} bytes and words");
            assert_eq!(dot_f32(&floats, &floats), expected as f32, "{n} floats");
        }
    }

    #[test]
    fn four_rows_at_once_are_four_rows() {
        for width in [0usize, 1, 7, 8, 37] {
            let rows: Vec<i8> = (0..4 * width).map(|n| (n % 23) as i8 - 11).collect();
            let query: Vec<i16> = (0..width as i16).map(|n| n - 5).collect();
            let by_one: Vec<i32> = (0..4)
                .map(|row| {
                    let row = &rows[row * width..(row + 1) * width];
                    let pairs = row.iter().zip(&query);
                    pairs.map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
                })
                .collect();
            let four = std::array::from_fn(|n| &rows[n * width..(n + 1) * width]);
            assert_eq!(four_dots_wide(four, &query).to_vec(), by_one, "{width}");
        }
    }

    #[test]
    fn the_largest_bytes_do_not_overflow() {
        assert_eq!(dot_i8(&[-128; 1024], &[-128; 1024]), 1024 * 16384);
        assert_eq!(dot_i8(&[-128; 1024], &[127; 1024]), -1024 * 16256);
        assert_eq!(dot_wide(&[-128; 1024], &[127; 1024]), -1024 * 16256);
    }
}
