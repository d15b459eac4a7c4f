//! A scripted [`Env`] for tests, here and in `tests/it`: fixed passages, word-count vectors,
//! scripted replies, a clock that moves by a millisecond a look, and a record of everything asked.

use super::{CallRole, Env, RunEvent, StepError};
use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hidden::Check;
use crate::bench::visible::{Role, Session};
use crate::embed::{Hit, Passage, PassageId};
use crate::judge::checks;
use crate::llm::{Chat, Finish, Message, Reply, ToolCall, Usage};
use crate::worker::protocol::CheckOutcome;
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Components of a fake vector.
const DIM: usize = 64;

type Answer = Box<dyn Fn(&Chat) -> Option<Result<String, StepError>>>;

/// See the module.
#[derive(Default)]
pub struct FakeEnv {
    passages: Vec<Passage>,
    replies: RefCell<VecDeque<Result<Reply, StepError>>>,
    usage: Option<Usage>,
    answer: Option<Answer>,
    cut: Option<Box<dyn Fn(&Chat) -> bool>>,
    /// Every chat sent, in order.
    pub chats: RefCell<Vec<Chat>>,
    /// Every text searched for or embedded, in order.
    pub texts: RefCell<Vec<String>>,
    /// Every event shown, in order.
    pub events: RefCell<Vec<RunEvent>>,
    /// Said after every search.
    odd: Option<String>,
    told: RefCell<Vec<String>>,
    clock: Cell<u32>,
}

impl FakeEnv {
    /// A history of whole sessions, one passage each.
    pub fn with_sessions(sessions: &[Session]) -> Self {
        Self {
            passages: sessions.iter().map(whole).collect(),
            ..Self::default()
        }
    }

    /// Adds an answer to the script; the first is given first.
    pub fn reply(self, text: &str) -> Self {
        self.replies.borrow_mut().push_back(Ok(said(text)));
        self
    }

    /// Adds a turn of tool calls to the script.
    pub fn calls(self, calls: &[(&str, Value)]) -> Self {
        let call = |(n, (name, arguments)): (usize, &(&str, Value))| ToolCall {
            id: format!("call{n}"),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
            extra: Map::new(),
        };
        let reply = Reply {
            tool_calls: calls.iter().enumerate().map(call).collect(),
            finish: Finish::ToolCalls,
            ..Reply::default()
        };
        self.replies.borrow_mut().push_back(Ok(reply));
        self
    }

    /// Tokens that every reply counts.
    pub fn counting(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(Usage {
            input: Some(input),
            output: Some(output),
            ..Usage::default()
        });
        self
    }

    /// Adds a failure to the script.
    pub fn fail(self, error: StepError) -> Self {
        self.replies.borrow_mut().push_back(Err(error));
        self
    }

    /// Answers by looking at the question; asked before the script.
    pub fn answering(
        mut self,
        answer: impl Fn(&Chat) -> Option<Result<String, StepError>> + 'static,
    ) -> Self {
        self.answer = Some(Box::new(answer));
        self
    }

    /// Finds this odd about every search.
    pub fn wondering(mut self, odd: &str) -> Self {
        self.odd = Some(odd.to_owned());
        self
    }

    /// The replies to these questions end at the output limit.
    pub fn cutting(mut self, cut: impl Fn(&Chat) -> bool + 'static) -> Self {
        self.cut = Some(Box::new(cut));
        self
    }

    /// All text that left through searches, embeddings and chats.
    pub fn everything_said(&self) -> String {
        let mut out = self.texts.borrow().join("\n");
        for message in self.chats.borrow().iter().flat_map(|chat| &chat.messages) {
            out.push('\n');
            out.push_str(message_text(message));
        }
        out
    }

    fn next_reply(&self, chat: &Chat) -> Result<Reply, StepError> {
        if let Some(answer) = self.answer.as_ref().and_then(|answer| answer(chat)) {
            return answer.map(|text| said(&text));
        }
        let none = || Err(StepError::Model("the script has no reply left".to_owned()));
        self.replies.borrow_mut().pop_front().unwrap_or_else(none)
    }
}

