//! Makes a history searchable: with the vectors its dataset ships, or by chunking it session by
//! session and embedding it passage by passage.

use super::library::{Library, OpenHistory, sentence};
use super::protocol::{Answer, Event};
use super::task::Outcome;
use crate::bench::visible::Session;
use crate::embed::chunk::chunk_session;
use crate::embed::{ChunkSpan, Chunking, Passage, VectorFile, passages};

/// How far the opening of one history has come.
pub(super) struct Opening {
    key: String,
    sessions: Vec<Session>,
    chunking: Chunking,
    stage: Stage,
}

enum Stage {
    Shipped {
        file: Vec<u8>,
    },
    /// Sessions before `next` are chunked.
    Chunking {
        next: usize,
        spans: Vec<ChunkSpan>,
    },
    /// `file` holds the vectors of the first passages.
    Embedding {
        spans: Vec<ChunkSpan>,
        passages: Vec<Passage>,
        file: VectorFile,
    },
}

impl Opening {
    pub(super) fn new(
        key: String,
        sessions: Vec<Session>,
        chunking: Chunking,
        shipped: Option<Vec<u8>>,
    ) -> Self {
        let stage = match shipped {
            Some(file) => Stage::Shipped { file },
            None => Stage::Chunking {
                next: 0,
                spans: Vec::new(),
            },
        };
        Self {
            key,
            sessions,
            chunking,
            stage,
        }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Reads the shipped file, or chunks one session, or embeds one passage.
    pub(super) fn advance(
        &mut self,
        library: &mut Library,
        millis: impl Fn() -> f64,
    ) -> Result<Outcome, String> {
        match &mut self.stage {
            Stage::Shipped { file } => {
                let file = VectorFile::decode(file).map_err(sentence)?;
                let texts = passages(&self.sessions, &file.spans).map_err(sentence)?;
                let chunks = texts.len() as u32;
                library.open(std::mem::take(&mut self.key), OpenHistory::new(texts, file))?;
                Ok(Outcome::Done(Answer::HistoryOpen {
                    chunks,
                    embedded: 0,
                    millis: millis(),
                }))
            }
            Stage::Chunking { next, spans } => {
                let tokenizer = library.embedder()?.tokenizer();
                if let Some(session) = self.sessions.get(*next) {
                    let found = chunk_session(tokenizer, *next, session, self.chunking);
                    spans.extend(found.map_err(sentence)?);
                    *next += 1;
                    return Ok(Outcome::More(progress(
                        "sessions cut",
                        *next,
                        self.sessions.len(),
                    )));
                }
                let spans = std::mem::take(spans);
                let passages = passages(&self.sessions, &spans).map_err(sentence)?;
                let file = VectorFile::new(library.embedder()?.dim());
                self.stage = Stage::Embedding {
                    spans,
                    passages,
                    file,
                };
                Ok(Outcome::More(None))
            }
            Stage::Embedding {
                spans,
                passages,
                file,
            } => {
                let at = file.spans.len();
                if let Some(passage) = passages.get(at) {
                    let embedding = library.embedder()?.embed(&passage.text).map_err(sentence)?;
                    file.push(spans[at].clone(), &embedding.vector);
                    return Ok(Outcome::More(progress(
                        "passages embedded",
                        at + 1,
                        passages.len(),
                    )));
                }
                let (texts, file) = (std::mem::take(passages), std::mem::take(file));
                let (bytes, chunks) = (file.encode(), texts.len() as u32);
                library.open(std::mem::take(&mut self.key), OpenHistory::new(texts, file))?;
                let answer = Answer::HistoryOpen {
                    chunks,
                    embedded: chunks,
                    millis: millis(),
                };
                Ok(Outcome::DoneWith(answer, bytes))
            }
        }
    }
}

fn progress(what: &str, done: usize, total: usize) -> Option<Event> {
    Some(Event::Progress {
        what: what.to_owned(),
        done: done as u64,
        total: total as u64,
    })
}
