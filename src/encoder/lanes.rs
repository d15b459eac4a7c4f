//! Four floats or integers at once: WebAssembly's simd128, the same operations of every x86-64,
//! and plain arrays elsewhere. All three give the same bits, so that native and browser agree.

pub(super) use imp::{F4, H8, I4};

impl F4 {
    /// `self * factor + term`, rounded twice: no fused operation, which only some machines have.
    #[inline(always)]
    pub fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }

    #[inline(always)]
    pub fn sum(self) -> f32 {
        let [a, b, c, d] = self.array();
        (a + c) + (b + d)
    }

    #[inline(always)]
    pub fn largest(self) -> f32 {
        let [a, b, c, d] = self.array();
        a.max(b).max(c.max(d))
    }

    /// The natural exponential, relative error below 3e-7; what is below -87 gives nearly 0.
    #[inline(always)]
    pub fn exp(self) -> Self {
        let x = self.max(Self::splat(-87.0)).min(Self::splat(88.0));
        // x = n ln 2 + r with |r| at most ln 2 / 2; ln 2 in two parts, so that n ln 2 is exact.
        let n = x.mul(Self::splat(std::f32::consts::LOG2_E)).round();
        let whole = n.float();
        let r = whole.mul_add(Self::splat(-0.693_359_4), x);
        let r = whole.mul_add(Self::splat(2.121_944_4e-4), r);
        // The polynomial of Cephes' expf.
        let mut p = Self::splat(1.987_569_1e-4);
        for c in [
            1.398_199_9e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            1.666_666_5e-1,
            0.5,
        ] {
            p = p.mul_add(r, Self::splat(c));
        }
        let p = p.mul_add(r.mul(r), r).add(Self::splat(1.0));
        p.mul(n.power_of_two())
    }

    /// The error function, absolute error below 2e-7: a rational approximation on [-4, 4].
    #[inline(always)]
    pub fn erf(self) -> Self {
        let x = self.max(Self::splat(-4.0)).min(Self::splat(4.0));
        let square = x.mul(x);
        let mut top = Self::splat(-2.726_142_4e-10);
        for c in [
            2.770_681_4e-8,
            -2.101_024e-6,
            -5.692_506_4e-5,
            -7.349_906_3e-4,
            -2.954_6e-3,
            -1.609_603_3e-2,
        ] {
            top = top.mul_add(square, Self::splat(c));
        }
        let mut bottom = Self::splat(-1.456_607_2e-5);
        for c in [
            -2.133_740_6e-4,
            -1.682_827e-3,
            -7.373_329_3e-3,
            -1.426_473_9e-2,
        ] {
            bottom = bottom.mul_add(square, Self::splat(c));
        }
        x.mul(top).div(bottom)
    }

    /// x Φ(x): the Gaussian error linear unit of the BERT family.
    #[inline(always)]
    pub fn gelu(self) -> Self {
        let half = self.mul(Self::splat(0.5));
        let erf = self.mul(Self::splat(std::f32::consts::FRAC_1_SQRT_2)).erf();
        half.mul(erf.add(Self::splat(1.0)))
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod imp {
    use std::arch::wasm32::*;

    #[derive(Clone, Copy)]
    pub struct F4(v128);
    /// Open to `limbs`, whose instructions are of relaxed SIMD.
    #[derive(Clone, Copy)]
    pub struct I4(pub(in crate::encoder) v128);
    /// Eight 16-bit integers.
    #[derive(Clone, Copy)]
    pub struct H8(v128);

    impl F4 {
        #[inline(always)]
        pub fn splat(x: f32) -> Self {
            Self(f32x4_splat(x))
        }
        #[inline(always)]
        pub fn load(from: &[f32; 4]) -> Self {
            // SAFETY: 16 readable bytes; v128.load accepts any alignment.
            Self(unsafe { v128_load(from.as_ptr().cast()) })
        }
        #[inline(always)]
        pub fn store(self, to: &mut [f32; 4]) {
            // SAFETY: 16 writable bytes; v128.store accepts any alignment.
            unsafe { v128_store(to.as_mut_ptr().cast(), self.0) }
        }
        #[inline(always)]
        pub fn add(self, other: Self) -> Self {
            Self(f32x4_add(self.0, other.0))
        }
        #[inline(always)]
        pub fn sub(self, other: Self) -> Self {
            Self(f32x4_sub(self.0, other.0))
        }
        #[inline(always)]
        pub fn mul(self, other: Self) -> Self {
            Self(f32x4_mul(self.0, other.0))
        }
        #[inline(always)]
        pub fn div(self, other: Self) -> Self {
            Self(f32x4_div(self.0, other.0))
        }
        #[inline(always)]
        pub fn max(self, other: Self) -> Self {
            Self(f32x4_pmax(other.0, self.0))
        }
        #[inline(always)]
        pub fn min(self, other: Self) -> Self {
            Self(f32x4_pmin(other.0, self.0))
        }
        #[inline(always)]
        pub fn abs(self) -> Self {
            Self(f32x4_abs(self.0))
        }
        /// To the nearest integer, ties to even.
        #[inline(always)]
        pub fn round(self) -> I4 {
            I4(i32x4_trunc_sat_f32x4(f32x4_nearest(self.0)))
        }
        #[inline(always)]
        pub fn array(self) -> [f32; 4] {
            let mut out = [0.0; 4];
            self.store(&mut out);
            out
        }
    }

    impl I4 {
        #[inline(always)]
        pub fn zero() -> Self {
            Self(i32x4_splat(0))
        }
        #[inline(always)]
        pub fn add(self, other: Self) -> Self {
            Self(i32x4_add(self.0, other.0))
        }
        #[inline(always)]
        pub fn float(self) -> F4 {
            F4(f32x4_convert_i32x4(self.0))
        }
        /// 2 to the power of each lane, which lies between -126 and 127.
        #[inline(always)]
        pub fn power_of_two(self) -> F4 {
            F4(i32x4_shl(i32x4_add(self.0, i32x4_splat(127)), 23))
        }
        /// Both as 16-bit integers, one after the other.
        #[inline(always)]
        pub fn narrow(self, other: Self) -> H8 {
            H8(i16x8_narrow_i32x4(self.0, other.0))
        }
        /// As 16-bit integers, two to a word: lanes 0 and 1, lanes 2 and 3.
        #[inline(always)]
        pub fn pairs(self) -> [i32; 2] {
            let narrow = i16x8_narrow_i32x4(self.0, self.0);
            [
                i32x4_extract_lane::<0>(narrow),
                i32x4_extract_lane::<1>(narrow),
            ]
        }
    }

    impl H8 {
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
        /// Four times the same pair.
        #[inline(always)]
        pub fn splat_pair(pair: &i32) -> Self {
            // SAFETY: 4 readable bytes.
            Self(unsafe { v128_load32_splat(std::ptr::from_ref(pair).cast()) })
        }
        /// Eight bytes, extended.
        #[inline(always)]
        pub fn load_bytes(from: &[u8; 8]) -> Self {
            // SAFETY: 8 readable bytes.
            Self(unsafe { i16x8_load_extend_i8x8(from.as_ptr().cast()) })
        }
        /// Lanes of both in turn, the first four and the last four of each.
        #[inline(always)]
        pub fn interleave(self, other: Self) -> [Self; 2] {
            [
                Self(i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(self.0, other.0)),
                Self(i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(self.0, other.0)),
            ]
        }
        /// The sum of products of each pair of lanes.
        #[inline(always)]
        pub fn dot(self, other: Self) -> I4 {
            I4(i32x4_dot_i16x8(self.0, other.0))
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub struct F4(__m128);
    #[derive(Clone, Copy)]
    pub struct I4(__m128i);
    /// Eight 16-bit integers.
    #[derive(Clone, Copy)]
    pub struct H8(__m128i);

    // SAFETY, for all of this module: every x86-64 has SSE2, and loads and stores go through
    // references to arrays of their size, by the unaligned instructions.
    impl F4 {
        #[inline(always)]
        pub fn splat(x: f32) -> Self {
            Self(unsafe { _mm_set1_ps(x) })
        }
        #[inline(always)]
        pub fn load(from: &[f32; 4]) -> Self {
            Self(unsafe { _mm_loadu_ps(from.as_ptr()) })
        }
        #[inline(always)]
        pub fn store(self, to: &mut [f32; 4]) {
            unsafe { _mm_storeu_ps(to.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        pub fn add(self, other: Self) -> Self {
            Self(unsafe { _mm_add_ps(self.0, other.0) })
        }
        #[inline(always)]
        pub fn sub(self, other: Self) -> Self {
            Self(unsafe { _mm_sub_ps(self.0, other.0) })
        }
        #[inline(always)]
        pub fn mul(self, other: Self) -> Self {
            Self(unsafe { _mm_mul_ps(self.0, other.0) })
        }
        #[inline(always)]
        pub fn div(self, other: Self) -> Self {
            Self(unsafe { _mm_div_ps(self.0, other.0) })
        }
        #[inline(always)]
        pub fn max(self, other: Self) -> Self {
            Self(unsafe { _mm_max_ps(self.0, other.0) })
        }
        #[inline(always)]
        pub fn min(self, other: Self) -> Self {
            Self(unsafe { _mm_min_ps(self.0, other.0) })
        }
        #[inline(always)]
        pub fn abs(self) -> Self {
            Self(unsafe { _mm_andnot_ps(_mm_set1_ps(-0.0), self.0) })
        }
        /// To the nearest integer, ties to even.
        #[inline(always)]
        pub fn round(self) -> I4 {
            I4(unsafe { _mm_cvtps_epi32(self.0) })
        }
        #[inline(always)]
        pub fn array(self) -> [f32; 4] {
            let mut out = [0.0; 4];
            self.store(&mut out);
            out
        }
    }

    impl I4 {
        #[inline(always)]
        pub fn zero() -> Self {
            Self(unsafe { _mm_setzero_si128() })
        }
        #[cfg(test)]
        pub fn of(lanes: [i32; 4]) -> Self {
            Self(unsafe { _mm_loadu_si128(lanes.as_ptr().cast()) })
        }
        #[cfg(test)]
        pub fn array(self) -> [i32; 4] {
            let mut out = [0; 4];
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), self.0) };
            out
        }
        #[inline(always)]
        pub fn add(self, other: Self) -> Self {
            Self(unsafe { _mm_add_epi32(self.0, other.0) })
        }
        #[inline(always)]
        pub fn float(self) -> F4 {
            F4(unsafe { _mm_cvtepi32_ps(self.0) })
        }
        /// 2 to the power of each lane, which lies between -126 and 127.
        #[inline(always)]
        pub fn power_of_two(self) -> F4 {
            F4(unsafe {
                _mm_castsi128_ps(_mm_slli_epi32(
                    _mm_add_epi32(self.0, _mm_set1_epi32(127)),
                    23,
                ))
            })
        }
        /// Both as 16-bit integers, one after the other.
        #[inline(always)]
        pub fn narrow(self, other: Self) -> H8 {
            H8(unsafe { _mm_packs_epi32(self.0, other.0) })
        }
        /// As 16-bit integers, two to a word: lanes 0 and 1, lanes 2 and 3.
        #[inline(always)]
        pub fn pairs(self) -> [i32; 2] {
            let both = unsafe { _mm_cvtsi128_si64(_mm_packs_epi32(self.0, self.0)) };
            [both as i32, (both >> 32) as i32]
        }
    }

    impl H8 {
        #[inline(always)]
        pub fn load(from: &[i32; 4]) -> Self {
            Self(unsafe { _mm_loadu_si128(from.as_ptr().cast()) })
        }
        #[inline(always)]
        pub fn store(self, to: &mut [i32; 4]) {
            unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), self.0) }
        }
        /// Four times the same pair.
        #[inline(always)]
        pub fn splat_pair(pair: &i32) -> Self {
            Self(unsafe { _mm_set1_epi32(*pair) })
        }
        /// Eight bytes, extended.
        #[inline(always)]
        pub fn load_bytes(from: &[u8; 8]) -> Self {
            Self(unsafe {
                let bytes = _mm_loadl_epi64(from.as_ptr().cast());
                _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8)
            })
        }
        /// Lanes of both in turn, the first four and the last four of each.
        #[inline(always)]
        pub fn interleave(self, other: Self) -> [Self; 2] {
            unsafe {
                [
                    Self(_mm_unpacklo_epi16(self.0, other.0)),
                    Self(_mm_unpackhi_epi16(self.0, other.0)),
                ]
            }
        }
        /// The sum of products of each pair of lanes.
        #[inline(always)]
        pub fn dot(self, other: Self) -> I4 {
            I4(unsafe { _mm_madd_epi16(self.0, other.0) })
        }
    }
}

