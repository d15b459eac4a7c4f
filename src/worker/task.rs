//! Requests as work that can be done piece by piece.

use super::collection::{Collection, CollectionSearch};
use super::library::{Library, OpenHistory, sentence};
use super::opening::{Cutting, Opening};
use super::protocol::{Answer, Event, FileBytes, FromWorker, Request, RequestId, SearchMethod};
use super::texts::{Kind, Step, Texts};
use crate::bench::hidden::Check;
use crate::bench::visible::Session;
use crate::embed::spec::ModelSpec;
use crate::embed::{ChunkSpan, EmbedError, ModelFile, passages};
use crate::judge::checks;
use crate::search::HnswParams;
use serde_json::Value;

/// A queued request and how far it has come.
pub(super) enum Task {
    Piece {
        first: bool,
        of: u64,
        bytes: Vec<u8>,
    },
    Load {
        model: Coming,
        tokenizer: Vec<u8>,
        spec: ModelSpec,
    },
    Open(Box<Opening>),
    OpenForWords {
        key: String,
        sessions: Vec<Session>,
        spans: Vec<ChunkSpan>,
    },
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
    /// Work for which nobody waits by the second.
    EmbedPassages {
        texts: Texts,
    },
    Cut(Cutting),
    Collect {
        key: String,
        part: String,
        sessions: Vec<Session>,
        words_only: bool,
        file: Vec<u8>,
    },
    BuildGraph {
        key: String,
        params: HnswParams,
        teller: Teller,
    },
    LoadGraph {
        key: String,
        vectors: String,
        ef_search: usize,
        file: Vec<u8>,
    },
    SearchCollection {
        key: String,
        search: CollectionSearch,
    },
    Check {
        output: Value,
        checks: Vec<Check>,
    },
}

/// A way to tell progress from within a step.
#[derive(Clone, Copy)]
pub(super) struct Teller {
    pub id: RequestId,
    pub tell: fn(FromWorker),
}

impl Teller {
    fn progress(self, what: &str, done: usize, total: usize) {
        (self.tell)(FromWorker {
            id: self.id,
            event: Event::Progress {
                what: what.to_owned(),
                done: done as u64,
                total: total as u64,
            },
        });
    }
}

/// Where a model's bytes are.
pub(super) enum Coming {
    Whole(Vec<u8>),
    /// Taken before, piece by piece; the files they make.
    Pieces(Vec<FileBytes>),
}

/// What one piece of work led to.
pub(super) enum Outcome {
    /// There is more to do; perhaps something to tell.
    More(Option<Event>),
    Done(Answer),
    /// Done, with a buffer beside the answer.
    DoneWith(Answer, Vec<u8>),
}

