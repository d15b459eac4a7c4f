//! Holds calls back until their endpoint may be asked: obeys [`Pace`], one for each host.

use super::abort::Abort;
use super::clock::{now_ms, sleep};
use crate::llm::address::Address;
use crate::llm::http::HttpResponse;
use crate::llm::pace::{Ended, Pace, Start};
use crate::llm::{Chat, LlmError, truncation};
use futures::future::{Either, select};
use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::pin;
use std::rc::Rc;

/// How often a call looks whether one before it has ended.
const LOOK_MS: f64 = 60.0;

/// The gates to all hosts. Handle.
#[derive(Clone, Default)]
pub(super) struct Gates(Rc<RefCell<HashMap<String, Pace>>>);

/// Leave to make one call; ends with it.
pub(super) struct Pass {
    gates: Gates,
    host: String,
    started_ms: f64,
    ended: bool,
}

impl Gates {
    /// Waits for a turn. `held` hears how many seconds the wait is expected to take, when it is one
    /// that a visitor notices.
    pub async fn pass(
        &self,
        base_url: &str,
        chat: &Chat,
        held: impl Fn(f64),
        abort: &Abort,
    ) -> Result<Pass, LlmError> {
        let (host, tokens) = (host(base_url), tokens(chat));
        let mut told = false;
        loop {
            let now = now_ms();
            let wait = match self.with(&host, |pace| pace.may_start(now, tokens)) {
                Start::Now => {
                    self.with(&host, |pace| pace.started(tokens));
                    return Ok(Pass {
                        gates: self.clone(),
                        host,
                        started_ms: now,
                        ended: false,
                    });
                }
                Start::At(at) => {
                    if !std::mem::replace(&mut told, true) && at - now > 1000.0 {
                        held((at - now) / 1000.0);
                    }
                    (at - now).clamp(1.0, 1000.0)
                }
                Start::AfterOne => LOOK_MS,
            };
            let stopped = pin!(abort.aborted());
            if let Either::Right(_) = select(pin!(sleep(wait as u32)), stopped).await {
                return Err(LlmError::Cancelled);
            }
        }
    }

    /// Takes the limits that a response names.
    pub fn learn(&self, base_url: &str, response: &HttpResponse) {
        self.with(&host(base_url), |pace| pace.learn(response, now_ms()));
    }

    fn with<T>(&self, host: &str, act: impl FnOnce(&mut Pace) -> T) -> T {
        act(self.0.borrow_mut().entry(host.to_owned()).or_default())
    }
}

impl Pass {
    /// Tells the gate how the call went.
    pub fn end<T>(mut self, outcome: &Result<T, LlmError>) {
        self.finish(match outcome {
            Ok(_) => Ended::Answered,
            Err(error @ LlmError::RateLimited { .. }) => Ended::Limited {
                wait_seconds: error.wait_seconds(),
            },
            Err(_) => Ended::Failed,
        });
    }

    fn finish(&mut self, how: Ended) {
        if !std::mem::replace(&mut self.ended, true) {
            let (started, now) = (self.started_ms, now_ms());
            self.gates
                .with(&self.host, |pace| pace.ended(started, now, how));
        }
    }
}

/// A call that was dropped frees its place as well.
impl Drop for Pass {
    fn drop(&mut self) {
        self.finish(Ended::Failed);
    }
}

fn host(base_url: &str) -> String {
    Address::parse(base_url).map_or_else(|_| base_url.to_owned(), |address| address.origin())
}

/// What a provider counts towards its limit: the prompt, and the answer at its longest.
fn tokens(chat: &Chat) -> u64 {
    truncation::prompt_tokens(chat) + u64::from(chat.max_tokens.unwrap_or(0))
}
