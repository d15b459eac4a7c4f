//! Cuts the rendered text of sessions into chunks: so many tokens each, or sentence by sentence.

use super::sentences::sentences;
use super::tokens::TextTokenizer;
use super::{ChunkSpan, ChunkUnit, Chunking, EmbedError, Passage, PassageId};
use crate::bench::visible::Session;
use std::ops::Range;

/// The chunks of all sessions, in order; a chunk never crosses a session. A chunk begins at its
/// first token and ends with its last, so its text carries no blank edges.
pub fn chunk_sessions(
    tokenizer: &TextTokenizer,
    sessions: &[Session],
    chunking: Chunking,
) -> Result<Vec<ChunkSpan>, EmbedError> {
    let mut spans = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        spans.extend(chunk_session(tokenizer, number, session, chunking)?);
    }
    Ok(spans)
}

/// The chunks of one session, which is `number` within its history.
pub fn chunk_session(
    tokenizer: &TextTokenizer,
    number: usize,
    session: &Session,
    chunking: Chunking,
) -> Result<Vec<ChunkSpan>, EmbedError> {
    let offsets = tokenizer.offsets(&session.render())?;
    match chunking.unit {
        ChunkUnit::Tokens => cut(number, &offsets, chunking),
        ChunkUnit::Sentences => {
            let mut spans = Vec::new();
            for sentence in sentences_of(session) {
                spans.extend(of_sentence(number, sentence, &offsets, chunking)?);
            }
            Ok(spans)
        }
    }
}

fn cut(
    number: usize,
    offsets: &[(usize, usize)],
    chunking: Chunking,
) -> Result<Vec<ChunkSpan>, EmbedError> {
    let windows = windows(offsets.len(), chunking)?.into_iter();
    Ok(windows
        .map(|window| span(number, &offsets[window]))
        .collect())
}

/// Sentences never cross a turn; the first one of a turn says who speaks.
fn sentences_of(session: &Session) -> Vec<Range<usize>> {
    let (mut out, mut turn_start) = (Vec::new(), 0);
    for turn in &session.turns {
        let text_start = turn_start + turn.role.prefix().len();
        for (n, sentence) in sentences(&turn.text).into_iter().enumerate() {
            let start = match n {
                0 => turn_start,
                _ => text_start + sentence.start,
            };
            out.push(start..text_start + sentence.end);
        }
        turn_start = text_start + turn.text.len() + "\n".len();
    }
    out
}

/// The sentence as it is, or cut where it has more tokens than a chunk may have.
fn of_sentence(
    number: usize,
    sentence: Range<usize>,
    offsets: &[(usize, usize)],
    chunking: Chunking,
) -> Result<Vec<ChunkSpan>, EmbedError> {
    let own = |token: &&(usize, usize)| sentence.contains(&token.0) && token.0 < token.1;
    let first = offsets.partition_point(|token| token.0 < sentence.start);
    let near = offsets[first..]
        .iter()
        .take_while(|token| token.0 < sentence.end);
    let tokens: Vec<(usize, usize)> = near.filter(own).copied().collect();
    match tokens.len() {
        0 => Ok(Vec::new()),
        n if n <= chunking.tokens as usize => Ok(vec![ChunkSpan {
            session: number as u32,
            start: sentence.start as u32,
            end: sentence.end as u32,
        }]),
        _ => cut(number, &tokens, chunking),
    }
}

/// The token ranges of a text of `count` tokens. The last one reaches the end; none lies wholly
/// within its neighbour.
fn windows(
    count: usize,
    Chunking {
        tokens, overlap, ..
    }: Chunking,
) -> Result<Vec<Range<usize>>, EmbedError> {
    if overlap >= tokens {
        return Err(EmbedError::Chunking { tokens, overlap });
    }
    let (length, stride) = (tokens as usize, (tokens - overlap) as usize);
    let starts = (0..)
        .step_by(stride)
        .take_while(|start| *start == 0 || start + (overlap as usize) < count);
    Ok(starts
        .map(|start| start..(start + length).min(count))
        .filter(|window| !window.is_empty())
        .collect())
}

fn span(session: usize, tokens: &[(usize, usize)]) -> ChunkSpan {
    // A normaliser may move marks, so the outermost bytes need not belong to the outermost tokens.
    let start = tokens.iter().map(|token| token.0).min().unwrap_or(0);
    let end = tokens.iter().map(|token| token.1).max().unwrap_or(0);
    ChunkSpan {
        session: session as u32,
        start: start as u32,
        end: end as u32,
    }
}