impl Task {
    /// A request with its buffers, or a sentence about what is missing.
    pub(super) fn new(
        request: Request,
        mut buffers: Vec<Vec<u8>>,
        teller: Teller,
    ) -> Result<Self, String> {
        Ok(match request {
            Request::ModelPiece { first, of } => Task::Piece {
                first,
                of,
                bytes: buffers.pop().unwrap_or_default(),
            },
            Request::LoadModel { name, spec, pieces } if pieces.is_empty() => {
                let [onnx, tokenizer] = <[Vec<u8>; 2]>::try_from(buffers).map_err(|got| {
                    format!("loading the model '{name}' takes two files, the ONNX file and tokenizer.json, but {} came", got.len())
                })?;
                Task::Load {
                    model: Coming::Whole(onnx),
                    tokenizer,
                    spec,
                }
            }
            Request::LoadModel { name, spec, pieces } => Task::Load {
                model: Coming::Pieces(pieces),
                tokenizer: buffers.pop().ok_or_else(|| {
                    format!("loading the model '{name}' takes its tokenizer.json, but none came")
                })?,
                spec,
            },
            Request::OpenHistory {
                key,
                sessions,
                chunking,
                shipped_vectors,
                foreign,
            } => {
                let shipped = buffers.pop().filter(|_| shipped_vectors);
                if shipped_vectors && shipped.is_none() {
                    return Err(format!(
                        "history '{key}' was announced with vectors, but no vector file came"
                    ));
                }
                let opening = Opening::new(key, sessions, chunking, shipped);
                Task::Open(Box::new(opening.foreign(foreign)))
            }
            Request::OpenForWords {
                key,
                sessions,
                spans,
            } => Task::OpenForWords {
                key,
                sessions,
                spans,
            },
            Request::CloseHistory { key } => Task::Close { key },
            Request::Search {
                key,
                queries,
                top_k,
                method,
                dim,
            } => Task::Search {
                key,
                queries: match dim {
                    0 => Texts::new(Kind::Query, queries),
                    dim => Texts::given(queries, dim, &buffers.pop().unwrap_or_default())?,
                },
                top_k,
                method,
            },
            Request::Embed { texts } => Task::Embed {
                texts: Texts::new(Kind::Query, texts),
            },
            Request::EmbedPassages { texts } => Task::EmbedPassages {
                texts: Texts::new(Kind::Passage, texts),
            },
            Request::CutHistory { sessions, chunking } => {
                Task::Cut(Cutting::new(sessions, chunking))
            }
            Request::Collect {
                key,
                part,
                sessions,
                words_only,
            } => match buffers.pop() {
                Some(file) => Task::Collect {
                    key,
                    part,
                    sessions,
                    words_only,
                    file,
                },
                None => {
                    return Err(format!(
                        "the history '{part}' was announced with vectors, but no vector file came"
                    ));
                }
            },
            Request::BuildGraph { key, params } => Task::BuildGraph {
                key,
                params,
                teller,
            },
            Request::LoadGraph {
                key,
                vectors,
                ef_search,
            } => Task::LoadGraph {
                key,
                vectors,
                ef_search,
                file: buffers.pop().unwrap_or_default(),
            },
            Request::SearchCollection {
                key,
                queries,
                vectors,
                top_k,
                method,
            } => Task::SearchCollection {
                key,
                search: CollectionSearch {
                    queries,
                    vectors,
                    top_k: top_k as usize,
                    method,
                },
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
            Task::Piece { first, of, bytes } => {
                let bytes = library.take_piece(*first, *of, bytes)?;
                Ok(Outcome::Done(Answer::PieceTaken { bytes }))
            }
            Task::Load {
                model,
                tokenizer,
                spec,
            } => {
                let file = match model {
                    Coming::Whole(onnx) => std::mem::take(onnx).into(),
                    Coming::Pieces(files) => library.pieces(files)?,
                };
                load(library, (file, tokenizer), spec, millis)
            }
            Task::Open(opening) => opening.advance(library, millis),
            Task::OpenForWords {
                key,
                sessions,
                spans,
            } => {
                let texts = passages(sessions, spans).map_err(sentence)?;
                let chunks = texts.len() as u32;
                library.open(std::mem::take(key), OpenHistory::for_words(texts))?;
                Ok(Outcome::Done(Answer::HistoryOpen {
                    chunks,
                    embedded: 0,
                    millis: millis(),
                }))
            }
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
            Task::EmbedPassages { texts } => embed_passages(library, texts, millis),
            Task::Cut(cutting) => cutting.advance(library),
            Task::Collect {
                key,
                part,
                sessions,
                words_only,
                file,
            } => {
                let collection = library.collections.entry(key.clone()).or_default();
                let rows = collection.add(part, (sessions, *words_only), file)?;
                Ok(Outcome::Done(Answer::Collected { rows }))
            }
            Task::BuildGraph {
                key,
                params,
                teller,
            } => {
                let teller = *teller;
                let step = move |done, total| teller.progress("passages linked", done, total);
                let collection = collection(library, key)?;
                collection.build_graph(*params, step);
                Ok(Outcome::Done(collection.graph_built(millis())))
            }
            Task::LoadGraph {
                key,
                vectors,
                ef_search,
                file,
            } => {
                let collection = collection(library, key)?;
                collection.load_graph((file, vectors), *ef_search)?;
                Ok(Outcome::Done(collection.graph_built(millis())))
            }
            Task::SearchCollection { key, search } => {
                let hits = collection(library, key)?.search(search)?;
                let millis = millis();
                Ok(Outcome::Done(Answer::CollectionHits { hits, millis }))
            }
            Task::Check { output, checks } => Ok(check(output, checks)),
        }
    }

    /// Whether it is done within a few texts at most.
    pub(super) fn short(&self) -> bool {
        match self {
            Task::Open(opening) => opening.has_vectors(),
            Task::Piece { .. }
            | Task::Load { .. }
            | Task::EmbedPassages { .. }
            | Task::Cut(_)
            | Task::BuildGraph { .. } => false,
            _ => true,
        }
    }

    /// Whether it must not overtake `earlier`: it needs what that one brings, or changes it.
    pub(super) fn waits_for(&self, earlier: &Task) -> bool {
        match (self, earlier) {
            (Task::Check { .. }, _) => false,
            // Neither collections nor words need a model.
            (
                Task::Collect { .. }
                | Task::SearchCollection { .. }
                | Task::OpenForWords { .. }
                | Task::Search {
                    method: SearchMethod::Lexical,
                    ..
                },
                Task::Load { .. },
            ) => false,
            (_, Task::Load { .. }) => true,
            (Task::Embed { .. }, _) => false,
            _ => self.key().is_some() && self.key() == earlier.key(),
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            Task::Open(opening) => Some(opening.key()),
            Task::OpenForWords { key, .. }
            | Task::Close { key }
            | Task::Search { key, .. }
            | Task::Collect { key, .. }
            | Task::BuildGraph { key, .. }
            | Task::LoadGraph { key, .. }
            | Task::SearchCollection { key, .. } => Some(key),
            Task::Piece { .. }
            | Task::Load { .. }
            | Task::Embed { .. }
            | Task::EmbedPassages { .. }
            | Task::Cut(_)
            | Task::Check { .. } => None,
        }
    }
}

fn collection<'a>(library: &'a mut Library, key: &str) -> Result<&'a mut Collection, String> {
    let found = library.collections.get_mut(key);
    found.ok_or_else(|| format!("the collection '{key}' is empty: add histories to it first"))
}

