//! What the engine holds between requests: the model, the open histories, the vectors of texts.

use super::collection::Collection;
use super::protocol::{FileBytes, SearchMethod};
use super::texts::Kind;
use crate::embed::registry::identity;
use crate::embed::{
    EmbedError, Embedder, Embedding, Hit, ModelFile, ModelSpec, Passage, VectorFile,
};
use crate::search::lexical::fuse;
use crate::search::{Exact, Hnsw, HnswParams, Index, Lexical};
use sha2::{Digest, Sha256};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Texts whose vectors are kept; a run asks for some hundred, most of them again and again.
const CACHED_TEXTS: usize = 4096;

/// Hits of each scorer that are fused, at least.
const FUSED_DEPTH: usize = 100;

/// Everything that outlives a request.
#[derive(Default)]
pub(super) struct Library {
    model: Option<Model>,
    /// A model on its way.
    coming: Vec<u8>,
    histories: HashMap<String, OpenHistory>,
    /// Vectors of texts, and whether a text was longer than the model reads.
    cache: HashMap<[u8; 32], (Vec<f32>, bool)>,
    /// Many histories searched as one.
    pub(super) collections: HashMap<String, Collection>,
}

struct Model {
    sha256: String,
    embedder: Embedder,
}

/// A searchable history.
pub(super) struct OpenHistory {
    passages: Vec<Passage>,
    dim: usize,
    /// Its vectors are of another model than the one loaded.
    foreign: bool,
    exact: Exact,
    hnsw: OnceCell<Hnsw>,
    lexical: OnceCell<Lexical>,
}

impl OpenHistory {
    /// `passages` are the texts of the file's rows, one each.
    pub(super) fn new(passages: Vec<Passage>, file: VectorFile) -> Self {
        let dim = file.dim as usize;
        Self {
            passages,
            dim,
            foreign: false,
            exact: Exact::new(dim, file.scales, file.rows),
            hnsw: OnceCell::new(),
            lexical: OnceCell::new(),
        }
    }

    /// Passages without vectors.
    pub(super) fn for_words(passages: Vec<Passage>) -> Self {
        Self::new(passages, VectorFile::default())
    }

    /// Whether it has no vectors.
    pub(super) fn has_words_only(&self) -> bool {
        self.dim == 0
    }

    /// Whether its vectors are of another model than the one loaded.
    pub(super) fn foreign(self, foreign: bool) -> Self {
        Self { foreign, ..self }
    }

    pub(super) fn len(&self) -> usize {
        self.passages.len()
    }

    /// Components of its vectors.
    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// The best passages for a query, which comes with its vector unless the method needs none.
    pub(super) fn search(
        &self,
        query: &str,
        vector: &[f32],
        k: usize,
        method: SearchMethod,
    ) -> Vec<Hit> {
        let found = match method {
            SearchMethod::Exact => self.exact.search(vector, k),
            SearchMethod::Hnsw => self.hnsw().search(vector, k),
            SearchMethod::Lexical => self.lexical().search(query, k),
            SearchMethod::Fused => {
                let deep = k.max(FUSED_DEPTH);
                let lexical = self.lexical().search(query, deep);
                fuse(&[self.exact.search(vector, deep), lexical], k)
            }
        };
        let hit = |(row, score): (u32, f32)| Hit {
            passage: self.passages[row as usize].clone(),
            score,
        };
        found.into_iter().map(hit).collect()
    }

    fn lexical(&self) -> &Lexical {
        self.lexical
            .get_or_init(|| Lexical::new(self.passages.iter().map(|p| p.text.as_str())))
    }

    fn hnsw(&self) -> &Hnsw {
        self.hnsw
            .get_or_init(|| self.exact.to_hnsw(HnswParams::default()))
    }
}

