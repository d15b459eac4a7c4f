//! The engine worker: messages between page and worker, and the engine that answers them.

pub mod engine;
mod library;
mod opening;
pub mod protocol;
mod task;
