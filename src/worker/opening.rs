//! Makes a history searchable: with the vectors its dataset ships, or by chunking it session by
//! session and embedding it passage by passage.

use super::library::{Library, OpenHistory, sentence};
use super::protocol::{Answer, Event};
use super::task::Outcome;
use super::texts::{Kind, Step, Texts};
use crate::bench::visible::Session;
use crate::embed::chunk::chunk_session;
use crate::embed::{ChunkSpan, Chunking, Passage, VectorFile, passages};
use std::mem::take;

/// Text whose tokens are counted in one step, in bytes: some milliseconds.
const COUNTED_BYTES: usize = 4000;

/// How far the opening of one history has come.
pub(super) struct Opening {
    key: String,
    sessions: Vec<Session>,
    chunking: Chunking,
    stage: Stage,
    foreign: bool,
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
    Embedding(Embedding),
}

struct Embedding {
    spans: Vec<ChunkSpan>,
    passages: Vec<Passage>,
    texts: Texts,
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
            foreign: false,
        }
    }

    /// Whether its vectors are of another model than the one loaded.
    pub(super) fn foreign(self, foreign: bool) -> Self {
        Self { foreign, ..self }
    }

    /// Whether nothing is embedded: the vectors came along.
    pub(super) fn has_vectors(&self) -> bool {
        matches!(self.stage, Stage::Shipped { .. })
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Reads the shipped file, or chunks one session, or does a piece of embedding.
    pub(super) fn advance(
        &mut self,
        library: &mut Library,
        millis: impl Fn() -> f64,
    ) -> Result<Outcome, String> {
        match &mut self.stage {
            Stage::Shipped { file } => {
                let file = VectorFile::decode(file).map_err(sentence)?;
                let texts = passages(&self.sessions, &file.spans).map_err(sentence)?;
                let history = OpenHistory::new(texts, file).foreign(self.foreign);
                let chunks = publish(library, &mut self.key, history)?;
                Ok(Outcome::Done(opened(chunks, 0, millis())))
            }
            Stage::Chunking { next, spans } if *next < self.sessions.len() => {
                let tokenizer = library.embedder()?.tokenizer();
                let session = &self.sessions[*next];
                let found = chunk_session(tokenizer, *next, session, self.chunking);
                spans.extend(found.map_err(sentence)?);
                *next += 1;
                let (done, total) = (*next, self.sessions.len());
                Ok(Outcome::More(progress("sessions cut", done, total)))
            }
            Stage::Chunking { spans, .. } => {
                let spans = take(spans);
                let passages = passages(&self.sessions, &spans).map_err(sentence)?;
                let texts = passages.iter().map(|passage| passage.text.clone());
                self.stage = Stage::Embedding(Embedding {
                    texts: Texts::new(Kind::Passage, texts.collect()),
                    spans,
                    passages,
                });
                Ok(Outcome::More(None))
            }
            Stage::Embedding(work) => match work.texts.advance(library)? {
                Step::More(event) => Ok(Outcome::More(event)),
                Step::Done => {
                    let mut file = VectorFile::new(library.embedder()?.dim());
                    for (span, vector) in take(&mut work.spans).into_iter().zip(work.texts.take()) {
                        file.push(span, &vector);
                    }
                    let bytes = file.encode();
                    let history = OpenHistory::new(take(&mut work.passages), file);
                    let chunks = publish(library, &mut self.key, history)?;
                    let answer = opened(chunks, chunks, millis());
                    Ok(Outcome::DoneWith(answer, bytes))
                }
            },
        }
    }
}

/// Cuts a history for others to embed.
pub(super) struct Cutting {
    sessions: Vec<Session>,
    chunking: Chunking,
    next: usize,
    spans: Vec<ChunkSpan>,
    /// Texts of the chunks, once all sessions are cut.
    texts: Option<Vec<String>>,
    /// Texts before it were counted.
    counted: usize,
    /// How many of those are longer than the model reads.
    too_long: u32,
}

impl Cutting {
    pub(super) fn new(sessions: Vec<Session>, chunking: Chunking) -> Self {
        Self {
            sessions,
            chunking,
            next: 0,
            spans: Vec::new(),
            texts: None,
            counted: 0,
            too_long: 0,
        }
    }

    /// Cuts one session, or counts the tokens of a few texts.
    pub(super) fn advance(&mut self, library: &Library) -> Result<Outcome, String> {
        if let Some(session) = self.sessions.get(self.next) {
            let tokenizer = library.embedder()?.tokenizer();
            let found = chunk_session(tokenizer, self.next, session, self.chunking);
            self.spans.extend(found.map_err(sentence)?);
            self.next += 1;
            let (done, total) = (self.next, self.sessions.len());
            return Ok(Outcome::More(progress("sessions cut", done, total)));
        }
        let Some(texts) = &mut self.texts else {
            let texts = passages(&self.sessions, &self.spans).map_err(sentence)?;
            let texts = texts.into_iter().map(|passage| passage.text);
            self.texts = Some(texts.collect());
            return Ok(Outcome::More(None));
        };
        let (embedder, mut bytes) = (library.embedder()?, 0);
        while let Some(text) = texts.get(self.counted)
            && bytes < COUNTED_BYTES
        {
            self.too_long += u32::from(embedder.cuts(text).map_err(sentence)?);
            self.counted += 1;
            bytes += text.len();
        }
        if self.counted < texts.len() {
            let event = progress("passages measured", self.counted, texts.len());
            return Ok(Outcome::More(event));
        }
        Ok(Outcome::Done(Answer::Cut {
            spans: take(&mut self.spans),
            texts: take(texts),
            too_long: self.too_long,
        }))
    }
}

/// Puts the history where searches find it and says how many chunks it has.
fn publish(library: &mut Library, key: &mut String, history: OpenHistory) -> Result<u32, String> {
    let chunks = history.len() as u32;
    library.open(take(key), history)?;
    Ok(chunks)
}

fn opened(chunks: u32, embedded: u32, millis: f64) -> Answer {
    Answer::HistoryOpen {
        chunks,
        embedded,
        millis,
    }
}

fn progress(what: &str, done: usize, total: usize) -> Option<Event> {
    Some(Event::Progress {
        what: what.to_owned(),
        done: done as u64,
        total: total as u64,
    })
}
