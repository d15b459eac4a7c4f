//! Chunks by words, for as long as there is no tokenizer: it comes with the embedding model.

use super::{ChunkSpan, Chunking};
use crate::bench::visible::Session;

/// Words of English text for four tokens of common models, about.
const WORDS_FOR_FOUR_TOKENS: u32 = 3;

/// Windows of words that are about as long, and overlap about as much, as chunks of tokens would.
/// As those, they never cross sessions and end at a word's end.
pub fn word_windows(sessions: &[Session], chunking: Chunking) -> Vec<ChunkSpan> {
    let words = |tokens: u32| (tokens.saturating_mul(WORDS_FOR_FOUR_TOKENS) / 4).max(1) as usize;
    let length = words(chunking.tokens);
    let step = length - words(chunking.overlap).min(length - 1);
    let mut spans = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        let words = word_ranges(&session.render());
        let mut from = 0;
        while from < words.len() {
            let to = (from + length).min(words.len());
            spans.push(ChunkSpan {
                session: number as u32,
                start: words[from].0 as u32,
                end: words[to - 1].1 as u32,
            });
            if to == words.len() {
                break;
            }
            from += step;
        }
    }
    spans
}

/// First and end byte of each run of characters without blanks. A script without blanks makes long
/// runs; they are cut every few characters.
fn word_ranges(text: &str) -> Vec<(usize, usize)> {
    const LONGEST: usize = 24;
    let (mut ranges, mut open) = (Vec::new(), None::<(usize, usize)>);
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        open = match open {
            Some((from, to)) if c.is_whitespace() || to - from >= LONGEST => {
                ranges.push((from, to));
                (!c.is_whitespace()).then_some((at, end))
            }
            Some((from, _)) => Some((from, end)),
            None => (!c.is_whitespace()).then_some((at, end)),
        };
    }
    ranges.extend(open);
    ranges
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
    fn scripts_without_blanks_are_cut_between_characters() {
        let cut = texts(&session(&"东".repeat(20)), 2, 0);
        assert_eq!(cut.concat().chars().filter(|c| *c == '东').count(), 20);
        assert!(cut.len() > 2);
    }
}
