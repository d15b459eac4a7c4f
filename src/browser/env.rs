//! What a run needs, over the engine worker, the visitor's endpoint and the journal.

use super::abort::Abort;
use super::engine::Engine;
use super::store::Store;
use super::transport::Transport;
use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hidden::Check;
use crate::embed::Hit;
use crate::llm::Chat;
use crate::run::{CallRole, Env, RunEvent, StepError};
use crate::worker::protocol::{CheckOutcome, SearchMethod};
use serde_json::Value;
use std::rc::Rc;

/// Parts of a [`BrowserEnv`].
pub struct EnvParts {
    /// Names the journal: calls of one run are never paid twice.
    pub run_id: String,
    pub engine: Engine,
    /// Key of the history opened in the engine.
    pub history: String,
    pub method: SearchMethod,
    pub transport: Transport,
    pub store: Store,
    pub abort: Abort,
    /// Gets stages and streamed text.
    pub on_event: Rc<dyn Fn(RunEvent)>,
}

/// [`Env`] in the browser.
pub struct BrowserEnv {
    parts: EnvParts,
}

impl BrowserEnv {
    pub fn new(parts: EnvParts) -> Self {
        Self { parts }
    }
}

impl Env for BrowserEnv {
    async fn search(&self, _queries: &[String], _top_k: u32) -> Result<Vec<Vec<Hit>>, StepError> {
        todo!()
    }

    async fn embed(&self, _texts: &[String]) -> Result<Vec<Vec<f32>>, StepError> {
        todo!()
    }

    async fn check(
        &self,
        _output: &Value,
        _checks: &[Check],
    ) -> Result<Vec<CheckOutcome>, StepError> {
        todo!()
    }

    async fn chat(
        &self,
        _role: CallRole,
        _chat: Chat,
        _prompt: PromptRef,
    ) -> Result<CallRecord, StepError> {
        todo!()
    }

    fn now_ms(&self) -> f64 {
        super::clock::now_ms()
    }

    fn emit(&self, event: RunEvent) {
        (self.parts.on_event)(event);
    }
}
