//! Commands of the native tool `lab`. [`cli`] parses and prints; the work is in [`dataset`],
//! [`eval`], [`decode`] and [`read`].

pub mod cli;
pub mod dataset;
pub mod decode;
pub mod error;
pub mod eval;
pub mod model;
pub mod native_env;
pub mod read;
pub mod recall;
pub mod record;
pub mod retrieval;