/// The passages that `spans` mark in the sessions of one history. A span that does not fit its
/// session (another dataset's vectors) is an error.
pub fn passages(sessions: &[Session], spans: &[ChunkSpan]) -> Result<Vec<Passage>, EmbedError> {
    let mut out: Vec<Passage> = Vec::with_capacity(spans.len());
    let mut current: Option<(u32, String)> = None;
    let mut number = 0;
    for (chunk, span) in spans.iter().enumerate() {
        let misfit = || EmbedError::Span {
            chunk,
            session: span.session,
            start: span.start,
            end: span.end,
        };
        let session = sessions.get(span.session as usize).ok_or_else(misfit)?;
        if current
            .as_ref()
            .is_none_or(|(open, _)| *open != span.session)
        {
            current = Some((span.session, session.render()));
            number = 0;
        }
        let text = current
            .as_ref()
            .and_then(|(_, text)| text.get(span.start as usize..span.end as usize));
        out.push(Passage {
            id: PassageId(format!("{}#{number}", session.id)),
            session: session.id.clone(),
            date: session.date.clone(),
            text: text.ok_or_else(misfit)?.to_owned(),
            start: Some(span.start),
        });
        number += 1;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::visible::{Role, Turn};

    fn by_tokens(tokens: u32, overlap: u32) -> Chunking {
        Chunking {
            tokens,
            overlap,
            ..Chunking::default()
        }
    }

    #[test]
    fn windows_cover_everything_and_share_the_overlap() {
        for (count, tokens, overlap, expected) in [
            (0, 256, 50, vec![]),
            (1, 256, 50, vec![0..1]),
            (256, 256, 50, vec![0..256]),
            (257, 256, 50, vec![0..256, 206..257]),
            (462, 256, 50, vec![0..256, 206..462]),
            (463, 256, 50, vec![0..256, 206..462, 412..463]),
            (5, 2, 0, vec![0..2, 2..4, 4..5]),
            (3, 8, 7, vec![0..3]),
        ] {
            let found = windows(count, by_tokens(tokens, overlap)).unwrap();
            assert_eq!(found, expected, "{count} tokens in {tokens}/{overlap}");
        }
    }

    #[test]
    fn an_overlap_as_long_as_the_chunk_is_refused() {
        let error = windows(9, by_tokens(50, 50)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "chunks of 50 tokens with an overlap of 50 never advance"
        );
    }

    fn session(id: &str, text: &str) -> Session {
        let turns = vec![Turn {
            role: Role::User,
            text: text.to_owned(),
        }];
        Session {
            id: id.into(),
            date: "2025-03-02T19:04:00".to_owned(),
            turns,
        }
    }

    fn span(session: u32, start: u32, end: u32) -> ChunkSpan {
        ChunkSpan {
            session,
            start,
            end,
        }
    }

    /// A tokenizer's answer: words and marks.
    fn words(text: &str) -> Vec<(usize, usize)> {
        let mut out: Vec<(usize, usize)> = Vec::new();
        for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            match out.last_mut() {
                Some(last) if last.1 == at && c.is_alphanumeric() => last.1 = at + c.len_utf8(),
                _ => out.push((at, at + c.len_utf8())),
            }
        }
        out
    }

    #[test]
    fn sentences_keep_to_their_turn_and_long_ones_are_cut() {
        let mut talk = session("s1", "Hi. I eat no meat: ever");
        talk.turns.push(Turn {
            role: Role::Assistant,
            text: "```\nopen".to_owned(),
        });
        talk.turns.push(Turn {
            role: Role::User,
            text: "one two three four five six seven. Ok".to_owned(),
        });
        let (text, offsets) = (talk.render(), words(&talk.render()));
        let ranges = sentences_of(&talk).into_iter();
        let spans = ranges.flat_map(|s| of_sentence(0, s, &offsets, by_tokens(7, 2)).unwrap());
        let texts: Vec<&str> = spans
            .map(|s| &text[s.start as usize..s.end as usize])
            .collect();
        let wanted = [
            "User: Hi.",
            "I eat no meat: ever",
            "Assistant: ```\nopen",
            "User: one two three four five",
            "four five six seven.",
            "Ok",
        ];
        assert_eq!(texts, wanted);
    }

    #[test]
    fn passages_are_numbered_within_their_session() {
        let sessions = [session("s1", "naïve one"), session("s2", "two")];
        let found = passages(&sessions, &[span(0, 0, 12), span(0, 6, 16), span(1, 6, 9)]).unwrap();
        let short: Vec<_> = found
            .iter()
            .map(|p| (p.id.0.as_str(), p.text.as_str()))
            .collect();
        assert_eq!(
            short,
            [
                ("s1#0", "User: naïve"),
                ("s1#1", "naïve one"),
                ("s2#0", "two")
            ]
        );
    }

    #[test]
    fn a_span_of_another_history_is_refused() {
        let sessions = [session("s1", "naïve")];
        // No such session; past the end; within the ï.
        for strange in [span(1, 0, 1), span(0, 0, 99), span(0, 0, 9)] {
            let error = passages(&sessions, std::slice::from_ref(&strange)).unwrap_err();
            assert!(
                matches!(error, EmbedError::Span { chunk: 0, .. }),
                "{strange:?}: {error}"
            );
        }
    }
}
