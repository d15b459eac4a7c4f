//! Inner products, the one loop of every search: with SIMD on wasm32, plain elsewhere.

pub use kernel::{dot_f32, dot_i8};

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
        let mut sums = i32x4_splat(0);
        for (x, y) in blocks_a.iter().zip(blocks_b) {
            let (x, y) = (load(x), load(y));
            let low = i32x4_dot_i16x8(i16x8_extend_low_i8x16(x), i16x8_extend_low_i8x16(y));
            let high = i32x4_dot_i16x8(i16x8_extend_high_i8x16(x), i16x8_extend_high_i8x16(y));
            sums = i32x4_add(sums, i32x4_add(low, high));
        }
        let rest: i32 = rest_a
            .iter()
            .zip(rest_b)
            .map(|(x, y)| i32::from(*x) * i32::from(*y))
            .sum();
        let lanes = [
            i32x4_extract_lane::<0>(sums),
            i32x4_extract_lane::<1>(sums),
            i32x4_extract_lane::<2>(sums),
            i32x4_extract_lane::<3>(sums),
        ];
        lanes.iter().sum::<i32>() + rest
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
            assert_eq!(dot_i8(&row, &row), expected, "{n} bytes");
            assert_eq!(dot_f32(&floats, &floats), expected as f32, "{n} floats");
        }
    }

    #[test]
    fn the_largest_bytes_do_not_overflow() {
        assert_eq!(dot_i8(&[-128; 1024], &[-128; 1024]), 1024 * 16384);
        assert_eq!(dot_i8(&[-128; 1024], &[127; 1024]), -1024 * 16256);
    }
}
