//! Search by words: Okapi BM25. It needs no model, so it serves while one loads; fused with the
//! vectors it finds what they miss, and the other way round.

use super::best_first;
use std::collections::HashMap;

/// How fast a word that repeats stops counting.
const K1: f32 = 1.2;
/// How much a long text pays for its length.
const B: f32 = 0.75;
/// Of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const RANK: f32 = 60.0;

/// Which texts hold which words.
#[derive(Clone, Debug, Default)]
pub struct Lexical {
    /// For each word, the texts that hold it and how often.
    postings: HashMap<String, Vec<(u32, u32)>>,
    /// Words of each text.
    lengths: Vec<u32>,
    mean_length: f32,
}

impl Lexical {
    /// Reads all texts; a text is named by its place.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for (row, text) in texts.into_iter().enumerate() {
            let mut length = 0;
            for word in words(text) {
                length += 1;
                let list = index.postings.entry(word).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == row as u32 => *count += 1,
                    _ => list.push((row as u32, 1)),
                }
            }
            index.lengths.push(length);
        }
        let total: u64 = index.lengths.iter().map(|n| u64::from(*n)).sum();
        index.mean_length = total as f32 / index.lengths.len().max(1) as f32;
        index
    }

    /// At most `k` texts that share a word with the query, with their BM25 score, best first;
    /// equal scores by place.
    pub fn search(&self, query: &str, k: usize) -> Vec<(u32, f32)> {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        for word in words(query) {
            let Some(list) = self.postings.get(&word) else {
                continue;
            };
            let (all, holding) = (self.lengths.len() as f32, list.len() as f32);
            let rarity = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
            for (row, count) in list {
                let count = *count as f32;
                let length = self.lengths[*row as usize] as f32 / self.mean_length;
                let weight = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
                *scores.entry(*row).or_default() += rarity * weight;
            }
        }
        best_first(scores.into_iter().collect(), k)
    }
}

/// Lower-case runs of letters and digits; a character of a script that puts no blanks between
/// words counts as one.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut out = Vec::new();
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let alone = matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        if (alone || !c.is_alphanumeric()) && !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        if alone {
            out.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.push(c);
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
    out.into_iter()
}

/// Components of [`word_vector`].
const HASHED: usize = 512;

/// A unit vector of a text's words, each hashed to a place and a sign: what stands in for an
/// embedding where there is no model. Texts are alike as far as they share words.
pub fn word_vector(text: &str) -> Vec<f32> {
    let mut counts: HashMap<String, f32> = HashMap::new();
    for word in words(text) {
        *counts.entry(word).or_default() += 1.0;
    }
    let mut vector = vec![0.0; HASHED];
    for (word, count) in counts {
        let hash = fnv(&word);
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        vector[hash as usize % HASHED] += sign * count.sqrt();
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

/// FNV-1a: the same on every machine and in every release.
fn fnv(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Several rankings as one: a row's score is the sum of 1 / (60 + rank) over the rankings that
/// hold it. What each scorer's numbers mean does not matter.
pub fn fuse(rankings: &[Vec<(u32, f32)>], k: usize) -> Vec<(u32, f32)> {
    let mut scores: HashMap<u32, f32> = HashMap::new();
    for ranking in rankings {
        for (rank, (row, _)) in ranking.iter().enumerate() {
            *scores.entry(*row).or_default() += 1.0 / (RANK + rank as f32 + 1.0);
        }
    }
    best_first(scores.into_iter().collect(), k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_formula() {
        let index = Lexical::new(["a b b", "b c", "d"]);
        // Mean length 2. "b" is in 2 of 3 texts: ln(1 + 1.5 / 2.5) = 0.470003629.
        // Text 0: 2 · 2.2 / (2 + 1.2 (0.25 + 0.75 · 1.5)) = 4.4 / 3.65; text 1: 2.2 / 2.2.
        let hits = index.search("B", 9);
        assert_eq!(hits.len(), 2);
        for ((row, score), wanted) in hits.iter().zip([(0, 0.566_579_7), (1, 0.470_003_6)]) {
            assert_eq!(*row, wanted.0);
            assert!((score - wanted.1).abs() < 1e-6, "{score}");
        }
        assert_eq!(index.search("x !", 9), []);
        assert_eq!(Lexical::new([]).search("a", 9), []);
    }

    #[test]
    fn words_of_many_scripts() {
        let found: Vec<String> = words("Naïve-ÜBER 42! 東京へ, αΒγ").collect();
        assert_eq!(found, ["naïve", "über", "42", "東", "京", "へ", "αβγ"]);
    }

    #[test]
    fn texts_are_alike_as_far_as_they_share_words() {
        let dot = |a: &str, b: &str| -> f32 {
            let pairs = word_vector(a).into_iter().zip(word_vector(b));
            pairs.map(|(x, y)| x * y).sum()
        };
        assert!((dot("No chilli, please!", "no CHILLI please") - 1.0).abs() < 1e-6);
        // One of two words of equal weight: 1 / 2.
        assert!((dot("noodles chilli", "noodles spinach") - 0.5).abs() < 1e-6);
        assert_eq!(dot("noodles", ""), 0.0);
        // Computed by hand from the constants of FNV-1a, 64 bits: "a" is af63dc4c8601ec8c.
        assert_eq!(fnv("a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn fused_ranks() {
        let fused = fuse(&[vec![(7, 0.9), (3, 0.8)], vec![(3, 12.0), (5, 1.0)]], 2);
        assert_eq!(fused[0].0, 3);
        assert!((fused[0].1 - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-7);
        assert_eq!(fused[1].0, 7);
    }
}
