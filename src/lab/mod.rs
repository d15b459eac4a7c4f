//! Commands of the native tool `lab`. [`cli`] parses and prints; the work is in [`dataset`].

pub mod cli;
pub mod dataset;
pub mod error;
