//! Calls of a visitor's endpoint: encoded, sent, repeated as [`retry::decide`] says. What an endpoint
//! refuses once is remembered. No error carries a key.

use super::abort::Abort;
use super::clock::{now_ms, sleep};
use super::gate::Gates;
use super::meter::Meter;
use super::page;
pub use super::wire::Limits;
use super::wire::Wire;
use crate::llm::embeddings::{self, Texts, Vectors};
use crate::llm::http::{HttpRequest, HttpResponse};
use crate::llm::provider::Provider;
use crate::llm::quirks::{JsonSupport, OutputLimitField, Quirks};
use crate::llm::retry::{self, Decision, Policy};
use crate::llm::{ApiKey, Chat, LlmError, Reply, history, reach, truncation};
use futures::future::{Either, select};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::pin;
use std::rc::Rc;

/// Enough for one word also where reasoning counts.
const TEST_TOKENS: u32 = 512;

/// Where calls go, and with which key.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// For example `https://api.deepseek.com`.
    pub base_url: String,
    pub key: Option<ApiKey>,
    pub limits: Limits,
}

/// What can be heard of a call before it is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard<'a> {
    /// More text.
    Text(&'a str),
    /// The text so far is void: the call is made again after a wait.
    Again { reason: String, wait_seconds: f64 },
}

/// Told about [`Heard`].
pub type OnHeard = Rc<dyn Fn(Heard<'_>)>;

/// A reply and what it took to get it.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    pub reply: Reply,
    /// The request as it was answered: without parameters the endpoint refuses, with the output
    /// limit that sufficed.
    pub chat: Chat,
    /// Its parameters by their names on the wire.
    pub sent: Map<String, Value>,
    /// Attempts after the first.
    pub retries: u32,
    /// Sentences about the retries.
    pub notes: Vec<String>,
    pub started_ms: f64,
    pub duration_ms: f64,
}

/// Vectors and what it took to get them.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    pub vectors: Vectors,
    /// Attempts after the first.
    pub retries: u32,
    pub started_ms: f64,
    pub duration_ms: f64,
}

/// Handle; clones share what was learned about each endpoint and model.
#[derive(Clone, Default)]
pub struct Transport {
    learned: Rc<RefCell<HashMap<(String, String), Quirks>>>,
    policy: Policy,
    gates: Gates,
    /// What calls cost, and the cap on it.
    pub meter: Meter,
}

impl Transport {
    pub fn new() -> Self {
        Self::default()
    }

    /// One call with its retries.
    pub async fn chat(
        &self,
        endpoint: &Endpoint,
        chat: &Chat,
        heard: &OnHeard,
        abort: &Abort,
    ) -> Result<Delivered, LlmError> {
        let keys: Vec<&ApiKey> = endpoint.key.iter().collect();
        let call = self.attempts(endpoint, chat.clone(), heard, abort);
        call.await.map_err(|error| error.scrubbed(&keys))
    }

    /// Vectors of texts, by one call with its retries. Too long a text or too many of them are the
    /// caller's to deal with.
    pub async fn embed(
        &self,
        endpoint: &Endpoint,
        texts: &Texts,
        heard: &OnHeard,
        abort: &Abort,
    ) -> Result<Embedded, LlmError> {
        let keys: Vec<&ApiKey> = endpoint.key.iter().collect();
        let call = self.embed_attempts(endpoint, texts, heard, abort);
        call.await.map_err(|error| error.scrubbed(&keys))
    }

