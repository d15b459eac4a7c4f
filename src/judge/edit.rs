//! What people change about verdicts: a verdict is never overwritten without leaving who, when,
//! why, and what stood there before.

use super::{Judgement, Verdict, VerdictSource, VerdictState};
use crate::bench::ids::RequirementId;
use serde::{Deserialize, Serialize};

/// One change of one verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    pub author: String,
    /// Milliseconds since the Unix epoch.
    pub at_ms: f64,
    pub reason: String,
    pub before: Verdict,
    pub after: Verdict,
    /// Takes an earlier change back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdraws: bool,
}

/// Who changes a verdict, when and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub author: String,
    /// Milliseconds since the Unix epoch.
    pub at_ms: f64,
    pub reason: String,
}

impl Note {
    /// What is missing, in a sentence; a change without author or reason is worth nothing later.
    pub fn missing(&self) -> Option<&'static str> {
        if self.author.trim().is_empty() {
            Some("Say who you are: a changed verdict carries the name of its author.")
        } else if self.reason.trim().is_empty() {
            Some("Say why: a changed verdict carries its reason.")
        } else {
            None
        }
    }
}

/// Puts a person's verdict in the place of every judge's. Gives the number of judgements changed;
/// those without this requirement stay as they are.
pub fn overrule(
    judgements: &mut [Judgement],
    id: &RequirementId,
    state: VerdictState,
    note: &Note,
) -> usize {
    let changed = |judgement: &mut Judgement| {
        let verdict = judgement
            .verdicts
            .iter_mut()
            .find(|v| v.requirement == *id)?;
        let after = Verdict {
            state,
            source: VerdictSource::Human,
            rationale: note.reason.trim().to_owned(),
            quote: None,
            ..verdict.clone()
        };
        let before = std::mem::replace(verdict, after.clone());
        judgement.edits.push(edit(note, before, after, false));
        Some(())
    };
    judgements.iter_mut().filter_map(changed).count()
}

/// Takes the last change of a requirement back. The history keeps both, the change and its
/// withdrawal. Gives the number of judgements changed.
pub fn undo(judgements: &mut [Judgement], id: &RequirementId, note: &Note) -> usize {
    let changed = |judgement: &mut Judgement| {
        let standing = standing(judgement, id)?.before.clone();
        let verdict = judgement
            .verdicts
            .iter_mut()
            .find(|v| v.requirement == *id)?;
        let before = std::mem::replace(verdict, standing.clone());
        judgement.edits.push(edit(note, before, standing, true));
        Some(())
    };
    judgements.iter_mut().filter_map(changed).count()
}

/// The change that holds now, if a person's verdict stands.
pub fn standing<'a>(judgement: &'a Judgement, id: &RequirementId) -> Option<&'a Edit> {
    let mut holding = Vec::new();
    let of_it = |edit: &&Edit| edit.after.requirement == *id;
    for edit in judgement.edits.iter().filter(of_it) {
        if edit.withdraws {
            holding.pop();
        } else {
            holding.push(edit);
        }
    }
    holding.pop()
}

/// The verdicts as the judge gave them, before anybody changed one.
pub fn original(judgement: &Judgement) -> Vec<Verdict> {
    judgement
        .verdicts
        .iter()
        .map(|verdict| {
            let first = judgement
                .edits
                .iter()
                .find(|edit| edit.before.requirement == verdict.requirement);
            first.map_or(verdict, |edit| &edit.before).clone()
        })
        .collect()
}

fn edit(note: &Note, before: Verdict, after: Verdict, withdraws: bool) -> Edit {
    Edit {
        author: note.author.trim().to_owned(),
        at_ms: note.at_ms,
        reason: note.reason.trim().to_owned(),
        before,
        after,
        withdraws,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(judge: &str, states: [VerdictState; 2]) -> Judgement {
        let verdict = |(n, state)| Verdict {
            requirement: format!("r{}", n + 1).as_str().into(),
            state,
            source: VerdictSource::Model,
            rationale: format!("{judge} says so"),
            quote: Some("word".to_owned()),
        };
        Judgement {
            judge: judge.to_owned(),
            verdicts: states.into_iter().enumerate().map(verdict).collect(),
            ..Judgement::default()
        }
    }

    fn note(author: &str, at_ms: f64, reason: &str) -> Note {
        Note {
            author: author.to_owned(),
            at_ms,
            reason: reason.to_owned(),
        }
    }

    use VerdictState::{Met, NotMet, Unscored};

    #[test]
    fn a_persons_verdict_stands_for_every_judge_and_can_be_taken_back() {
        let before = vec![
            judgement("a", [NotMet, Met]),
            judgement("b", [Unscored, Met]),
        ];
        let (mut judged, id) = (before.clone(), RequirementId::from("r1"));
        assert_eq!(
            overrule(
                &mut judged,
                &id,
                Met,
                &note(" Ada ", 5.0, "It is on line 3. ")
            ),
            2
        );
        for judgement in &judged {
            assert_eq!(
                (judgement.verdicts[0].state, judgement.verdicts[0].source),
                (Met, VerdictSource::Human)
            );
            assert_eq!(judgement.verdicts[0].rationale, "It is on line 3.");
            assert_eq!(
                judgement.verdicts[1].state, Met,
                "the other requirement is as it was"
            );
            assert_eq!(
                standing(judgement, &id).map(|e| e.author.as_str()),
                Some("Ada")
            );
        }
        assert_eq!(original(&judged[1]), before[1].verdicts);
        assert_eq!(undo(&mut judged, &id, &note("Ada", 9.0, "Wrong line.")), 2);
        for (now, then) in judged.iter().zip(&before) {
            assert_eq!(now.verdicts, then.verdicts);
            assert_eq!(now.edits.len(), 2, "the history keeps both");
            assert_eq!(standing(now, &id), None);
        }
        assert_eq!(
            undo(&mut judged, &id, &note("Ada", 10.0, "Again.")),
            0,
            "nothing stands any more"
        );
    }

    #[test]
    fn the_last_of_several_changes_is_taken_back_first() {
        let (mut judged, id) = (
            vec![judgement("a", [NotMet, Met])],
            RequirementId::from("r1"),
        );
        overrule(&mut judged, &id, Met, &note("Ada", 1.0, "one"));
        overrule(&mut judged, &id, Unscored, &note("Bo", 2.0, "two"));
        undo(&mut judged, &id, &note("Bo", 3.0, "no"));
        assert_eq!(judged[0].verdicts[0].state, Met);
        undo(&mut judged, &id, &note("Ada", 4.0, "no"));
        assert_eq!(judged[0].verdicts[0].state, NotMet);
        assert_eq!(original(&judged[0])[0].state, NotMet);
    }

    #[test]
    fn a_change_needs_author_and_reason() {
        assert_eq!(note("Ada", 0.0, "why").missing(), None);
        assert!(
            note(" ", 0.0, "why")
                .missing()
                .is_some_and(|text| text.contains("who"))
        );
        assert!(
            note("Ada", 0.0, "")
                .missing()
                .is_some_and(|text| text.contains("why"))
        );
    }

    #[test]
    fn a_judge_without_the_requirement_is_left_alone() {
        let mut judged = vec![judgement("a", [Met, Met])];
        assert_eq!(
            overrule(&mut judged, &"r9".into(), NotMet, &note("Ada", 0.0, "x")),
            0
        );
        assert!(judged[0].edits.is_empty());
    }
}