fn said(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        ..Reply::default()
    }
}

/// The text of a message, whoever speaks.
pub fn message_text(message: &Message) -> &str {
    match message {
        Message::System { text }
        | Message::User { text }
        | Message::Assistant { text, .. }
        | Message::Tool { text, .. } => text,
    }
}

/// A session of alternating turns, user first.
pub fn session(id: &str, date: &str, turns: &[&str]) -> Session {
    let role = |i: usize| {
        if i.is_multiple_of(2) {
            Role::User
        } else {
            Role::Assistant
        }
    };
    let turn = |(i, text): (usize, &&str)| crate::bench::visible::Turn {
        role: role(i),
        text: (*text).to_owned(),
    };
    Session {
        id: id.into(),
        date: date.to_owned(),
        turns: turns.iter().enumerate().map(turn).collect(),
    }
}

fn whole(session: &Session) -> Passage {
    Passage {
        id: PassageId(format!("{}#0", session.id)),
        session: session.id.clone(),
        date: session.date.clone(),
        text: session.render(),
        start: Some(0),
    }
}

/// Unit vector of hashed word counts: texts that share words are near.
fn vector(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0f32; DIM];
    for word in text
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
    {
        let hash = word
            .bytes()
            .fold(5381usize, |h, b| h.wrapping_mul(33) ^ usize::from(b));
        counts[hash % DIM] += 1.0;
    }
    let norm = counts
        .iter()
        .map(|c| c * c)
        .sum::<f32>()
        .sqrt()
        .max(f32::MIN_POSITIVE);
    counts.into_iter().map(|c| c / norm).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Env for FakeEnv {
    async fn search(&self, queries: &[String], top_k: u32) -> Result<Vec<Vec<Hit>>, StepError> {
        self.texts.borrow_mut().extend_from_slice(queries);
        self.told.borrow_mut().extend(self.odd.clone());
        let nearest = |query: &String| {
            let query = vector(query);
            let hit = |p: &Passage| Hit {
                passage: p.clone(),
                score: cosine(&query, &vector(&p.text)),
            };
            let mut hits: Vec<Hit> = self.passages.iter().map(hit).collect();
            hits.sort_by(|a, b| b.score.total_cmp(&a.score));
            hits.truncate(top_k as usize);
            hits
        };
        Ok(queries.iter().map(nearest).collect())
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, StepError> {
        self.texts.borrow_mut().extend_from_slice(texts);
        Ok(texts.iter().map(|text| vector(text)).collect())
    }

    async fn check(
        &self,
        output: &Value,
        wanted: &[Check],
    ) -> Result<Vec<CheckOutcome>, StepError> {
        Ok(wanted
            .iter()
            .map(|check| checks::run(output, check))
            .collect())
    }

    async fn chat(
        &self,
        role: CallRole,
        chat: Chat,
        prompt: PromptRef,
    ) -> Result<CallRecord, StepError> {
        self.chats.borrow_mut().push(chat.clone());
        let reply = self.next_reply(&chat)?;
        let cut = self.cut.as_ref().is_some_and(|cut| cut(&chat));
        Ok(CallRecord {
            role: role.as_str().to_owned(),
            base_url: "fake".to_owned(),
            request: chat,
            reply: Reply {
                usage: self.usage,
                finish: if cut { Finish::Length } else { reply.finish },
                ..reply
            },
            prompt,
            started_ms: self.now_ms(),
            duration_ms: 1.0,
            from_journal: false,
            retries: 0,
            sent: serde_json::Map::new(),
        })
    }

    fn now_ms(&self) -> f64 {
        self.clock.set(self.clock.get() + 1);
        f64::from(self.clock.get())
    }

    fn emit(&self, event: RunEvent) {
        self.events.borrow_mut().push(event);
    }

    fn odd(&self) -> Vec<String> {
        self.told.take()
    }
}
