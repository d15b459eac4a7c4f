//! The engine behind the messages: a queue of requests worked off in small steps.

use super::protocol::{FromWorker, ToWorker};

/// A message with the buffers to transfer beside it.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub message: FromWorker,
    pub buffers: Vec<Vec<u8>>,
}

/// Model, open histories and the queue. Pure: the host brings the clock and carries the messages.
pub struct Engine {}

impl Engine {
    /// `build` names this build in the handshake; `clock` gives milliseconds.
    pub fn new(build: &str, clock: fn() -> f64) -> Self {
        todo!()
    }

    /// Takes a request in. Cancels and refusals are answered at once, the rest is queued.
    pub fn accept(&mut self, message: ToWorker, buffers: Vec<Vec<u8>>) -> Vec<Outgoing> {
        todo!()
    }

    /// Does the next small piece of work, at most one passage, and says what to send.
    pub fn step(&mut self) -> Vec<Outgoing> {
        todo!()
    }

    /// Whether nothing is left to do.
    pub fn idle(&self) -> bool {
        todo!()
    }
}
