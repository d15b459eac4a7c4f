//! The engine worker: messages between page and worker, and the engine that answers them.

pub mod engine;
pub mod protocol;
