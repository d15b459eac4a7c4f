//! The engine behind the messages: a queue of requests worked off in small steps, so that the
//! host can look for new messages, a cancel above all, between two passages.

use super::library::Library;
use super::protocol::{Answer, Event, Failure, FromWorker, PROTOCOL, Request, RequestId, ToWorker};
use super::task::{Outcome, Task, Teller};
use std::collections::VecDeque;

/// A message with the buffers to transfer beside it.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub message: FromWorker,
    pub buffers: Vec<Vec<u8>>,
}

/// Model, open histories and the queue. Pure: the host brings the clock and carries the messages.
///
/// Feed it with [`Engine::accept`], call [`Engine::step`] until [`Engine::idle`], and send what
/// either of them returns.
pub struct Engine {
    build: String,
    clock: fn() -> f64,
    library: Library,
    queue: VecDeque<Job>,
    tell: fn(FromWorker),
}

struct Job {
    id: RequestId,
    /// When its first step began.
    started: Option<f64>,
    task: Task,
}

impl Engine {
    /// `build` names this build in the handshake; `clock` gives milliseconds.
    pub fn new(build: &str, clock: fn() -> f64) -> Self {
        Self {
            build: build.to_owned(),
            clock,
            library: Library::default(),
            queue: VecDeque::new(),
            tell: |_| {},
        }
    }

    /// How a step that takes minutes tells its progress meanwhile.
    pub fn telling(self, tell: fn(FromWorker)) -> Self {
        Self { tell, ..self }
    }

    /// What a host sends, unasked, as soon as it listens.
    pub fn greeting(&self) -> Outgoing {
        done(0, self.ready())
    }

    /// Takes a request in as the wire carries it; text that is no request is answered, too.
    pub fn accept_json(&mut self, json: &str, buffers: Vec<Vec<u8>>) -> Vec<Outgoing> {
        match serde_json::from_str::<ToWorker>(json) {
            Ok(message) => self.accept(message, buffers),
            Err(error) => {
                let why = format!("the engine could not read a request: {error}");
                vec![failed(id_of(json), Failure::Failed { message: why })]
            }
        }
    }

    /// Takes a request in. Handshakes, cancels and refusals are answered at once, the rest is
    /// queued.
    pub fn accept(&mut self, message: ToWorker, buffers: Vec<Vec<u8>>) -> Vec<Outgoing> {
        let id = message.id;
        match message.request {
            Request::Hello { protocol } => vec![self.shake(id, protocol)],
            Request::Cancel { target } => self.cancel(id, target),
            request => match Task::new(
                request,
                buffers,
                Teller {
                    id,
                    tell: self.tell,
                },
            ) {
                Ok(task) => {
                    self.queue.push_back(Job {
                        id,
                        started: None,
                        task,
                    });
                    Vec::new()
                }
                Err(message) => vec![failed(id, Failure::Failed { message })],
            },
        }
    }

    /// Does the next small piece of work, at most one passage, and says what to send.
    pub fn step(&mut self) -> Vec<Outgoing> {
        let at = self.next();
        let Some(job) = self.queue.get_mut(at) else {
            return Vec::new();
        };
        let id = job.id;
        let now = (self.clock)();
        let since = *job.started.get_or_insert(now);
        let outcome = job
            .task
            .advance(&mut self.library, || (self.clock)() - since);
        if !matches!(outcome, Ok(Outcome::More(_))) {
            self.queue.remove(at);
        }
        match outcome {
            Ok(Outcome::More(None)) => Vec::new(),
            Ok(Outcome::More(Some(event))) => vec![plain(id, event)],
            Ok(Outcome::Done(answer)) => vec![done(id, answer)],
            Ok(Outcome::DoneWith(answer, buffer)) => {
                vec![Outgoing {
                    buffers: vec![buffer],
                    ..done(id, answer)
                }]
            }
            Err(message) => vec![failed(id, Failure::Failed { message })],
        }
    }

    /// Whether nothing is left to do.
    pub fn idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// The first short job that waits for nothing before it, or else the oldest: a check need not
    /// sit behind a history that takes minutes to embed.
    fn next(&self) -> usize {
        let ahead = |at: usize| self.queue.iter().take(at).map(|job| &job.task);
        let free = |at: &usize| {
            let task = &self.queue[*at].task;
            task.short() && !ahead(*at).any(|earlier| task.waits_for(earlier))
        };
        (0..self.queue.len()).find(free).unwrap_or(0)
    }

    fn ready(&self) -> Answer {
        Answer::Ready {
            protocol: PROTOCOL,
            build: self.build.clone(),
        }
    }

    fn shake(&self, id: RequestId, protocol: u32) -> Outgoing {
        if protocol == PROTOCOL {
            return done(id, self.ready());
        }
        let message = format!(
            "the page speaks version {protocol} of the engine's messages and the engine version {PROTOCOL}: reload the page"
        );
        failed(id, Failure::Failed { message })
    }

    fn cancel(&mut self, id: RequestId, target: RequestId) -> Vec<Outgoing> {
        let mut out = Vec::new();
        if let Some(at) = self.queue.iter().position(|job| job.id == target) {
            self.queue.remove(at);
            out.push(failed(target, Failure::Cancelled));
        }
        out.push(done(id, Answer::Cancelled));
        out
    }
}

/// The id of a request that could not be read as a whole, so that its sender learns of it.
fn id_of(json: &str) -> RequestId {
    let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    value
        .get("id")
        .and_then(|id| id.as_u64())
        .and_then(|id| id.try_into().ok())
        .unwrap_or(0)
}

fn plain(id: RequestId, event: Event) -> Outgoing {
    Outgoing {
        message: FromWorker { id, event },
        buffers: Vec::new(),
    }
}

fn done(id: RequestId, answer: Answer) -> Outgoing {
    plain(id, Event::Done { answer })
}

fn failed(id: RequestId, failure: Failure) -> Outgoing {
    plain(id, Event::Failed { failure })
}
