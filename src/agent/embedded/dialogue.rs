//! A passage's text as the turns it holds. A chunk may begin in the middle of a turn, so the
//! speaker of its first words can be unknown.

/// Who says it, as far as the chunk shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
    /// The chunk began within this turn.
    Cut,
}

/// A turn, or the part of one that lies in the chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utterance {
    pub speaker: Speaker,
    pub text: String,
}

const USER: &str = "User: ";
const ASSISTANT: &str = "Assistant: ";

/// Reads back what [`crate::bench::visible::Session::render`] wrote.
pub fn parse(text: &str) -> Vec<Utterance> {
    let mut out: Vec<Utterance> = Vec::new();
    for line in text.lines() {
        let (speaker, said) = match (line.strip_prefix(USER), line.strip_prefix(ASSISTANT)) {
            (Some(said), _) => (Some(Speaker::User), said),
            (_, Some(said)) => (Some(Speaker::Assistant), said),
            _ => (None, line),
        };
        match (speaker, out.last_mut()) {
            (None, Some(last)) => {
                last.text.push('\n');
                last.text.push_str(said);
            }
            (speaker, _) => out.push(Utterance {
                speaker: speaker.unwrap_or(Speaker::Cut),
                text: said.to_owned(),
            }),
        }
    }
    out
}

/// The inverse of [`parse`].
pub fn render(utterances: &[Utterance]) -> String {
    let line = |u: &Utterance| match u.speaker {
        Speaker::User => format!("{USER}{}", u.text),
        Speaker::Assistant => format!("{ASSISTANT}{}", u.text),
        Speaker::Cut => u.text.clone(),
    };
    utterances.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Sentences of a text, without the spaces round them; a line break ends a sentence.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        let mut ended = false;
        for (at, c) in line.char_indices() {
            if ended && c.is_whitespace() {
                push(&mut out, &line[start..at]);
                start = at;
            }
            // A closing quotation mark or bracket does not undo the end.
            ended = matches!(c, '.' | '!' | '?' | '…') || (ended && "\"'”’)".contains(c));
        }
        push(&mut out, &line[start..]);
    }
    out
}

fn push<'a>(out: &mut Vec<&'a str>, sentence: &'a str) {
    let sentence = sentence.trim();
    if sentence.chars().any(char::is_alphanumeric) {
        out.push(sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Speaker::{Assistant, Cut, User};

    #[test]
    fn reads_back_turns_of_several_lines() {
        let text = "tail of a turn\nUser: Number them.\nAssistant: 1. One\n2. Two\n\nDone.";
        let turns = parse(text);
        let speakers: Vec<Speaker> = turns.iter().map(|u| u.speaker).collect();
        assert_eq!(speakers, [Cut, User, Assistant]);
        assert_eq!(turns[2].text, "1. One\n2. Two\n\nDone.");
        assert_eq!(render(&turns), text);
        assert!(parse("").is_empty());
    }

    #[test]
    fn splits_sentences() {
        let cases: [(&str, &[&str]); 5] = [
            ("Cut it. Then send!", &["Cut it.", "Then send!"]),
            ("It is 4.5 km.", &["It is 4.5 km."]),
            ("\"Why?\" she asked.", &["\"Why?\"", "she asked."]),
            ("one\ntwo", &["one", "two"]),
            ("... \n --", &[]),
        ];
        for (text, wanted) in cases {
            assert_eq!(sentences(text), wanted, "{text}");
        }
    }
}
