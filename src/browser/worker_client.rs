//! The wire to the engine worker: ids, progress, cancellation, death.

use super::abort::Abort;
use super::clock::sleep;
use super::error::{BrowserError, tried};
use super::page;
use super::simd;
use crate::embed::spec::Arithmetic;
use crate::worker::protocol::{
    Answer, Event, Failure, FromWorker, PROTOCOL, Request, RequestId, ToWorker,
};
use futures::channel::oneshot;
use futures::future::{Either, select};
use js_sys::{Array, ArrayBuffer, Object, Reflect};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

// Trunk's loaders of the worker programs, beside the page.
const PLAIN: &str = "worker_loader.js";
const RELAXED: &str = "relaxed_loader.js";
const EXACT: &str = "exact_loader.js";
/// From starting the worker to its first word; on a slow phone compiling it takes a while.
const START_SECONDS: u32 = 60;

/// What went wrong with the worker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    #[error("cancelled")]
    Cancelled,
    /// The worker said why.
    #[error("{0}")]
    Failed(String),
    #[error("the engine stopped unexpectedly: {0}")]
    Died(String),
    #[error("the engine got no more memory from this browser and had to stop")]
    OutOfMemory,
    #[error("the engine did not start within {0} seconds")]
    NoAnswer(u32),
    #[error(
        "the engine speaks version {found} and the page version {expected}: they are of different releases"
    )]
    OtherRelease { expected: u32, found: u32 },
    #[error("the engine gave an answer that does not belong to the question")]
    Confused,
    #[error(transparent)]
    Browser(#[from] BrowserError),
}

impl WorkerError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Died(_) => Some(
                "Run again: a new engine is started, and answered model calls are not paid twice.",
            ),
            Self::OutOfMemory => Some(
                "Close other tabs or choose a smaller embedding model, then try again: a new engine is started.",
            ),
            Self::NoAnswer(_) => Some("Check the connection and reload the page."),
            Self::OtherRelease { .. } => Some("Reload the page to get both from the same release."),
            _ => None,
        }
    }
}

impl From<Failure> for WorkerError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Cancelled => Self::Cancelled,
            Failure::Failed { message } => Self::Failed(message),
        }
    }
}

/// An answer with the buffers that came along.
pub(super) type Answered = Result<(Answer, Vec<ArrayBuffer>), WorkerError>;
/// What is done, how much of it, of how much.
pub(super) type OnStep = Box<dyn Fn(String, u64, u64)>;

/// A started worker. Dropping the last handle ends it.
pub(super) struct WorkerClient {
    worker: Worker,
    line: Rc<Line>,
    /// The worker calls these as long as it lives.
    _closures: (
        Closure<dyn FnMut(MessageEvent)>,
        Closure<dyn FnMut(ErrorEvent)>,
    ),
}

/// Who waits for what.
#[derive(Default)]
struct Line {
    next: Cell<RequestId>,
    waiting: RefCell<HashMap<RequestId, Waiting>>,
    dead: RefCell<Option<WorkerError>>,
}

struct Waiting {
    answer: oneshot::Sender<Answered>,
    step: Option<OnStep>,
}

impl WorkerClient {
    /// Starts the worker that can compute so, and waits for its first word. Of the two programs that
    /// give the same vectors it takes the one that fits the browser, and the plain one where that
    /// cannot be loaded.
    pub async fn start(arithmetic: Arithmetic) -> Result<Self, WorkerError> {
        match arithmetic {
            Arithmetic::Float32 => Self::start_program(EXACT).await,
            Arithmetic::Int8 if simd::relaxed() => match Self::start_program(RELAXED).await {
                Err(WorkerError::Died(_)) => {
                    simd::refuse();
                    Self::start_program(PLAIN).await
                }
                started => started,
            },
            Arithmetic::Int8 => Self::start_program(PLAIN).await,
        }
    }

    async fn start_program(loader: &str) -> Result<Self, WorkerError> {
        let line = Rc::new(Line::default());
        let ready = line.expect(0, None);
        let client = Self::spawn(line, loader)?;
        let answered = match select(pin!(ready), pin!(sleep(START_SECONDS * 1000))).await {
            Either::Left((answered, _)) => answered.unwrap_or(Err(WorkerError::Confused))?,
            Either::Right(_) => return Err(WorkerError::NoAnswer(START_SECONDS)),
        };
        match answered.0 {
            Answer::Ready {
                protocol: PROTOCOL, ..
            } => Ok(client),
            Answer::Ready { protocol, .. } => Err(WorkerError::OtherRelease {
                expected: PROTOCOL,
                found: protocol,
            }),
            _ => Err(WorkerError::Confused),
        }
    }