fn load(
    library: &mut Library,
    (file, tokenizer): (ModelFile, &[u8]),
    spec: &ModelSpec,
    millis: impl Fn() -> f64,
) -> Result<Outcome, String> {
    let (embedder, sha256) = match library.load(file, tokenizer, spec.clone()) {
        Err(EmbedError::General { why }) => {
            return Ok(Outcome::Done(Answer::NeedsGeneral { why }));
        }
        loaded => loaded.map_err(sentence)?,
    };
    Ok(Outcome::Done(Answer::ModelLoaded {
        dim: embedder.dim(),
        sha256,
        arithmetic: embedder.arithmetic(),
        fallback: embedder.fallback().map(str::to_owned),
        read: Some(embedder.reading()),
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
    let lexical = method == SearchMethod::Lexical;
    if library.history(key)?.has_words_only() && !lexical {
        return Err(format!(
            "history '{key}' was opened for words alone: open it with its vectors to search by meaning"
        ));
    }
    if !lexical && let Step::More(event) = queries.advance(library)? {
        return Ok(Outcome::More(event));
    }
    let vectors = match lexical {
        true => vec![Vec::new(); queries.texts().len()],
        false => queries.take(),
    };
    let history = library.history(key)?;
    let texts = queries.texts().iter().zip(&vectors);
    if let Some(strange) = vectors
        .iter()
        .find(|vector| !lexical && vector.len() != history.dim())
    {
        return Err(format!(
            "the vectors of this history have {} components and that of a query {}: they are of different models",
            history.dim(),
            strange.len()
        ));
    }
    let find = |(query, vector): (&String, &Vec<f32>)| {
        history.search(query, vector, top_k as usize, method)
    };
    let hits = texts.map(find).collect();
    let (cut, millis) = (queries.cut(), millis());
    Ok(Outcome::Done(Answer::Hits { hits, cut, millis }))
}

/// Embeds the next text, or hands all vectors over.
fn embed(
    library: &mut Library,
    texts: &mut Texts,
    millis: impl Fn() -> f64,
) -> Result<Outcome, String> {
    if let Step::More(event) = texts.advance(library)? {
        return Ok(Outcome::More(event));
    }
    let (vectors, cut, millis) = (texts.take(), texts.cut(), millis());
    Ok(Outcome::Done(Answer::Vectors {
        vectors,
        cut,
        millis,
    }))
}

/// As [`embed`], with the vectors as bytes beside the answer.
fn embed_passages(
    library: &mut Library,
    texts: &mut Texts,
    millis: impl Fn() -> f64,
) -> Result<Outcome, String> {
    if let Step::More(event) = texts.advance(library)? {
        return Ok(Outcome::More(event));
    }
    let (dim, cut, millis) = (library.embedder()?.dim(), texts.cut(), millis());
    let numbers = texts.take().into_iter().flatten();
    let bytes = numbers.flat_map(f32::to_le_bytes).collect();
    let answer = Answer::PassageVectors { dim, cut, millis };
    Ok(Outcome::DoneWith(answer, bytes))
}

fn check(output: &Value, checks: &[Check]) -> Outcome {
    let outcomes = checks.iter().map(|check| checks::run(output, check));
    Outcome::Done(Answer::Checked {
        outcomes: outcomes.collect(),
    })
}
