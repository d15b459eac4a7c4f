//! What a run needs, over the engine worker, the visitor's endpoints and the journal.

use super::abort::Abort;
use super::clock::now_ms;
use super::engine::{Engine, EngineError, OnEngineProgress};
use super::going_on::GoingOn;
use super::remote::Remote;
use super::store::{Drawer, Store};
use super::transport::{Endpoint, Heard, OnHeard, Transport};
use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hidden::Check;
use crate::embed::Hit;
use crate::llm::{Chat, LlmError, Reply};
use crate::run::batch::Pending;
use crate::run::journal::Names;
use crate::run::replay::Tape;
use crate::run::{CallRole, Env, RunEvent, StepError, cut_note};
use crate::search::lexical::word_vector;
use crate::settings::BY_HAND;
use crate::worker::protocol::{CheckOutcome, SearchMethod};
use futures::channel::oneshot;
use futures::future::{Either, select};
use serde_json::Value;
use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

/// A prompt to be answered by the visitor.
pub struct Ask {
    /// Whose call it is, and which prompt.
    pub role: CallRole,
    pub prompt: PromptRef,
    pub chat: Chat,
    /// Takes the answer; dropping it cancels the run.
    pub answer: oneshot::Sender<String>,
}

/// Shows an [`Ask`] to the visitor.
pub type OnAsk = Rc<dyn Fn(Ask)>;

/// Where answers come from.
#[derive(Clone)]
pub enum Source {
    /// From the endpoints, or by hand where the endpoint says so.
    Live,
    /// From the calls of an earlier run, and from nowhere else.
    Replay(Rc<RefCell<Tape>>),
    /// From a file, later: what is missing is collected here.
    Batch(Rc<RefCell<Vec<Pending>>>),
}

/// Parts of a [`BrowserEnv`].
pub struct EnvParts {
    /// Names the journal: calls of one run are never paid twice.
    pub run_id: String,
    /// With its model loaded and the history open.
    pub engine: Engine,
    /// For texts that are no passages: that of the shipped model, whose similarities everything
    /// that compares such texts is set for.
    pub texts: Engine,
    /// Gives queries their vectors, where the engine does not.
    pub remote: Option<Rc<Remote>>,
    /// Key of the history opened in the engine.
    pub history: String,
    pub method: SearchMethod,
    /// There is no embedding model: texts are compared by their words.
    pub by_words: bool,
    pub transport: Transport,
    /// Where the agent's calls go; none for the embedded baseline.
    pub agent: Option<Endpoint>,
    /// Where the judges' calls go, in the order of the panel.
    pub graders: Vec<Endpoint>,
    pub source: Source,
    pub on_ask: OnAsk,
    pub store: Store,
    pub abort: Abort,
    /// Gets stages and streamed text.
    pub on_event: Rc<dyn Fn(RunEvent)>,
}

/// [`Env`] in the browser, for one pass over one run.
pub struct BrowserEnv {
    parts: EnvParts,
    names: RefCell<Names>,
    /// What was odd about texts since it was last asked for.
    odd: RefCell<Vec<String>>,
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
            odd: RefCell::default(),
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

    /// Leaves a call for the next file, and ends this pass.
    async fn put_off(&self, pending: Pending, waiting: &RefCell<Vec<Pending>>) -> StepError {
        if let Ok(text) = serde_json::to_string(&pending) {
            let place = Pending::place(&pending.name);
            self.parts.store.put(Drawer::Journal, &place, text).await;
        }
        waiting.borrow_mut().push(pending);
        StepError::Model(
            "waits for an answer from a batch file; read the file of results under Instances to \
             go on"
                .to_owned(),
        )
    }

    /// Shows the prompt and waits for what the visitor brings back.
    async fn by_hand(
        &self,
        role: CallRole,
        chat: Chat,
        prompt: PromptRef,
    ) -> Result<CallRecord, StepError> {
        let (answer, answered) = oneshot::channel();
        let started_ms = now_ms();
        (self.parts.on_ask)(Ask {
            role,
            prompt: prompt.clone(),
            chat: chat.clone(),
            answer,
        });
        let stopped = pin!(self.parts.abort.aborted());
        let Either::Left((Ok(text), _)) = select(answered, stopped).await else {
            return Err(StepError::Cancelled);
        };
        Ok(CallRecord {
            role: role.as_str().to_owned(),
            base_url: BY_HAND.to_owned(),
            request: chat,
            reply: Reply {
                text,
                ..Reply::default()
            },
            prompt,
            started_ms,
            duration_ms: now_ms() - started_ms,
            from_journal: false,
            retries: 0,
            sent: serde_json::Map::new(),
        })
    }

    fn note_cut(&self, cut: u32, of: usize, what: &str) {
        self.odd.borrow_mut().extend(cut_note(cut, of, what));
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
            remote,
            ..
        } = &self.parts;
        let found = match remote {
            Some(remote) => {
                let before = remote.cut_queries();
                let queries = remote.queries(queries, abort).await.map_err(model_step)?;
                let cut = remote.cut_queries() - before;
                self.note_cut(cut, queries.len(), "queries");
                let found = engine.search_by(history, &queries, top_k, *method, abort);
                found.await.map_err(engine_step)?
            }
            None => {
                let found = engine.search(history, queries, top_k, *method, abort);
                found.await.map_err(engine_step)?
            }
        };
        self.note_cut(found.cut, queries.len(), "queries");
        Ok(found.hits)
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, StepError> {
        if self.parts.by_words {
            return Ok(texts.iter().map(|text| word_vector(text)).collect());
        }
        let EnvParts {
            texts: engine,
            abort,
            ..
        } = &self.parts;
        let quiet: OnEngineProgress = Rc::new(|_| {});
        engine
            .ensure_model(&quiet, abort)
            .await
            .map_err(engine_step)?;
        let embedded = engine.embed(texts, abort).await.map_err(engine_step)?;
        self.note_cut(embedded.cut, texts.len(), "compared texts");
        Ok(embedded.vectors)
    }

    async fn check(
        &self,
        output: &Value,
        checks: &[Check],
    ) -> Result<Vec<CheckOutcome>, StepError> {
        self.parts
            .texts
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
        if let Source::Replay(tape) = &self.parts.source {
            return tape.borrow_mut().play(role, &chat, &prompt);
        }
        let endpoint = self.endpoint(role)?;
        let name = self.names.borrow_mut().next(role, &prompt, &chat);
        if let Some(record) = self.answered(&name).await {
            return Ok(record);
        }
        if let Source::Batch(waiting) = &self.parts.source {
            let pending = Pending::new(&name, role, &endpoint.base_url, chat, prompt, now_ms());
            return Err(self.put_off(pending, waiting).await);
        }
        if endpoint.base_url == BY_HAND {
            let record = self.by_hand(role, chat, prompt).await?;
            self.write_down(&name, &record).await;
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

    fn odd(&self) -> Vec<String> {
        self.odd.take()
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
