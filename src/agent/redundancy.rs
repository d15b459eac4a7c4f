//! Redundancy filtering: by content hash, then by near-duplicates.
//!
//! The paper names a content-hash heuristic that drops duplicate or heavily overlapping passages.
//! Ours compares the passages' words without regard to case and punctuation: equal sequences are
//! duplicates; a cosine of the word counts from `near_duplicate` on counts as heavy overlap.
//! Neighbouring chunks share a fifth of their tokens and so stay apart.

use super::trace::{Dropped, QueryHits};
use crate::embed::Passage;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Passages of all lists, the first list's first; each passage once.
pub fn distinct(lists: &[QueryHits]) -> Vec<Passage> {
    let mut seen = BTreeSet::new();
    let hits = lists.iter().flat_map(|list| &list.hits);
    hits.filter(|hit| seen.insert(hit.passage.id.clone()))
        .map(|hit| hit.passage.clone())
        .collect()
}

struct Fingerprint {
    hash: [u8; 32],
    counts: BTreeMap<String, f64>,
    norm: f64,
}

impl Fingerprint {
    fn of(text: &str) -> Self {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let hash = Sha256::digest(words.join(" ")).into();
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word).or_insert(0.0) += 1.0;
        }
        let norm = counts.values().map(|n: &f64| n * n).sum::<f64>().sqrt();
        Self { hash, counts, norm }
    }

    fn cosine(&self, other: &Self) -> f64 {
        if self.norm == 0.0 || other.norm == 0.0 {
            return 0.0;
        }
        let shared = self
            .counts
            .iter()
            .filter_map(|(w, n)| other.counts.get(w).map(|m| n * m));
        shared.sum::<f64>() / (self.norm * other.norm)
    }
}

/// Splits passages into those kept and those that repeat an earlier one.
pub fn filter(passages: Vec<Passage>, near_duplicate: f64) -> (Vec<Passage>, Vec<Dropped>) {
    let mut kept: Vec<(Passage, Fingerprint)> = Vec::new();
    let mut dropped = Vec::new();
    for passage in passages {
        let print = Fingerprint::of(&passage.text);
        match kept
            .iter()
            .find_map(|(first, f)| repeats(&print, f, near_duplicate, first))
        {
            Some(reason) => dropped.push(Dropped {
                passage: passage.id,
                reason,
            }),
            None => kept.push((passage, print)),
        }
    }
    (
        kept.into_iter().map(|(passage, _)| passage).collect(),
        dropped,
    )
}

fn repeats(new: &Fingerprint, old: &Fingerprint, limit: f64, first: &Passage) -> Option<String> {
    if new.hash == old.hash {
        return Some(format!("says the same, word for word, as {}", first.id.0));
    }
    let cosine = new.cosine(old);
    (cosine >= limit).then(|| {
        format!(
            "overlaps with {} ({cosine:.2} of 1; {limit:.2} counts as the same)",
            first.id.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::trace::Query;
    use crate::embed::{Hit, PassageId};

    fn passage(id: &str, text: &str) -> Passage {
        Passage {
            id: PassageId(id.to_owned()),
            session: "s1".into(),
            date: "2025-01-05T10:00:00".to_owned(),
            text: text.to_owned(),
            start: None,
        }
    }

    fn kept(texts: &[&str]) -> Vec<String> {
        let passages = texts
            .iter()
            .enumerate()
            .map(|(i, t)| passage(&format!("p{i}"), t));
        let (kept, dropped) = filter(passages.collect(), 0.95);
        assert_eq!(kept.len() + dropped.len(), texts.len());
        kept.into_iter().map(|p| p.id.0).collect()
    }

    #[test]
    fn keeps_the_first_of_passages_that_say_the_same() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&["User: Cut it.", "user: cut it"], &["p0"]),
            (&["User: Cut it.", "User: Keep it."], &["p0", "p1"]),
            (&["a b c d e f g h i j", "a b c d e f g h i j k"], &["p0"]),
            (&["", ""], &["p0"]),
        ];
        for (texts, wanted) in cases {
            assert_eq!(kept(texts), wanted, "{texts:?}");
        }
    }

    #[test]
    fn counts_a_passage_found_by_two_queries_once() {
        let list = |ids: &[&str]| QueryHits {
            query: Query {
                facet: "task".to_owned(),
                text: String::new(),
            },
            hits: ids
                .iter()
                .map(|id| Hit {
                    passage: passage(id, id),
                    score: 1.0,
                })
                .collect(),
        };
        let ids: Vec<String> = distinct(&[list(&["a", "b"]), list(&["b", "c"])])
            .into_iter()
            .map(|p| p.id.0)
            .collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }
}
