//! The text of a session, cut where retrieved passages and search words begin and end.

use crate::bench::visible::{Role, Session};
use crate::embed::Passage;
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

/// Byte ranges of passages within [`Session::render`]. One that does not say where it begins is
/// looked for; one whose text is not there, for example of another data set, has none.
pub fn spans<'a>(
    session: &Session,
    passages: impl IntoIterator<Item = &'a Passage>,
) -> Vec<Option<Range<usize>>> {
    let rendered = session.render();
    let said = |passage: &Passage| {
        let start = passage.start? as usize;
        let rest = rendered.get(start..)?;
        rest.starts_with(&passage.text).then_some(start)
    };
    let place = |passage: &'a Passage| {
        let start = said(passage).or_else(|| rendered.find(&passage.text))?;
        Some(start..start + passage.text.len())
    };
    passages.into_iter().map(place).collect()
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
    use crate::embed::PassageId;

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
        let passages = ["kurz\nAssistant: Gern", "elsewhere"].map(|text| passage(text, None));
        let spans = spans(&session, &passages);
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

    fn passage(text: &str, start: Option<u32>) -> Passage {
        Passage {
            id: PassageId("s#0".into()),
            session: "s".into(),
            date: String::new(),
            text: text.to_owned(),
            start,
        }
    }

    #[test]
    fn a_sentence_that_stands_there_twice_is_marked_where_it_was_cut() {
        // "User: No. Why? No." has the second "No." at byte 15.
        let session = session(&[(Role::User, "No. Why? No.")]);
        let places = [Some(15), Some(6), None, Some(7), Some(999)];
        let passages = places.map(|start| passage("No.", start));
        let starts = spans(&session, &passages).into_iter();
        let starts: Vec<usize> = starts.flatten().map(|span| span.start).collect();
        assert_eq!(starts, [15, 6, 6, 6, 6]);
    }

    #[test]
    fn words_are_found_whatever_their_case_and_length_in_bytes() {
        assert_eq!(occurrences("İstanbul ISTANBUL", "istanbul"), [10..18]);
        assert_eq!(occurrences("ÄÖäö", "ö"), [2..4, 6..8]);
        assert_eq!(occurrences("aaa", "aa"), [0..2]);
        assert!(occurrences("abc", "").is_empty());
    }
}
