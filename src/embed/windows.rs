//! Chunks by words, for as long as there is no tokenizer: it comes with the embedding model.

use super::{ChunkSpan, Chunking};
use crate::bench::visible::Session;

/// Third parts of a token that a word of English takes with common models, about.
const WORD: u32 = 4;
/// Most bytes of a word.
const LONGEST: usize = 24;

/// Windows of words that are about as long, and overlap about as much, as chunks of tokens would.
/// As those, they never cross sessions and end at a word's end.
pub fn word_windows(sessions: &[Session], chunking: Chunking) -> Vec<ChunkSpan> {
    let (most, shared) = (
        chunking.tokens.saturating_mul(3).max(WORD),
        chunking.overlap.saturating_mul(3),
    );
    let mut spans = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        let words = words(&session.render());
        let mut from = 0;
        while from < words.len() {
            let to = from + fitting(words[from..].iter(), most).max(1);
            spans.push(ChunkSpan {
                session: number as u32,
                start: words[from].start as u32,
                end: words[to - 1].end as u32,
            });
            if to == words.len() {
                break;
            }
            let again = fitting(words[from + 1..to].iter().rev(), shared);
            from = to - again;
        }
    }
    spans
}

/// How many of these words have at most so many thirds of tokens together.
fn fitting<'a>(words: impl Iterator<Item = &'a Word>, thirds: u32) -> usize {
    let mut sum = 0u32;
    let fits = words.take_while(|word| {
        sum = sum.saturating_add(word.thirds);
        sum <= thirds
    });
    fits.count()
}

/// A piece of a text that is not cut.
struct Word {
    start: usize,
    end: usize,
    /// What it takes, in third parts of a token.
    thirds: u32,
}

/// Runs of characters without blanks. A script without blanks makes long runs: a Chinese character is
/// a token about, and counts as a word; others are cut every few characters.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut joins = false;
    for (start, c) in text.char_indices() {
        let (end, thirds) = (start + c.len_utf8(), thirds(c));
        if c.is_whitespace() {
            joins = false;
            continue;
        }
        let open = |word: &&mut Word| joins && thirds < 3 && word.end - word.start < LONGEST;
        match words.last_mut().filter(open) {
            Some(word) => {
                word.end = end;
                word.thirds += thirds;
            }
            None => words.push(Word {
                start,
                end,
                thirds: if thirds == 0 { WORD } else { thirds },
            }),
        }
        joins = thirds < 3;
    }
    words
}

/// What a character takes of its own, in third parts of a token: nothing in scripts with blanks.
fn thirds(c: char) -> u32 {
    match c {
        // Chinese, Japanese, Korean.
        '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ff9f}'
        | '\u{20000}'..='\u{323af}' => 3,
        // Thai, Lao, Tibetan, Burmese, Khmer: three make a token about.
        '\u{0e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::visible::{Role, Turn};

    fn session(text: &str) -> Session {
        let turn = Turn {
            role: Role::User,
            text: text.to_owned(),
        };
        Session {
            id: "s".into(),
            date: String::new(),
            turns: vec![turn],
        }
    }

    fn texts(session: &Session, tokens: u32, overlap: u32) -> Vec<String> {
        let chunking = Chunking {
            tokens,
            overlap,
            ..Chunking::default()
        };
        let text = session.render();
        let spans = word_windows(std::slice::from_ref(session), chunking);
        let spans = spans.into_iter();
        spans
            .map(|s| text[s.start as usize..s.end as usize].to_owned())
            .collect()
    }

    #[test]
    fn windows_overlap_and_end_with_the_text() {
        // Eight tokens are six words, four tokens three.
        let session = session("a b c d  e f g h");
        assert_eq!(texts(&session, 8, 4), ["User: a b c d  e", "c d  e f g h"]);
        assert_eq!(texts(&session, 100, 50), ["User: a b c d  e f g h"]);
    }

    #[test]
    fn every_window_advances_whatever_is_asked() {
        let session = session("a b");
        assert_eq!(texts(&session, 1, 9), ["User:", "a", "b"]);
        assert_eq!(texts(&session, 0, 0), ["User:", "a", "b"]);
    }

    #[test]
    fn a_window_of_chinese_holds_about_as_many_characters_as_tokens() {
        let cut = texts(&session(&"东".repeat(1000)), 256, 50);
        let sizes: Vec<usize> = cut.iter().map(|text| text.chars().count()).collect();
        // "User: " takes four thirds of a token and six characters. 254, then each 206 further.
        assert_eq!(
            sizes,
            [260, 256, 256, 256, 178],
            "as chunks of a tokenizer would"
        );
        // Khmer, 600 characters in one run: three of them a token, about.
        let cut = texts(&session(&"កម្ពុជា".repeat(86)), 100, 0);
        assert_eq!(cut.len(), 3);
    }

    #[test]
    fn scripts_without_blanks_are_cut_between_characters() {
        let cut = texts(&session(&"东".repeat(20)), 2, 0);
        assert_eq!(cut.concat().chars().filter(|c| *c == '东').count(), 20);
        assert!(cut.len() > 2);
    }
}
