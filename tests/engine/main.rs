//! The engine with its real model: vectors, search, evidence. A binary of its own, since it is
//! bearable only with an optimised library (`./dev test` asks for that).

mod collection;
#[path = "../it/files.rs"]
mod files;
mod index;
mod lost_similarity;
mod model;
mod retrieval;
mod search;
mod shaped;
mod twin;
