//! The text of a session, cut where retrieved passages and search words begin and end.

use crate::bench::visible::{Role, Session};
use std::ops::Range;

/// A turn cut into pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Bubble {
    pub role: Role,
    pub pieces: Vec<Piece>,
}

/// A run of text with the same marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    /// Index of the first passage that covers it.
    pub passage: Option<usize>,
    /// A word searched for.
    pub found: bool,
}

/// Byte ranges of passages within [`Session::render`]; a passage whose text is not there, for
/// example one of another data set, has none.
pub fn spans(session: &Session, passages: &[&str]) -> Vec<Option<Range<usize>>> {
    let rendered = session.render();
    let find = |text: &&str| rendered.find(*text).map(|start| start..start + text.len());
    passages.iter().map(find).collect()
}

/// The turns of a session, cut at passages (see [`spans`]) and at the words searched for.
pub fn bubbles(session: &Session, spans: &[Option<Range<usize>>], words: &[String]) -> Vec<Bubble> {
    let mut start = 0;
    let mut bubbles = Vec::with_capacity(session.turns.len());
    for turn in &session.turns {
        start += turn.role.prefix().len();
        bubbles.push(Bubble {
            role: turn.role,
            pieces: pieces(&turn.text, start, spans, words),
        });
        start += turn.text.len() + "\n".len();
    }
    bubbles
}

fn pieces(
    text: &str,
    start: usize,
    spans: &[Option<Range<usize>>],
    words: &[String],
) -> Vec<Piece> {
    let found: Vec<Range<usize>> = words
        .iter()
        .flat_map(|word| occurrences(text, word))
        .collect();
    let covering = |at: usize| {
        spans
            .iter()
            .position(|span| span.as_ref().is_some_and(|s| s.contains(&(start + at))))
    };
    let mut pieces: Vec<Piece> = Vec::new();
    for pair in cuts(text, start, spans, &found).windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let piece = Piece {
            text: text[from..to].to_owned(),
            passage: covering(from),
            found: found.iter().any(|range| range.contains(&from)),
        };
        pieces.push(piece);
    }
    pieces
}

/// Sorted character boundaries at which marks change, both ends included.
fn cuts(
    text: &str,
    start: usize,
    spans: &[Option<Range<usize>>],
    found: &[Range<usize>],
) -> Vec<usize> {
    let spans = spans
        .iter()
        .flatten()
        .flat_map(|span| [span.start, span.end]);
    let within = spans.filter_map(|at| at.checked_sub(start));
    let mut cuts: Vec<usize> = within
        .chain(found.iter().flat_map(|range| [range.start, range.end]))
        .chain([0, text.len()])
        .filter(|at| *at <= text.len() && text.is_char_boundary(*at))
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Where a lower-case word occurs in a text, whatever its case; byte ranges of the text as it
/// stands, because lower-casing can change lengths.
pub fn occurrences(text: &str, word: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if word.is_empty() {
        return found;
    }
    let mut end = 0;
    for (at, _) in text.char_indices() {
        if at < end {
            continue;
        }
        if let Some(length) = prefix_length(&text[at..], word) {
            end = at + length;
            found.push(at..end);
        }
    }
    found
}

/// Bytes of the prefix of `text` whose lower case is `word`.
fn prefix_length(text: &str, word: &str) -> Option<usize> {
    let mut rest = word;
    for (at, c) in text.char_indices() {
        if rest.is_empty() {
            return Some(at);
        }
        for lower in c.to_lowercase() {
            rest = rest.strip_prefix(lower)?;
        }
    }
    rest.is_empty().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::visible::Turn;

    fn session(turns: &[(Role, &str)]) -> Session {
        let turn = |(role, text): &(Role, &str)| Turn {
            role: *role,
            text: (*text).into(),
        };
        Session {
            id: "s".into(),
            date: String::new(),
            turns: turns.iter().map(turn).collect(),
        }
    }

    #[test]
    fn a_passage_across_turns_is_marked_in_both() {
        let session = session(&[(Role::User, "Grüße, kurz"), (Role::Assistant, "Gern.")]);
        let spans = spans(&session, &["kurz\nAssistant: Gern", "elsewhere"]);
        assert_eq!(spans[1], None);
        let cut = bubbles(&session, &spans, &[]);
        let marked: Vec<Vec<(&str, Option<usize>)>> = cut
            .iter()
            .map(|b| {
                b.pieces
                    .iter()
                    .map(|p| (p.text.as_str(), p.passage))
                    .collect()
            })
            .collect();
        assert_eq!(
            marked,
            [
                vec![("Grüße, ", None), ("kurz", Some(0))],
                vec![("Gern", Some(0)), (".", None)]
            ]
        );
    }

    #[test]
    fn words_are_found_whatever_their_case_and_length_in_bytes() {
        assert_eq!(occurrences("İstanbul ISTANBUL", "istanbul"), [10..18]);
        assert_eq!(occurrences("ÄÖäö", "ö"), [2..4, 6..8]);
        assert_eq!(occurrences("aaa", "aa"), [0..2]);
        assert!(occurrences("abc", "").is_empty());
    }
}
