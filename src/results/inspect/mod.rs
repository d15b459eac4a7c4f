//! Inspect's `EvalLog`, version 2: instance = sample, repeat = epoch, system = solver, judge =
//! scorer, requirement = key of the score's value, stage = span.

pub mod read;
pub mod write;

pub use read::read;
pub use write::{EvalLog, FileMeta, group, write};
