//! What to do after a failed call.

use super::LlmError;
use super::quirks::Quirks;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Calls in all, the first included.
    pub max_attempts: u32,
    /// First wait when the server names none; doubles with each attempt.
    pub base_seconds: f64,
    /// No wait is longer, whatever the server asks for.
    pub max_wait_seconds: f64,
    /// Calls in all when nothing is known about why the server was not reached.
    pub max_unreachable_attempts: u32,
    /// 0 to 1, from the caller's random numbers: spreads waits that are ours.
    pub jitter: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            base_seconds: 1.0,
            max_wait_seconds: 60.0,
            max_unreachable_attempts: 2,
            jitter: 0.5,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The same request again after a wait.
    RetryAfter {
        seconds: f64,
        /// For the visitor, for example that a longer wait was asked for.
        note: Option<String>,
    },
    /// Again at once, encoded with these quirks, which are to be remembered for the endpoint.
    RetryWith { quirks: Quirks, note: String },
    /// Again at once with this output limit in tokens.
    RetryLonger { max_tokens: u32, note: String },
    /// Give the error to the caller.
    Stop,
}

/// `attempt` counts from 1; `max_tokens` is the limit the failed request carried.
pub fn decide(
    error: &LlmError,
    attempt: u32,
    quirks: &Quirks,
    max_tokens: Option<u32>,
    policy: &Policy,
) -> Decision {
    todo!()
}
