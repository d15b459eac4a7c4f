//! Requests as work that can be done piece by piece.

use super::library::{Library, sentence};
use super::opening::Opening;
use super::protocol::{Answer, Event, Request, SearchMethod};
use crate::bench::hidden::Check;
use crate::embed::spec::ModelSpec;
use crate::judge::checks;
use serde_json::Value;

/// A queued request and how far it has come.
pub(super) enum Task {
    Load {
        onnx: Vec<u8>,
        tokenizer: Vec<u8>,
        spec: ModelSpec,
    },
    Open(Box<Opening>),
    Close {
        key: String,
    },
    Search {
        key: String,
        queries: Texts,
        top_k: u32,
        method: SearchMethod,
    },
    Embed {
        texts: Texts,
    },
    Check {
        output: Value,
        checks: Vec<Check>,
    },
}

/// What one piece of work led to.
pub(super) enum Outcome {
    /// There is more to do; perhaps something to tell.
    More(Option<Event>),
    Done(Answer),
    /// Done, with a buffer beside the answer.
    DoneWith(Answer, Vec<u8>),
}

/// Texts on their way to vectors, one a step.
pub(super) struct Texts {
    texts: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

impl Texts {
    fn new(texts: Vec<String>) -> Self {
        Self {
            texts,
            vectors: Vec::new(),
        }
    }

    /// Embeds the next text; `None` when there is none left.
    fn advance(&mut self, library: &mut Library) -> Result<Option<Event>, String> {
        let Some(text) = self.texts.get(self.vectors.len()) else {
            return Ok(None);
        };
        self.vectors.push(library.vector(text)?);
        let (done, total) = (self.vectors.len() as u64, self.texts.len() as u64);
        Ok(Some(Event::Progress {
            what: "texts embedded".to_owned(),
            done,
            total,
        }))
    }
}

impl Task {
    /// A request with its buffers, or a sentence about what is missing.
    pub(super) fn new(request: Request, mut buffers: Vec<Vec<u8>>) -> Result<Self, String> {
        Ok(match request {
            Request::LoadModel { name, spec } => {
                let [onnx, tokenizer] = <[Vec<u8>; 2]>::try_from(buffers).map_err(|got| {
                    format!("loading the model '{name}' takes two files, the ONNX file and tokenizer.json, but {} came", got.len())
                })?;
                Task::Load {
                    onnx,
                    tokenizer,
                    spec,
                }
            }
            Request::OpenHistory {
                key,
                sessions,
                chunking,
                shipped_vectors,
            } => {
                let shipped = buffers.pop().filter(|_| shipped_vectors);
                if shipped_vectors && shipped.is_none() {
                    return Err(format!(
                        "history '{key}' was announced with vectors, but no vector file came"
                    ));
                }
                Task::Open(Box::new(Opening::new(key, sessions, chunking, shipped)))
            }
            Request::CloseHistory { key } => Task::Close { key },
            Request::Search {
                key,
                queries,
                top_k,
                method,
            } => Task::Search {
                key,
                queries: Texts::new(queries),
                top_k,
                method,
            },
            Request::Embed { texts } => Task::Embed {
                texts: Texts::new(texts),
            },
            Request::Check { output, checks } => Task::Check { output, checks },
            Request::Hello { .. } | Request::Cancel { .. } => {
                return Err("handshakes and cancels are answered at once, never queued".to_owned());
            }
        })
    }

    /// Does the next piece; `millis` tells the time since the first one began.
    pub(super) fn advance(
        &mut self,
        library: &mut Library,
        millis: impl Fn() -> f64,
    ) -> Result<Outcome, String> {
        match self {
            Task::Load {
                onnx,
                tokenizer,
                spec,
            } => load(library, (std::mem::take(onnx), tokenizer), spec, millis),
            Task::Open(opening) => opening.advance(library, millis),
            Task::Close { key } => {
                library.close(key);
                Ok(Outcome::Done(Answer::Closed))
            }
            Task::Search {
                key,
                queries,
                top_k,
                method,
            } => search(library, key, queries, (*top_k, *method), millis),
            Task::Embed { texts } => embed(library, texts, millis),
            Task::Check { output, checks } => Ok(check(output, checks)),
        }
    }

    /// Whether it is done within a few texts at most.
    pub(super) fn short(&self) -> bool {
        !matches!(self, Task::Load { .. } | Task::Open(_))
    }

    /// Whether it must not overtake `earlier`: it needs what that one brings, or changes it.
    pub(super) fn waits_for(&self, earlier: &Task) -> bool {
        match (self, earlier) {
            (Task::Check { .. }, _) => false,
            (_, Task::Load { .. }) => true,
            (Task::Embed { .. }, _) => false,
            _ => self.key().is_some() && self.key() == earlier.key(),
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            Task::Open(opening) => Some(opening.key()),
            Task::Close { key } | Task::Search { key, .. } => Some(key),
            Task::Load { .. } | Task::Embed { .. } | Task::Check { .. } => None,
        }
    }
}

fn load(
    library: &mut Library,
    (onnx, tokenizer): (Vec<u8>, &[u8]),
    spec: &ModelSpec,
    millis: impl Fn() -> f64,
) -> Result<Outcome, String> {
    let loaded = library.load(onnx, tokenizer, spec.clone());
    let (embedder, sha256) = loaded.map_err(sentence)?;
    Ok(Outcome::Done(Answer::ModelLoaded {
        dim: embedder.dim(),
        sha256,
        arithmetic: embedder.arithmetic(),
        fallback: embedder.fallback().map(str::to_owned),
        millis: millis(),
    }))
}

/// Embeds the next query, or searches when all are embedded.
fn search(
    library: &mut Library,
    key: &str,
    queries: &mut Texts,
    (top_k, method): (u32, SearchMethod),
    millis: impl Fn() -> f64,
) -> Result<Outcome, String> {
    // An unknown key is worth telling before any text is embedded.
    library.history(key)?;
    if let Some(event) = queries.advance(library)? {
        return Ok(Outcome::More(Some(event)));
    }
    let history = library.history(key)?;
    let find = |query: &Vec<f32>| history.search(query, top_k as usize, method);
    let hits = queries.vectors.iter().map(find).collect();
    let millis = millis();
    Ok(Outcome::Done(Answer::Hits { hits, millis }))
}

/// Embeds the next text, or hands all vectors over.
fn embed(
    library: &mut Library,
    texts: &mut Texts,
    millis: impl Fn() -> f64,
) -> Result<Outcome, String> {
    if let Some(event) = texts.advance(library)? {
        return Ok(Outcome::More(Some(event)));
    }
    let vectors = std::mem::take(&mut texts.vectors);
    let millis = millis();
    Ok(Outcome::Done(Answer::Vectors { vectors, millis }))
}

fn check(output: &Value, checks: &[Check]) -> Outcome {
    let outcomes = checks.iter().map(|check| checks::run(output, check));
    Outcome::Done(Answer::Checked {
        outcomes: outcomes.collect(),
    })
}