/// Arrays, which compilers turn into whatever the machine has.
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
mod imp {
    use std::array::from_fn;

    #[derive(Clone, Copy)]
    pub struct F4([f32; 4]);
    #[derive(Clone, Copy)]
    pub struct I4([i32; 4]);
    /// Eight 16-bit integers.
    #[derive(Clone, Copy)]
    pub struct H8([i16; 8]);

    impl F4 {
        pub fn splat(x: f32) -> Self {
            Self([x; 4])
        }
        pub fn load(from: &[f32; 4]) -> Self {
            Self(*from)
        }
        pub fn store(self, to: &mut [f32; 4]) {
            *to = self.0;
        }
        pub fn add(self, other: Self) -> Self {
            Self(from_fn(|n| self.0[n] + other.0[n]))
        }
        pub fn sub(self, other: Self) -> Self {
            Self(from_fn(|n| self.0[n] - other.0[n]))
        }
        pub fn mul(self, other: Self) -> Self {
            Self(from_fn(|n| self.0[n] * other.0[n]))
        }
        pub fn div(self, other: Self) -> Self {
            Self(from_fn(|n| self.0[n] / other.0[n]))
        }
        pub fn max(self, other: Self) -> Self {
            Self(from_fn(|n| {
                if self.0[n] > other.0[n] {
                    self.0[n]
                } else {
                    other.0[n]
                }
            }))
        }
        pub fn min(self, other: Self) -> Self {
            Self(from_fn(|n| {
                if self.0[n] < other.0[n] {
                    self.0[n]
                } else {
                    other.0[n]
                }
            }))
        }
        pub fn abs(self) -> Self {
            Self(self.0.map(f32::abs))
        }
        /// To the nearest integer, ties to even.
        pub fn round(self) -> I4 {
            I4(self.0.map(|x| x.round_ties_even() as i32))
        }
        pub fn array(self) -> [f32; 4] {
            self.0
        }
    }

