//! Commands of the native tool `lab`. [`cli`] parses and prints; the work is in [`dataset`] and
//! [`eval`].

pub mod cli;
pub mod dataset;
pub mod error;
pub mod eval;
pub mod native_env;
pub mod recall;
