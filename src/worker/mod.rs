//! The engine worker: messages between page and worker, and the engine that answers them.

#[cfg(feature = "engine")]
mod collection;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "engine")]
mod library;
#[cfg(feature = "engine")]
mod opening;
pub mod protocol;
#[cfg(feature = "engine")]
mod task;
#[cfg(feature = "engine")]
mod texts;
