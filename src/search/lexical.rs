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
    /// Words of all texts.
    total: u64,
}

impl Lexical {
    /// Reads all texts; a text is named by its place.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        texts.into_iter().for_each(|text| index.add(text));
        index
    }

    /// Reads one more text, which need not be kept.
    pub fn add(&mut self, text: &str) {
        let (row, mut length) = (self.lengths.len() as u32, 0);
        for run in runs(text) {
            length += run.words().count() as u32;
            // Single characters can be looked for as well.
            for word in run.words().chain(run.characters()) {
                let list = self.postings.entry(word).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == row => *count += 1,
                    _ => list.push((row, 1)),
                }
            }
        }
        self.lengths.push(length);
        self.total += u64::from(length);
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// At most `k` texts that share a word with the query, with their BM25 score, best first;
    /// equal scores by place.
    pub fn search(&self, query: &str, k: usize) -> Vec<(u32, f32)> {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        let mean_length = self.total as f32 / self.lengths.len().max(1) as f32;
        for word in words(query) {
            let Some(list) = self.postings.get(&word) else {
                continue;
            };
            let (all, holding) = (self.lengths.len() as f32, list.len() as f32);
            let rarity = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
            for (row, count) in list {
                let count = *count as f32;
                let length = self.lengths[*row as usize] as f32 / mean_length;
                let weight = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
                *scores.entry(*row).or_default() += rarity * weight;
            }
        }
        best_first(scores.into_iter().collect(), k)
    }
}

/// Characters of a text that belong together.
#[derive(Debug, PartialEq)]
enum Run {
    /// Letters and digits, in lower case.
    Word(String),
    /// Of scripts that put no blanks between words.
    Unspaced(Vec<char>),
}

impl Run {
    /// What is compared: the word; without blanks each two neighbours, as Lucene's CJKAnalyzer has it,
    /// since single characters are in too many texts, and a single one where it stands alone.
    fn words(&self) -> impl Iterator<Item = String> {
        let (word, pairs) = match self {
            Self::Word(word) => (Some(word.clone()), [].as_slice()),
            Self::Unspaced(chars) if chars.len() == 1 => (Some(chars[0].into()), [].as_slice()),
            Self::Unspaced(chars) => (None, chars.as_slice()),
        };
        let pairs = pairs.windows(2).map(|pair| pair.iter().collect());
        word.into_iter().chain(pairs)
    }

    /// The characters, where they are not among its words.
    fn characters(&self) -> impl Iterator<Item = String> {
        let chars = match self {
            Self::Unspaced(chars) if chars.len() > 1 => chars.as_slice(),
            _ => &[],
        };
        chars.iter().map(|c| (*c).into())
    }
}

/// The runs of a text. What is neither letter nor digit parts them.
fn runs(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut joins = false;
    for c in text.chars().map(narrow).flat_map(char::to_lowercase) {
        let unspaced = is_unspaced(c);
        if !unspaced && !c.is_alphanumeric() {
            joins = false;
            continue;
        }
        match runs.last_mut().filter(|_| joins) {
            Some(Run::Word(word)) if !unspaced => word.push(c),
            Some(Run::Unspaced(chars)) if unspaced => chars.push(c),
            _ if unspaced => runs.push(Run::Unspaced(vec![c])),
            _ => runs.push(Run::Word(c.into())),
        }
        joins = true;
    }
    runs
}

/// Latin letters and digits in the width of Chinese characters, as plain ones.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

/// Thai, Lao, Burmese, Khmer, Chinese, Japanese; and Korean, whose words carry their particles.
fn is_unspaced(c: char) -> bool {
    let script = matches!(c,
        '\u{0e01}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{323af}');
    // Signs of those blocks that are no part of a word.
    let sign = matches!(c,
        '฿' | '๏' | '๚' | '๛' | '\u{104a}'..='\u{104f}' | '\u{17d4}'..='\u{17db}'
        | '\u{4dc0}'..='\u{4dff}' | '゠' | '・');
    script && !sign
}

/// The words of a text as they are looked for.
fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = runs(text).into_iter();
    runs.flat_map(|run| run.words().collect::<Vec<_>>())
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
        let found = |text: &str| words(text).collect::<Vec<_>>().join(" ");
        for (text, wanted) in [
            ("Naïve-ÜBER 42! αΒγ", "naïve über 42 αβγ"),
            // What Lucene's tests of its CJKAnalyzer expect.
            (
                "一二三四五六七八九十",
                "一二 二三 三四 四五 五六 六七 七八 八九 九十",
            ),
            (
                "一 二三四 五六七八九 十",
                "一 二三 三四 五六 六七 七八 八九 十",
            ),
            (
                "あいうえおabcかきくけこ",
                "あい いう うえ えお abc かき きく くけ けこ",
            ),
            (
                "あいうえおabんcかきくけ こ",
                "あい いう うえ えお ab ん c かき きく くけ こ",
            ),
            ("𩬅艱鍟䇹愯瀛", "𩬅艱 艱鍟 鍟䇹 䇹愯 愯瀛"),
            ("一 روبرت موير", "一 روبرت موير"),
            // Beyond it: scripts of which Lucene keeps whole phrases without a dictionary.
            ("ខ្មែរ។", "ខ\u{17d2} \u{17d2}ម មែ ែរ"),
            ("東京へ、ＴＯＫＹＯ", "東京 京へ tokyo"),
        ] {
            assert_eq!(found(text), wanted, "{text}");
        }
    }

    #[test]
    fn chinese_words_are_told_from_their_characters() {
        // "Buys flowers for a birthday …" and "allergic to peanuts …": the word is looked for whose
        // two characters are flower and birth.
        let texts = [
            "生日买花，花很香，生活很好",
            "我对花生过敏，一点也不能吃，请注意",
        ];
        let index = Lexical::new(texts);
        let rows = |query: &str| -> Vec<u32> {
            let hits = index.search(query, 9).into_iter();
            hits.map(|(row, _)| row).collect()
        };
        assert_eq!(rows("花生"), [1]);
        assert_eq!(rows("敏"), [1], "a single character can be looked for");
        assert_eq!(index.len(), 2);
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
