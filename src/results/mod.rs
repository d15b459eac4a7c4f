//! Result files and the numbers read off them. The format is Inspect's `EvalLog`, version 2; what
//! only we know lies under `metadata`. Needs no network and holds no key: no type here has one.

pub mod calibration;
pub mod corrected;
pub mod csv;
pub mod curves;
pub mod differences;
pub mod error;
pub mod figure;
pub mod file;
pub mod inspect;
pub mod judges;
pub mod lost;
pub mod measured;
pub mod paper;
pub mod table;

pub use error::ResultsError;
pub use file::{LoadedResult, Notice, ResultFile, SampleRow};
