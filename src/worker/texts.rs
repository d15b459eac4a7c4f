//! Texts on their way to vectors, a few milliseconds at a time: between two pieces the host lets
//! waiting messages in, and the engine something more urgent.

use super::library::{Library, sentence};
use super::protocol::Event;
use crate::embed::model::Batch;

/// Text that is embedded together, in bytes; some three hundred tokens. More would keep the
/// weights a little longer in the cache, and others waiting.
const BATCH_BYTES: usize = 1200;

/// What a text is; models may want to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Query,
    Passage,
}

/// Texts and the vectors found so far.
pub(super) struct Texts {
    kind: Kind,
    texts: Vec<String>,
    vectors: Vec<Option<Vec<f32>>>,
    /// Texts before it are embedded, or in `batch`.
    next: usize,
    batch: Option<(Vec<usize>, Batch)>,
    /// How many were longer than the model reads.
    cut: u32,
}

/// Where the work stands.
pub(super) enum Step {
    More(Option<Event>),
    Done,
}

impl Texts {
    pub(super) fn new(kind: Kind, texts: Vec<String>) -> Self {
        let vectors = vec![None; texts.len()];
        Self {
            kind,
            texts,
            vectors,
            next: 0,
            batch: None,
            cut: 0,
        }
    }

    /// Queries that come with their vectors, `dim` floats each.
    pub(super) fn given(texts: Vec<String>, dim: u32, bytes: &[u8]) -> Result<Self, String> {
        let floats: Vec<f32> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect();
        if floats.len() != texts.len() * dim as usize {
            return Err(format!(
                "{} queries of {dim} components came with {} numbers",
                texts.len(),
                floats.len()
            ));
        }
        let vectors = floats.chunks_exact(dim as usize);
        Ok(Self {
            vectors: vectors.map(|vector| Some(vector.to_vec())).collect(),
            next: texts.len(),
            ..Self::new(Kind::Query, texts)
        })
    }

    /// Does the next piece.
    pub(super) fn advance(&mut self, library: &mut Library) -> Result<Step, String> {
        let Some((members, batch)) = &mut self.batch else {
            return self.begin(library);
        };
        if !library.embedder()?.advance(batch).map_err(sentence)? {
            return Ok(Step::More(None));
        }
        let members = std::mem::take(members);
        let Some((_, batch)) = self.batch.take() else {
            return Ok(Step::More(None));
        };
        let embeddings = library.embedder()?.finish(batch);
        for (at, embedding) in members.into_iter().zip(embeddings) {
            self.cut += u32::from(embedding.truncated);
            library.remember(self.kind, &self.texts[at], &embedding);
            self.vectors[at] = Some(embedding.vector);
        }
        let done = self.vectors.iter().flatten().count() as u64;
        Ok(Step::More(Some(Event::Progress {
            what: "texts embedded".to_owned(),
            done,
            total: self.texts.len() as u64,
        })))
    }

    /// Starts the next batch of texts that have no vector yet.
    fn begin(&mut self, library: &mut Library) -> Result<Step, String> {
        let (mut members, mut bytes) = (Vec::new(), 0);
        while let Some(text) = self.texts.get(self.next) {
            let known = library.recall(self.kind, text);
            let size = text.len().max(1);
            if let Some((_, cut)) = &known {
                self.cut += u32::from(*cut);
            } else {
                if !members.is_empty() && bytes + size > BATCH_BYTES {
                    break;
                }
                bytes += size;
                members.push(self.next);
            }
            self.vectors[self.next] = known.map(|(vector, _)| vector);
            self.next += 1;
        }
        if members.is_empty() {
            return Ok(Step::Done);
        }
        let embedder = library.embedder()?;
        let texts: Vec<String> = members
            .iter()
            .map(|at| prefixed(embedder.spec(), self.kind, &self.texts[*at]))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let batch = embedder.start(&texts).map_err(sentence)?;
        self.batch = Some((members, batch));
        Ok(Step::More(None))
    }

    /// All vectors in the order of the texts, once [`Step::Done`] was said.
    pub(super) fn take(&mut self) -> Vec<Vec<f32>> {
        std::mem::take(&mut self.vectors)
            .into_iter()
            .flatten()
            .collect()
    }

    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// How many were longer than the model reads.
    pub(super) fn cut(&self) -> u32 {
        self.cut
    }
}

fn prefixed(spec: &crate::embed::ModelSpec, kind: Kind, text: &str) -> String {
    let prefix = match kind {
        Kind::Query => &spec.query_prefix,
        Kind::Passage => &spec.passage_prefix,
    };
    format!("{prefix}{text}")
}
