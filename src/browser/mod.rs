//! The browser's edge: fetch, storage, files, clock, workers. Thin: decisions are made elsewhere.
//!
//! Nothing here is `Send`: hold these values in local signals or `StoredValue::new_local`.
//! Reading order: [`error`], [`clock`], [`abort`], [`fetch`] carry everything else; [`store`] and
//! [`cache`] remember; [`dataset`], [`engine`] and [`transport`] bring data, vectors and replies;
//! [`env`] joins them for a run and [`persist`] keeps the run.

pub mod abort;
pub mod cache;
pub mod clock;
pub mod dataset;
pub mod engine;
pub mod env;
pub mod error;
pub mod fetch;
pub mod files;
pub mod hash;
pub mod persist;
pub mod secrets;
pub mod store;
pub mod transport;
pub mod worker_client;