    fn spawn(line: Rc<Line>, loader: &str) -> Result<Self, WorkerError> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = Worker::new_with_options(&page::resolve(loader)?, &options)
            .map_err(tried("starting the engine"))?;
        let hearing = Rc::downgrade(&line);
        let on_message = Closure::new(move |event: MessageEvent| hear(&hearing, &event.data()));
        let dying = Rc::downgrade(&line);
        let on_error = Closure::new(move |event: ErrorEvent| die(&dying, &event));
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        Ok(Self {
            worker,
            line,
            _closures: (on_message, on_error),
        })
    }

    /// Whether it can still be asked.
    pub fn is_alive(&self) -> bool {
        self.line.dead.borrow().is_none()
    }

    /// Asks and waits. The buffers are given away, not copied. Dropping the future or pulling the
    /// switch cancels the work in the worker too.
    pub async fn ask(
        &self,
        request: Request,
        buffers: &[ArrayBuffer],
        step: Option<OnStep>,
        abort: &Abort,
    ) -> Answered {
        if abort.is_aborted() {
            return Err(WorkerError::Cancelled);
        }
        if let Some(error) = self.line.dead.borrow().clone() {
            return Err(error);
        }
        let id = self.line.next.get() + 1;
        self.line.next.set(id);
        let answer = self.line.expect(id, step);
        let _question = Question { client: self, id };
        self.post(&ToWorker { id, request }, buffers)?;
        match select(answer, pin!(abort.aborted())).await {
            Either::Left((answered, _)) => answered.unwrap_or(Err(WorkerError::Confused)),
            Either::Right(_) => Err(WorkerError::Cancelled),
        }
    }

    fn post(&self, message: &ToWorker, buffers: &[ArrayBuffer]) -> Result<(), BrowserError> {
        let sending = || tried("sending work to the engine");
        let json = serde_json::to_string(message)
            .map_err(|error| BrowserError::new("writing a message", error.to_string()))?;
        let buffers: Array = buffers.iter().collect();
        let envelope = Object::new();
        Reflect::set(&envelope, &"json".into(), &json.into()).map_err(sending())?;
        Reflect::set(&envelope, &"buffers".into(), &buffers).map_err(sending())?;
        self.worker
            .post_message_with_transfer(&envelope, &buffers)
            .map_err(sending())
    }
}

impl Drop for WorkerClient {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
        self.line
            .end(WorkerError::Died("it was shut down".to_owned()));
    }
}

/// A question that is withdrawn when nobody waits for its answer any more.
struct Question<'a> {
    client: &'a WorkerClient,
    id: RequestId,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let unanswered = self
            .client
            .line
            .waiting
            .borrow_mut()
            .remove(&self.id)
            .is_some();
        if unanswered && self.client.is_alive() {
            let id = self.client.line.next.get() + 1;
            self.client.line.next.set(id);
            let request = Request::Cancel { target: self.id };
            let _ = self.client.post(&ToWorker { id, request }, &[]); // a worker that cannot be told is dead
        }
    }
}

impl Line {
    fn expect(&self, id: RequestId, step: Option<OnStep>) -> oneshot::Receiver<Answered> {
        let (answer, receiver) = oneshot::channel();
        self.waiting
            .borrow_mut()
            .insert(id, Waiting { answer, step });
        receiver
    }

    fn take(&self, message: FromWorker, buffers: Vec<ArrayBuffer>) {
        match message.event {
            Event::Progress { what, done, total } => {
                // Taken out while it is called: the caller may ask the next question from within.
                let waiting = self.waiting.borrow_mut().remove(&message.id);
                if let Some(waiting) = waiting {
                    if let Some(step) = &waiting.step {
                        step(what, done, total);
                    }
                    self.waiting.borrow_mut().insert(message.id, waiting);
                }
            }
            Event::Done { answer } => self.answer(message.id, Ok((answer, buffers))),
            Event::Failed { failure } => self.answer(message.id, Err(failure.into())),
            Event::Crashed { message } => self.end(WorkerError::Died(message)),
        }
    }

    fn answer(&self, id: RequestId, answered: Answered) {
        if let Some(waiting) = self.waiting.borrow_mut().remove(&id) {
            let _ = waiting.answer.send(answered); // whoever asked may have gone
        }
    }

    /// Tells everybody that no answer will come; the first reason stays.
    fn end(&self, error: WorkerError) {
        self.dead.borrow_mut().get_or_insert(error.clone());
        for waiting in self.waiting.take().into_values() {
            let _ = waiting.answer.send(Err(error.clone()));
        }
    }
}

fn hear(line: &Weak<Line>, data: &JsValue) {
    let Some(line) = line.upgrade() else {
        return;
    };
    let json = Reflect::get(data, &"json".into())
        .ok()
        .and_then(|json| json.as_string());
    let buffers = Reflect::get(data, &"buffers".into()).ok();
    let buffers = buffers
        .and_then(|list| list.dyn_into::<Array>().ok())
        .unwrap_or_default();
    let buffers = buffers
        .iter()
        .filter_map(|buffer| buffer.dyn_into().ok())
        .collect();
    match json.map(|json| serde_json::from_str::<FromWorker>(&json)) {
        Some(Ok(message)) => line.take(message, buffers),
        _ => line.end(WorkerError::Confused),
    }
}

/// A program that gets no more memory ends without a word, in an instruction that is never reached
/// otherwise; a panic would have been told before.
fn is_out_of_memory(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "unreachable",
        "out of memory",
        "memory allocation",
        "array buffer allocation",
    ]
    .iter()
    .any(|sign| text.contains(sign))
}

/// A worker that could not be loaded sends a plain event without text.
fn die(line: &Weak<Line>, event: &ErrorEvent) {
    let text = Reflect::get(event, &"message".into())
        .ok()
        .and_then(|text| text.as_string());
    let text = text.filter(|text| !text.is_empty());
    if let Some(line) = line.upgrade() {
        line.end(match text {
            Some(text) if is_out_of_memory(&text) => WorkerError::OutOfMemory,
            Some(text) => WorkerError::Died(text),
            None => WorkerError::Died("its program could not be loaded".to_owned()),
        });
    }
}
