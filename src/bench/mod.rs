//! Records of a benchmark and the dataset format that carries them.
//!
//! [`visible`] is all an agent may see, [`hidden`] is what only the judge and the reader may see.
//! Reading goes [`limits`] (before the bytes) → [`hash`] → [`manifest`], [`index`] or [`shard`];
//! below them [`unpack`] → [`lines`] → [`json`] turn bytes to [`records`] piece by piece, so that a
//! page stays responsive. Everything that can go wrong is a [`error::DataError`].

pub mod error;
pub mod filter;
pub mod hash;
pub mod hidden;
pub mod ids;
pub mod index;
pub mod json;
pub mod limits;
pub mod lines;
pub mod manifest;
pub mod records;
pub mod shard;
mod shard_check;
pub mod source;
pub mod taxonomy;
pub mod unpack;
pub mod visible;
