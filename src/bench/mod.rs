//! Records of a benchmark and the dataset format that carries them.
//!
//! [`visible`] is all an agent may see, [`hidden`] is what only the judge and the reader may see.

pub mod hidden;
pub mod ids;
pub mod manifest;
pub mod taxonomy;
pub mod visible;