    impl I4 {
        pub fn zero() -> Self {
            Self([0; 4])
        }
        #[cfg(test)]
        pub fn of(lanes: [i32; 4]) -> Self {
            Self(lanes)
        }
        #[cfg(test)]
        pub fn array(self) -> [i32; 4] {
            self.0
        }
        pub fn add(self, other: Self) -> Self {
            Self(from_fn(|n| self.0[n].wrapping_add(other.0[n])))
        }
        pub fn float(self) -> F4 {
            F4(self.0.map(|n| n as f32))
        }
        /// 2 to the power of each lane, which lies between -126 and 127.
        pub fn power_of_two(self) -> F4 {
            F4(self.0.map(|n| f32::from_bits(((n + 127) as u32) << 23)))
        }
        /// Both as 16-bit integers, one after the other.
        pub fn narrow(self, other: Self) -> H8 {
            let lane = |n: usize| if n < 4 { self.0[n] } else { other.0[n - 4] };
            H8(from_fn(|n| lane(n).clamp(-32768, 32767) as i16))
        }
        /// As 16-bit integers, two to a word: lanes 0 and 1, lanes 2 and 3.
        pub fn pairs(self) -> [i32; 2] {
            let [a, b, c, d] = self.0.map(|n| n.clamp(-32768, 32767));
            [(a & 0xffff) | (b << 16), (c & 0xffff) | (d << 16)]
        }
    }

