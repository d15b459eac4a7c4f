//! The salience table (paper, appendix) by cues instead of a language model.
//!
//! A user turn that reacts to something the assistant wrote can be a revision or a complaint; any
//! user turn can state a preference or show a habit. That a draft was revised also shows in the
//! answer, which repeats much of the draft before it. Each sentence of a revising turn is a
//! revision of its own, the other signals count once a turn; the contributions are the paper's,
//! and their sum is clamped to 10.

use super::cues::{self, Cue};
use super::dialogue::{Speaker, Utterance, sentences};
use std::collections::BTreeSet;

/// Share of the shorter draft's words that two drafts have in common from which the second is a
/// revision of the first.
const SAME_DRAFT: f64 = 0.3;
/// Different longer words below which a turn is too short to be a draft.
const DRAFT_WORDS: usize = 8;

/// Highest value of the scale.
pub const MAX: f64 = 10.0;

/// One signal of one turn and what it contributes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// Name as in the paper.
    pub signal: &'static str,
    pub points: f64,
}

/// What a turn contributes. `strength` is the number of cues found for the signal; where the
/// table gives a range, two cues or more reach its upper end.
pub fn contribution(signal: Cue, strength: usize) -> Option<Contribution> {
    let (name, min, max) = match signal {
        Cue::Revision => ("explicit_revision", 3.0, 4.0),
        Cue::Complaint => ("complaint", 3.0, 4.0),
        Cue::Statement => ("direct_statement", 2.0, 2.0),
        Cue::Pattern => ("implicit_pattern", 1.0, 1.0),
    };
    let points = match strength {
        0 => return None,
        1 => min,
        _ => max,
    };
    Some(Contribution {
        signal: name,
        points,
    })
}

/// Contributions of all user turns of a passage. `opens` says that the passage begins with the
/// session: its first turn is then the old task, which reacts to nothing.
pub fn contributions(turns: &[Utterance], opens: bool) -> Vec<Contribution> {
    let mut out = Vec::new();
    for (i, turn) in turns
        .iter()
        .enumerate()
        .filter(|(_, t)| t.speaker == Speaker::User)
    {
        if i > 0 || !opens {
            out.extend(revisions(&turn.text, is_revised(turns, i)));
            out.extend(contribution(
                Cue::Complaint,
                cues::strength(Cue::Complaint, &turn.text),
            ));
        }
        for signal in [Cue::Statement, Cue::Pattern] {
            out.extend(contribution(signal, cues::strength(signal, &turn.text)));
        }
    }
    out
}

fn revisions(text: &str, revised: bool) -> Vec<Contribution> {
    let strength = |sentence: &&str| cues::strength(Cue::Revision, sentence) + usize::from(revised);
    let sentences = sentences(text);
    sentences
        .iter()
        .filter_map(|s| contribution(Cue::Revision, strength(s)))
        .collect()
}

/// Whether the turn after this one repeats much of the turn before it.
fn is_revised(turns: &[Utterance], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| turns.get(at));
    let (Some(before), Some(after)) = (before, turns.get(at + 1)) else {
        return false;
    };
    let (a, b) = (longer_words(&before.text), longer_words(&after.text));
    let shorter = a.len().min(b.len());
    shorter >= DRAFT_WORDS && a.intersection(&b).count() as f64 >= SAME_DRAFT * shorter as f64
}

fn longer_words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() > 3)
        .map(str::to_lowercase)
        .collect()
}

/// Sum on the scale of 0 to 10.
pub fn total(contributions: &[Contribution]) -> f64 {
    // The sum of nothing is -0, which a reader would see.
    let sum = contributions.iter().fold(0.0, |sum, c| sum + c.points);
    sum.min(MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::embedded::dialogue::parse;

    // The table of the paper: 3-4, 3-4, 2, 1; one of each at full value is 11, clamped to 10.
    #[test]
    fn contributes_as_the_table_says() {
        let cases = [
            (Cue::Revision, [3.0, 4.0]),
            (Cue::Complaint, [3.0, 4.0]),
            (Cue::Statement, [2.0, 2.0]),
            (Cue::Pattern, [1.0, 1.0]),
        ];
        let mut full = Vec::new();
        for (signal, [one, two]) in cases {
            assert_eq!(contribution(signal, 0), None);
            assert_eq!(contribution(signal, 1).unwrap().points, one);
            assert_eq!(contribution(signal, 2).unwrap().points, two);
            full.extend(contribution(signal, 2));
        }
        assert_eq!(full.iter().map(|c| c.points).sum::<f64>(), 11.0);
        assert_eq!(total(&full), 10.0);
        assert_eq!(total(&[]).to_string(), "0");
    }

    #[test]
    fn no_single_contribution_reaches_the_threshold() {
        for signal in Cue::ALL {
            assert!(contribution(signal, 9).unwrap().points < 5.0);
        }
    }

    #[test]
    fn finds_signals_where_they_can_be() {
        let names = |text: &str, opens| {
            let found = contributions(&parse(text), opens);
            found.into_iter().map(|c| c.signal).collect::<Vec<_>>()
        };
        let task = "User: Cut the hedge notice short.\nAssistant: Here it is.";
        assert!(names(task, true).is_empty());
        let revised = format!("{task}\nUser: Take the greeting out. I never want one.");
        assert_eq!(
            names(&revised, true),
            ["explicit_revision", "direct_statement"]
        );
        let annoyed = format!("{task}\nUser: That is far too long and I hate it!");
        assert!(names(&annoyed, true).contains(&"complaint"));
        let usual = "User: The table by the window, as usual.";
        assert_eq!(names(usual, true), ["implicit_pattern"]);
        assert!(
            names(
                "User: It rained.\nAssistant: Oh.\nUser: The cat slept.",
                true
            )
            .is_empty()
        );
    }

    #[test]
    fn an_answer_that_repeats_the_draft_shows_a_revision_without_any_cue_word() {
        let draft =
            "The hall kitchen will be closed from Monday until Friday while pipes are fitted.";
        let text = format!(
            "Assistant: {draft}\nUser: A lump of text is a lump of text.\nAssistant: {draft} Questions to Dai."
        );
        let found = contributions(&parse(&text), false);
        assert_eq!(
            found,
            [Contribution {
                signal: "explicit_revision",
                points: 3.0
            }]
        );
        let other = "Assistant: The cat sleeps all day long near the window.\nUser: A lump of text.\nAssistant: Oh.";
        assert!(contributions(&parse(other), false).is_empty());
    }
}
