//! What a run needs, over the engine worker, the visitor's endpoints and the journal.

use super::abort::Abort;
use super::engine::{Engine, EngineError};
use super::going_on::GoingOn;
use super::store::{Drawer, Store};
use super::transport::{Endpoint, Heard, OnHeard, Transport};
use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hidden::Check;
use crate::embed::Hit;
use crate::llm::{Chat, LlmError};
use crate::run::journal::Names;
use crate::run::{CallRole, Env, RunEvent, StepError};
use crate::worker::protocol::{CheckOutcome, SearchMethod};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// Parts of a [`BrowserEnv`].
pub struct EnvParts {
    /// Names the journal: calls of one run are never paid twice.
    pub run_id: String,
    /// With its model loaded and the history open.
    pub engine: Engine,
    /// Key of the history opened in the engine.
    pub history: String,
    pub method: SearchMethod,
    pub transport: Transport,
    /// Where the agent's calls go; none for the embedded baseline.
    pub agent: Option<Endpoint>,
    /// Where the judges' calls go, in the order of the panel.
    pub graders: Vec<Endpoint>,
    pub store: Store,
    pub abort: Abort,
    /// Gets stages and streamed text.
    pub on_event: Rc<dyn Fn(RunEvent)>,
}

/// [`Env`] in the browser, for one pass over one run.
pub struct BrowserEnv {
    parts: EnvParts,
    names: RefCell<Names>,
    /// Keeps other tabs from offering to resume this run.
    _going_on: GoingOn,
}

impl BrowserEnv {
    pub fn new(parts: EnvParts) -> Self {
        let names = RefCell::new(Names::new(&parts.run_id));
        let _going_on = GoingOn::mark(&parts.run_id);
        Self {
            parts,
            names,
            _going_on,
        }
    }

    fn endpoint(&self, role: CallRole) -> Result<&Endpoint, StepError> {
        let (endpoint, whose) = match role {
            CallRole::Agent => (self.parts.agent.as_ref(), "agent"),
            CallRole::Grader(n) => (self.parts.graders.get(usize::from(n)), "judge"),
        };
        let missing = || {
            StepError::Model(format!(
                "no model is set for the {whose}; name an endpoint in the settings"
            ))
        };
        endpoint.ok_or_else(missing)
    }

    async fn answered(&self, name: &str) -> Option<CallRecord> {
        let text = self.parts.store.get(Drawer::Journal, name).await?;
        let record: CallRecord = serde_json::from_str(&text).ok()?;
        Some(CallRecord {
            from_journal: true,
            ..record
        })
    }

    /// The reply is kept before the pipeline goes on with it.
    async fn write_down(&self, name: &str, record: &CallRecord) {
        if let Ok(text) = serde_json::to_string(record) {
            self.parts.store.put(Drawer::Journal, name, text).await;
        }
    }

    fn listener(&self) -> OnHeard {
        let on_event = Rc::clone(&self.parts.on_event);
        Rc::new(move |heard| {
            on_event(match heard {
                Heard::Text(text) => RunEvent::Delta {
                    text: text.to_owned(),
                },
                Heard::Again {
                    reason,
                    wait_seconds,
                } => RunEvent::Retrying {
                    reason,
                    wait_seconds,
                },
            });
        })
    }
}

impl Env for BrowserEnv {
    async fn search(&self, queries: &[String], top_k: u32) -> Result<Vec<Vec<Hit>>, StepError> {
        let EnvParts {
            engine,
            history,
            method,
            abort,
            ..
        } = &self.parts;
        engine
            .search(history, queries, top_k, *method, abort)
            .await
            .map_err(engine_step)
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, StepError> {
        self.parts
            .engine
            .embed(texts, &self.parts.abort)
            .await
            .map_err(engine_step)
    }

    async fn check(
        &self,
        output: &Value,
        checks: &[Check],
    ) -> Result<Vec<CheckOutcome>, StepError> {
        self.parts
            .engine
            .check(output, checks, &self.parts.abort)
            .await
            .map_err(engine_step)
    }

    async fn chat(
        &self,
        role: CallRole,
        chat: Chat,
        prompt: PromptRef,
    ) -> Result<CallRecord, StepError> {
        let endpoint = self.endpoint(role)?;
        let name = self.names.borrow_mut().next(role, &prompt, &chat);
        if let Some(record) = self.answered(&name).await {
            return Ok(record);
        }
        let listener = self.listener();
        let call = self
            .parts
            .transport
            .chat(endpoint, &chat, &listener, &self.parts.abort);
        let delivered = call.await.map_err(model_step)?;
        let mut reply = delivered.reply;
        reply.warnings.extend(delivered.notes);
        let record = CallRecord {
            role: role.as_str().to_owned(),
            base_url: endpoint.base_url.clone(),
            request: delivered.chat,
            reply,
            prompt,
            started_ms: delivered.started_ms,
            duration_ms: delivered.duration_ms,
            from_journal: false,
            retries: delivered.retries,
            sent: delivered.sent,
        };
        self.write_down(&name, &record).await;
        Ok(record)
    }

    fn now_ms(&self) -> f64 {
        super::clock::now_ms()
    }

    fn emit(&self, event: RunEvent) {
        (self.parts.on_event)(event);
    }
}

fn engine_step(error: EngineError) -> StepError {
    match error {
        EngineError::Cancelled => StepError::Cancelled,
        error => StepError::Engine(sentence(&error, error.hint())),
    }
}

fn model_step(error: LlmError) -> StepError {
    match error {
        LlmError::Cancelled => StepError::Cancelled,
        error => StepError::Model(sentence(&error, error.hint().as_deref())),
    }
}

/// What happened and what to do next.
fn sentence(error: &impl std::fmt::Display, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{error}. {hint}"),
        None => error.to_string(),
    }
}
