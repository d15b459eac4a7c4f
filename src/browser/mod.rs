//! The browser's edge: fetch, storage, files, clock, workers. Thin: decisions are made elsewhere.
//!
//! Nothing here is `Send`: hold these values in local signals or `StoredValue::new_local`.
//! Reading order: [`error`], [`clock`], [`abort`], [`page`] and [`fetch`] carry everything else;
//! [`store`] and [`cache`] remember, [`texts`] what was paid for; [`files`] and [`drop`] take in what
//! the visitor brings; [`dataset`], [`engine`] and [`transport`] bring data, vectors and replies, [`collection`] searches
//! a whole dataset, [`models`] are what the visitor brought to embed with; [`env`] joins them for a
//! run and [`persist`] keeps the run; [`secrets`] keeps a key, if the visitor wants that, and
//! [`signin`] fetches one. [`meter`] counts what calls cost, and [`tabs`] tells other tabs of runs.

pub mod abort;
mod body;
pub mod cache;
pub mod clock;
pub mod collection;
pub mod dataset;
pub mod drop;
pub mod engine;
pub mod engines;
pub mod env;
pub mod error;
pub mod fetch;
pub mod files;
mod flight;
mod gate;
mod going_on;
pub mod hash;
mod kept;
mod library;
mod locks;
pub mod meter;
mod model;
pub mod models;
mod origin;
pub mod page;
pub mod persist;
mod pool;
pub mod remote;
pub mod secrets;
mod shelf;
pub mod signin;
mod simd;
mod sources;
pub mod store;
pub mod tabs;
pub mod texts;
pub mod transport;
mod wire;
pub mod worker_client;
#[cfg(feature = "engine")]
pub mod worker_host;