impl Library {
    /// Takes the next piece of a model of `of` bytes and says how many there are. Room for all of
    /// it is made with the first, so that nothing is ever copied to a larger place.
    pub(super) fn take_piece(&mut self, first: bool, of: u64, piece: &[u8]) -> Result<u64, String> {
        if first {
            // The model before it goes first: both may not fit.
            self.model = None;
            self.histories.clear();
            self.coming = Vec::new();
            let room = usize::try_from(of).ok();
            let made = room.and_then(|room| self.coming.try_reserve_exact(room).ok());
            made.ok_or_else(|| {
                format!(
                    "there is no memory for the model's {} in this tab: close other tabs, or use a smaller model",
                    crate::words::size(of)
                )
            })?;
        }
        if self.coming.len() as u64 + piece.len() as u64 > of {
            self.coming = Vec::new();
            return Err("more bytes of the model came than were announced".to_owned());
        }
        self.coming.extend_from_slice(piece);
        Ok(self.coming.len() as u64)
    }

    /// The model whose pieces have come.
    pub(super) fn pieces(&mut self, files: &[FileBytes]) -> Result<ModelFile, String> {
        let coming = std::mem::take(&mut self.coming);
        let parts = files
            .iter()
            .map(|file| (file.name.clone(), file.bytes as usize));
        let came = coming.len();
        ModelFile::of_parts(coming, parts.collect()).ok_or_else(|| {
            let all: u64 = files.iter().map(|file| file.bytes).sum();
            format!("{came} bytes of the model came, and its files have {all}")
        })
    }

    /// Installs a model and gives it with the hash of its file. Another model than before closes
    /// all histories: their vectors are not comparable with its own.
    pub(super) fn load(
        &mut self,
        file: ModelFile,
        tokenizer: &[u8],
        spec: ModelSpec,
    ) -> Result<(&Embedder, String), EmbedError> {
        let hashes: Vec<String> = file
            .parts()
            .map(|part| hex(&Sha256::digest(part)))
            .collect();
        let sha256 = identity(&hashes);
        let embedder = Embedder::load(file, tokenizer, spec)?;
        if self
            .model
            .as_ref()
            .is_some_and(|before| before.sha256 != sha256)
        {
            self.histories.clear();
        }
        self.cache.clear();
        let model = self.model.insert(Model {
            sha256: sha256.clone(),
            embedder,
        });
        Ok((&model.embedder, sha256))
    }

    pub(super) fn embedder(&self) -> Result<&Embedder, String> {
        let model = self.model.as_ref().map(|model| &model.embedder);
        model.ok_or_else(|| {
            "no embedding model is loaded: load one before texts are embedded".to_owned()
        })
    }

    /// The vector of a text, when it was embedded before, and whether the text was cut for it.
    pub(super) fn recall(&self, kind: Kind, text: &str) -> Option<(Vec<f32>, bool)> {
        self.cache.get(&key(kind, text)).cloned()
    }

    /// Keeps the vector of a text.
    pub(super) fn remember(&mut self, kind: Kind, text: &str, found: &Embedding) {
        if self.cache.len() >= CACHED_TEXTS {
            self.cache.clear();
        }
        let known = (found.vector.clone(), found.truncated);
        self.cache.insert(key(kind, text), known);
    }

    pub(super) fn open(&mut self, key: String, history: OpenHistory) -> Result<(), String> {
        self.fits(&history)?;
        self.histories.insert(key, history);
        Ok(())
    }

    pub(super) fn close(&mut self, key: &str) {
        self.histories.remove(key);
    }

    pub(super) fn history(&self, key: &str) -> Result<&OpenHistory, String> {
        let history = self.histories.get(key);
        let history = history
            .ok_or_else(|| format!("history '{key}' is not open in the engine: open it first"))?;
        self.fits(history)?;
        Ok(history)
    }

    /// Shipped vectors may be opened before the model is loaded, so this is asked at both times.
    fn fits(&self, history: &OpenHistory) -> Result<(), String> {
        match &self.model {
            _ if history.has_words_only() => Ok(()),
            Some(model) if !history.foreign && model.embedder.dim() as usize != history.dim => {
                Err(format!(
                    "the vectors of this history have {} components and the loaded model makes {}: load the model that made them",
                    history.dim,
                    model.embedder.dim()
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Queries and passages of the same text may have different vectors.
fn key(kind: Kind, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update([u8::from(kind == Kind::Query)]);
    hash.update(text);
    hash.finalize().into()
}

/// An error with its hint, as the page shows it.
pub(super) fn sentence(error: EmbedError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
