//! Whether this browser's WebAssembly has relaxed SIMD, and so which program of the engine it runs.

use js_sys::{Uint8Array, WebAssembly};
use std::cell::Cell;

/// A module of one function, `i32x4.relaxed_dot_i8x16_i7x16_add_s` of three vectors of zeros: valid
/// only where the instruction is known.
const RELAXED: &[u8] = &[
    0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0, // magic, version
    1, 4, 1, 0x60, 0, 0, // types: one, from nothing to nothing
    3, 2, 1, 0, // functions: one, of that type
    10, 20, 1, 18, 0, // code: one body of 18 bytes, no locals
    0x41, 0, 0xfd, 0x0f, // i32.const 0, i8x16.splat
    0x41, 0, 0xfd, 0x0f, 0x41, 0, 0xfd, 0x0f, // twice more
    0xfd, 0x93, 0x02, 0x1a, 0x0b, // the instruction, drop, end
];

thread_local! {
    /// Known once it was asked for; `false` as well when the program did not start.
    static FITS: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether the engine's program with relaxed SIMD is the one to start.
pub(super) fn relaxed() -> bool {
    FITS.get().unwrap_or_else(|| {
        let fits = WebAssembly::validate(&Uint8Array::from(RELAXED)).unwrap_or(false);
        FITS.set(Some(fits));
        fits
    })
}

/// The program did not start: the plain one is taken for the rest of this visit.
pub(super) fn refuse() {
    FITS.set(Some(false));
}
