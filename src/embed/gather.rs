//! The vectors of a history's passages while they come in, from what was kept and from an endpoint:
//! which are still missing, how many numbers they have, which texts were cut.

use super::kept::{TextHash, TextVector, hash};
use super::{ChunkSpan, VectorFile};
use std::collections::{HashMap, HashSet};

/// Vectors of texts, all of one length.
#[derive(Clone, Debug, Default)]
pub struct Gather {
    /// One for each text, in order; equal texts have equal ones.
    hashes: Vec<TextHash>,
    /// Different texts.
    different: usize,
    found: HashMap<TextHash, TextVector>,
    /// Components of a vector, once that is known.
    dim: Option<usize>,
}

impl Gather {
    /// Nothing found yet. `dim` is what the model gave last, if it was ever asked.
    pub fn new(texts: &[String], dim: Option<usize>) -> Self {
        let hashes: Vec<TextHash> = texts.iter().map(|text| hash(text)).collect();
        let different = hashes.iter().collect::<HashSet<_>>().len();
        Self {
            hashes,
            different,
            found: HashMap::new(),
            dim,
        }
    }

    /// What names the text at that place.
    pub fn hash(&self, at: usize) -> &TextHash {
        &self.hashes[at]
    }

    /// Components of a vector, once that is known.
    pub fn dim(&self) -> Option<usize> {
        self.dim
    }

    /// The first place of each text that has no vector yet, in order.
    pub fn missing(&self) -> Vec<usize> {
        let mut seen = HashSet::new();
        let places = 0..self.hashes.len();
        let new = places.filter(|at| {
            let hash = &self.hashes[*at];
            !self.found.contains_key(hash) && seen.insert(hash)
        });
        new.collect()
    }

    /// Takes the vector of the text at that place. One of another length than the others is not
    /// taken: it is of another model.
    pub fn take(&mut self, at: usize, vector: TextVector) -> bool {
        let fits = *self.dim.get_or_insert(vector.dim()) == vector.dim();
        if fits {
            self.found.insert(self.hashes[at], vector);
        }
        fits
    }

    /// The model gives vectors of that length now: those of another length are void.
    pub fn turn_to(&mut self, dim: usize) {
        self.dim = Some(dim);
        self.found.retain(|_, vector| vector.dim() == dim);
    }

    /// Different texts that have a vector, and all different ones.
    pub fn progress(&self) -> (u64, u64) {
        (self.found.len() as u64, self.different as u64)
    }

    /// Passages of which only the beginning is in their vector.
    pub fn cut(&self) -> u32 {
        let found = self.hashes.iter().filter_map(|hash| self.found.get(hash));
        found.filter(|vector| vector.cut).count() as u32
    }

    /// The rows of passages; a text without a vector has none.
    pub fn file(&self, spans: Vec<ChunkSpan>) -> VectorFile {
        let mut file = VectorFile::new(self.dim.unwrap_or(1) as u32);
        for (span, hash) in spans.into_iter().zip(&self.hashes) {
            if let Some(vector) = self.found.get(hash) {
                file.push_row(span, vector.scale, &vector.row);
            }
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn vector(dim: usize, cut: bool) -> TextVector {
        TextVector::of(&vec![1.0; dim], cut)
    }

    fn span(session: u32) -> ChunkSpan {
        ChunkSpan {
            session,
            start: 0,
            end: 1,
        }
    }

    #[test]
    fn equal_texts_are_asked_for_once_and_counted_each() {
        let mut gather = Gather::new(&texts(&["a", "b", "a", "c"]), None);
        assert_eq!(gather.missing(), [0, 1, 3]);
        assert!(gather.take(0, vector(2, true)));
        assert_eq!(gather.missing(), [1, 3]);
        assert_eq!(gather.progress(), (1, 3));
        assert_eq!(gather.cut(), 2, "both passages with this text");
        gather.take(1, vector(2, false));
        let file = gather.file((0..4).map(span).collect());
        let sessions: Vec<u32> = file.spans.iter().map(|span| span.session).collect();
        assert_eq!(sessions, [0, 1, 2], "the text without a vector is left out");
        assert_eq!((file.dim, file.rows.len()), (2, 6));
    }

    #[test]
    fn a_model_that_changed_its_length_begins_again_with_what_it_gives_now() {
        let mut gather = Gather::new(&texts(&["a", "b", "c"]), Some(2));
        assert!(gather.take(0, vector(2, false)), "kept");
        assert!(!gather.take(1, vector(3, false)), "of another model");
        // The first answer has three numbers.
        gather.turn_to(3);
        assert!(gather.take(1, vector(3, false)));
        assert_eq!(gather.missing(), [0, 2], "what has just come stays");
        assert_eq!(gather.progress(), (1, 3));
        assert!(!gather.take(0, vector(2, false)));
        assert_eq!(gather.file(Vec::new()).dim, 3);
    }

    #[test]
    fn nothing_is_missing_of_nothing() {
        let gather = Gather::new(&[], None);
        assert!(gather.missing().is_empty());
        assert_eq!(gather.progress(), (0, 0));
        assert_eq!(gather.file(Vec::new()).spans.len(), 0);
    }
}