    /// One vector, asked for once: for the test button.
    pub async fn test_embedding(
        &self,
        endpoint: &Endpoint,
        texts: &Texts,
    ) -> Result<Embedded, LlmError> {
        let unheard: OnHeard = Rc::new(|_: Heard<'_>| {});
        let abort = Abort::new();
        let tested = self
            .impatient()
            .embed(endpoint, texts, &unheard, &abort)
            .await;
        self.explained(tested, endpoint, &abort).await
    }

    async fn embed_attempts(
        &self,
        endpoint: &Endpoint,
        texts: &Texts,
        heard: &OnHeard,
        abort: &Abort,
    ) -> Result<Embedded, LlmError> {
        let Endpoint {
            base_url,
            key,
            limits,
        } = endpoint;
        reach::allowed_from(&page::origin(), base_url)?;
        let seen = |response: &HttpResponse| self.gates.learn(base_url, response);
        let wire = Wire {
            provider: Provider::from_url(base_url),
            base_url,
            limits,
            abort,
            seen: &seen,
        };
        // What purse and pace look at: a prompt of these texts and no answer.
        let chat = Chat {
            model: texts.model.clone(),
            messages: vec![crate::llm::Message::User {
                text: texts.input.join("\n"),
            }],
            max_tokens: Some(0),
            ..Chat::default()
        };
        let request = embeddings::encode(texts, key.as_ref(), base_url)?;
        let (started_ms, mut attempt) = (now_ms(), 1);
        loop {
            let reserved = self.meter.reserve(base_url, &chat, request.body.len())?;
            let held = |wait_seconds: f64| {
                let reason = "the provider's limit for each minute is used up".to_owned();
                heard(Heard::Again {
                    reason,
                    wait_seconds,
                });
            };
            let pass = self.gates.pass(base_url, &chat, held, abort).await?;
            let response = wire.whole(&request).await;
            let outcome = response.and_then(|response| {
                seen(&response);
                embeddings::decode(&response, texts.input.len())
            });
            pass.end(&outcome);
            match &outcome {
                Ok(vectors) => reserved.settle(base_url, &texts.model, vectors.usage.as_ref()),
                Err(error) if error.may_be_charged() => {
                    reserved.settle(base_url, &texts.model, None)
                }
                Err(_) => drop(reserved),
            }
            let error = match outcome {
                Ok(vectors) => {
                    return Ok(Embedded {
                        vectors,
                        retries: attempt - 1,
                        started_ms,
                        duration_ms: now_ms() - started_ms,
                    });
                }
                Err(error) => error,
            };
            let policy = Policy {
                jitter: js_sys::Math::random(),
                ..self.policy
            };
            let next = retry::decide(&error, attempt, &Quirks::default(), None, &policy);
            let Decision::RetryAfter { seconds, note } = next else {
                return Err(error);
            };
            let keys: Vec<&ApiKey> = key.iter().collect();
            heard(Heard::Again {
                reason: note.unwrap_or_else(|| error.scrubbed(&keys).to_string()),
                wait_seconds: seconds,
            });
            wait(seconds, abort).await?;
            attempt += 1;
        }
    }

    /// The same transport without a second try: a visitor who waits for a test wants to hear of a
    /// limit, not to sit it out.
    fn impatient(&self) -> Self {
        let policy = Policy {
            max_attempts: 1,
            max_unreachable_attempts: 1,
            ..self.policy
        };
        Self {
            policy,
            ..self.clone()
        }
    }

    /// What a test came to; for a server out of reach, with what may be the reason.
    async fn explained<T>(
        &self,
        tested: Result<T, LlmError>,
        endpoint: &Endpoint,
        abort: &Abort,
    ) -> Result<T, LlmError> {
        match tested {
            Err(LlmError::Unreachable { base_url, .. }) => {
                let reasons = self.why_unreachable(endpoint, abort).await;
                Err(LlmError::Unreachable { base_url, reasons })
            }
            tested => tested,
        }
    }

    /// One word from a model, asked once: for the test button.
    pub async fn test(
        &self,
        endpoint: &Endpoint,
        model: &str,
        abort: &Abort,
    ) -> Result<Delivered, LlmError> {
        let chat = Chat {
            model: model.to_owned(),
            messages: vec![crate::llm::Message::User {
                text: "Answer with the word OK.".to_owned(),
            }],
            max_tokens: Some(TEST_TOKENS),
            ..Chat::default()
        };
        let unheard: OnHeard = Rc::new(|_: Heard<'_>| {});
        let tested = self
            .impatient()
            .chat(endpoint, &chat, &unheard, abort)
            .await;
        self.explained(tested, endpoint, abort).await
    }

    /// Asks once more in a way that tells a silent server from one that keeps its answer.
    async fn why_unreachable(&self, endpoint: &Endpoint, abort: &Abort) -> Vec<String> {
        let Endpoint {
            base_url, limits, ..
        } = endpoint;
        let wire = Wire {
            provider: Provider::from_url(base_url),
            base_url,
            limits,
            abort,
            seen: &|_| {},
        };
        let probe = wire.probe().await;
        reach::after_probe(&page::origin(), base_url, probe, page::is_online())
    }

    /// A request that is no model call, for example for a key after a sign-in.
    pub async fn plain(
        &self,
        base_url: &str,
        request: &HttpRequest,
        abort: &Abort,
    ) -> Result<HttpResponse, LlmError> {
        let wire = Wire {
            provider: Provider::from_url(base_url),
            base_url,
            limits: &Limits::default(),
            abort,
            seen: &|_| {},
        };
        wire.whole(request).await
    }

    /// The models an endpoint offers.
    pub async fn models(
        &self,
        endpoint: &Endpoint,
        abort: &Abort,
    ) -> Result<Vec<String>, LlmError> {
        let Endpoint {
            base_url,
            key,
            limits,
        } = endpoint;
        let keys: Vec<&ApiKey> = key.iter().collect();
        let work = async {
            reach::allowed_from(&page::origin(), base_url)?;
            let provider = Provider::from_url(base_url);
            let request = provider.models_request(key.as_ref(), base_url)?;
            let response = Wire {
                provider,
                base_url,
                limits,
                abort,
                seen: &|_| {},
            }
            .whole(&request)
            .await?;
            provider.decode_models(&response)
        };
        work.await.map_err(|error: LlmError| error.scrubbed(&keys))
    }

    async fn attempts(
        &self,
        endpoint: &Endpoint,
        mut chat: Chat,
        heard: &OnHeard,
        abort: &Abort,
    ) -> Result<Delivered, LlmError> {
        let Endpoint {
            base_url,
            key,
            limits,
        } = endpoint;
        reach::allowed_from(&page::origin(), base_url)?;
        let provider = Provider::from_url(base_url);
        let seen = |response: &HttpResponse| self.gates.learn(base_url, response);
        let wire = Wire {
            provider,
            base_url,
            limits,
            abort,
            seen: &seen,
        };
        let (started_ms, mut notes, mut attempt) = (now_ms(), Vec::new(), 1);
        loop {
            let quirks = self.quirks(provider, base_url, &chat.model);
            let stream = !quirks.omit.contains("stream");
            let request = provider.encode(&chat, key.as_ref(), base_url, &quirks, stream)?;
            let reserved = self.meter.reserve(base_url, &chat, request.body.len())?;
            let held = |wait_seconds: f64| {
                let reason = "the provider's limit for each minute is used up".to_owned();
                heard(Heard::Again {
                    reason,
                    wait_seconds,
                });
            };
            let pass = self.gates.pass(base_url, &chat, held, abort).await?;
            let outcome = wire.call(&request, stream, heard).await;
            pass.end(&outcome);
            match &outcome {
                Ok(reply) => reserved.settle(base_url, &chat.model, reply.usage.as_ref()),
                Err(error) if error.may_be_charged() => {
                    reserved.settle(base_url, &chat.model, None)
                }
                Err(_) => drop(reserved),
            }
            let error = match outcome {
                Ok(mut reply) => {
                    reply
                        .warnings
                        .extend(truncation::check(&chat, &reply, base_url));
                    return Ok(Delivered {
                        reply,
                        sent: request.parameters(),
                        chat: as_sent(chat, &quirks),
                        retries: attempt - 1,
                        notes,
                        started_ms,
                        duration_ms: now_ms() - started_ms,
                    });
                }
                Err(error) => error,
            };
            let step = self.next_step(&error, attempt, &quirks, stream, &mut chat, base_url);
            let Some((note, wait_seconds)) = step else {
                return Err(error);
            };
            let keys: Vec<&ApiKey> = key.iter().collect();
            let reason = note
                .clone()
                .unwrap_or_else(|| error.scrubbed(&keys).to_string());
            heard(Heard::Again {
                reason,
                wait_seconds,
            });
            notes.extend(note);
            wait(wait_seconds, abort).await?;
            attempt += 1;
        }
    }

    /// Prepares the next attempt: a note for the visitor, and how many seconds to wait before it.
    /// `None` when there is no use in another one.
    fn next_step(
        &self,
        error: &LlmError,
        attempt: u32,
        quirks: &Quirks,
        stream: bool,
        chat: &mut Chat,
        base_url: &str,
    ) -> Option<(Option<String>, f64)> {
        if stream && refuses_stream(error) {
            self.learn(base_url, &chat.model, without_stream(quirks.clone()));
            let note = "this server does not stream, so the answer comes in one piece";
            return Some((Some(note.to_owned()), 0.0));
        }
        let policy = Policy {
            jitter: js_sys::Math::random(),
            ..self.policy
        };
        match retry::decide(error, attempt, quirks, chat.max_tokens, &policy) {
            Decision::Stop => None,
            Decision::RetryAfter { seconds, note } => Some((note, seconds)),
            Decision::RetryWith { quirks, note } => {
                self.learn(base_url, &chat.model, quirks);
                Some((Some(note), 0.0))
            }
            Decision::RetryLimit { max_tokens, note } => {
                chat.max_tokens = Some(max_tokens);
                Some((Some(note), 0.0))
            }
            Decision::RetryShorter { note } => {
                history::drop_oldest_turn(&mut chat.messages).then_some((Some(note), 0.0))
            }
        }
    }

    fn quirks(&self, provider: &Provider, base_url: &str, model: &str) -> Quirks {
        let learned = self
            .learned
            .borrow()
            .get(&(base_url.to_owned(), model.to_owned()))
            .cloned();
        learned.unwrap_or_else(|| provider.quirks())
    }

    fn learn(&self, base_url: &str, model: &str, quirks: Quirks) {
        self.learned
            .borrow_mut()
            .insert((base_url.to_owned(), model.to_owned()), quirks);
    }
}

/// Servers that cannot stream say so in many ways, and seldom in a field of their own.
fn refuses_stream(error: &LlmError) -> bool {
    match error {
        LlmError::RefusedParameter { name, .. } => name == "stream",
        LlmError::BadRequest(said) => said.message.to_lowercase().contains("stream"),
        _ => false,
    }
}

fn without_stream(mut quirks: Quirks) -> Quirks {
    quirks
        .omit
        .extend(["stream", "stream_options"].map(str::to_owned));
    quirks
}

/// The request without the parameters that were left out for this endpoint.
fn as_sent(mut chat: Chat, quirks: &Quirks) -> Chat {
    let left_out = |name: &str| quirks.omit.contains(name);
    chat.temperature = chat.temperature.filter(|_| !left_out("temperature"));
    chat.seed = chat.seed.filter(|_| !left_out("seed"));
    let limit = match quirks.output_limit {
        OutputLimitField::MaxTokens => "max_tokens",
        OutputLimitField::MaxCompletionTokens => "max_completion_tokens",
    };
    chat.max_tokens = chat.max_tokens.filter(|_| !left_out(limit));
    chat.json = chat.json.filter(|_| quirks.json != JsonSupport::None);
    chat
}

async fn wait(seconds: f64, abort: &Abort) -> Result<(), LlmError> {
    match select(
        pin!(sleep((seconds * 1000.0) as u32)),
        pin!(abort.aborted()),
    )
    .await
    {
        Either::Left(_) => Ok(()),
        Either::Right(_) => Err(LlmError::Cancelled),
    }
}
