//! Inspect's `EvalLog`, version 2: instance = sample, repeat = epoch, system = solver, judge =
//! scorer, requirement = key of the score's value, stage = span.

mod container;
mod events;
mod json;
mod lenient;
pub mod read;
mod sample;
mod scores;
mod time;
mod usage;
mod wire;
pub mod write;

pub use read::read;
pub use write::{EvalLog, FileMeta, group, write, write_small};