    impl H8 {
        pub fn load(from: &[i32; 4]) -> Self {
            Self(from_fn(|n| (from[n / 2] >> (16 * (n % 2))) as i16))
        }
        pub fn store(self, to: &mut [i32; 4]) {
            *to =
                from_fn(|n| i32::from(self.0[2 * n] as u16) | (i32::from(self.0[2 * n + 1]) << 16));
        }
        /// Four times the same pair.
        pub fn splat_pair(pair: &i32) -> Self {
            Self(from_fn(|n| (pair >> (16 * (n % 2))) as i16))
        }
        /// Eight bytes, extended.
        pub fn load_bytes(from: &[u8; 8]) -> Self {
            Self(from.map(|byte| i16::from(byte as i8)))
        }
        /// Lanes of both in turn, the first four and the last four of each.
        pub fn interleave(self, other: Self) -> [Self; 2] {
            let lane = |n: usize| {
                if n % 2 == 0 {
                    self.0[n / 2]
                } else {
                    other.0[n / 2]
                }
            };
            [Self(from_fn(lane)), Self(from_fn(|n| lane(n + 8)))]
        }
        /// The sum of products of each pair of lanes.
        pub fn dot(self, other: Self) -> I4 {
            let product = |n: usize| i32::from(self.0[n]) * i32::from(other.0[n]);
            I4(from_fn(|n| product(2 * n).wrapping_add(product(2 * n + 1))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_of_the_whole_range() {
        for n in -870..=880 {
            let x = n as f32 / 10.0 + 0.0123;
            let x = x.min(88.0);
            let found = F4::splat(x).exp().array()[0];
            let wanted = f64::from(x).exp();
            let error = (f64::from(found) / wanted - 1.0).abs();
            assert!(error < 4e-7, "exp({x}) = {found}, wanted {wanted}");
        }
        assert!(F4::splat(-1e30).exp().array()[0] < 1e-37);
    }

    #[test]
    fn values_of_the_error_function() {
        // Abramowitz and Stegun, table 7.1.
        for (x, wanted) in [
            (0.0, 0.0),
            (0.1, 0.112_462_9),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (1.5, 0.966_105_1),
            (2.0, 0.995_322_3),
            (9.0, 1.0),
        ] {
            let found = F4::splat(x).erf().array()[0];
            assert!((found - wanted).abs() < 3e-7, "erf({x}) = {found}");
            let negative = F4::splat(-x).erf().array()[0];
            assert!((negative + wanted).abs() < 3e-7, "erf(-{x}) = {negative}");
        }
        // x Φ(x) at 1: Φ(1) = 0.841344746.
        let gelu = F4::splat(1.0).gelu().array()[0];
        assert!((gelu - 0.841_344_7).abs() < 3e-7, "{gelu}");
    }

    #[test]
    fn rounding_packing_and_products() {
        let x = F4::load(&[1.5, -2.5, 300.2, -4095.0]);
        assert_eq!(x.round().float().array(), [2.0, -2.0, 300.0, -4095.0]);
        let [low, high] = x.round().pairs();
        assert_eq!(low, (-2i32 << 16) | 2);
        assert_eq!(high, (-4095i32 << 16) | 300);
        let pair = H8::splat_pair(&high);
        let bytes = H8::load_bytes(&[1, 0xff, 2, 0, 127, 0x80, 0, 3]);
        // 300 a - 4095 b for the four pairs.
        assert_eq!(
            pair.dot(bytes).float().array(),
            [
                300.0 + 4095.0,
                600.0,
                300.0 * 127.0 + 4095.0 * 128.0,
                -12285.0
            ]
        );
        let [first, last] = bytes.interleave(H8::load_bytes(&[9, 8, 7, 6, 5, 4, 3, 2]));
        let mut words = [0; 4];
        first.store(&mut words);
        assert_eq!(words[0], (9 << 16) | 1);
        assert_eq!(words[1], (8 << 16) | 0xffff);
        last.store(&mut words);
        assert_eq!(words[3], (2 << 16) | 3);
        assert_eq!(
            H8::load(&words).dot(H8::splat_pair(&1)).float().array()[3],
            3.0
        );
    }
}
