//! What the judges of one output think of one requirement, all repeats together.

use super::{Judgement, PROGRAMMATIC, Verdict, VerdictSource, VerdictState};
use crate::bench::ids::RequirementId;

/// One judge's verdicts on one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    pub judge: String,
    /// In the order of the repeats.
    pub verdicts: Vec<Verdict>,
}

/// What all judges together say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    Met,
    NotMet,
    /// One judge says met and another not met, or one judge is split evenly over its repeats.
    Disputed,
    Unscored,
}

impl Opinion {
    /// Verdicts of one state.
    pub fn count(&self, state: VerdictState) -> usize {
        self.verdicts.iter().filter(|v| v.state == state).count()
    }

    /// What most of its repeats say; disputed when they are split evenly.
    pub fn standing(&self) -> Standing {
        let (met, not) = (
            self.count(VerdictState::Met),
            self.count(VerdictState::NotMet),
        );
        match met.cmp(&not) {
            std::cmp::Ordering::Greater => Standing::Met,
            std::cmp::Ordering::Less => Standing::NotMet,
            std::cmp::Ordering::Equal if met == 0 => Standing::Unscored,
            std::cmp::Ordering::Equal => Standing::Disputed,
        }
    }

    /// Repeats of both minds.
    pub fn flips(&self) -> bool {
        self.count(VerdictState::Met) > 0 && self.count(VerdictState::NotMet) > 0
    }

    /// A person or a rule decided: the same for every judge, so no sign of agreement.
    pub fn settled(&self) -> bool {
        self.verdicts
            .iter()
            .all(|v| v.source != VerdictSource::Model)
    }

    /// `3 of 5 met`, or the word where the judge was asked once.
    pub fn words(&self) -> String {
        let (met, not) = (
            self.count(VerdictState::Met),
            self.count(VerdictState::NotMet),
        );
        match (met + not, met) {
            (0, _) => "unscored".to_owned(),
            (1, 1) => "met".to_owned(),
            (1, _) => "not met".to_owned(),
            (n, _) => format!("{met} of {n} met"),
        }
    }
}

/// Every judge's opinion on one requirement, in the order of their first judgement.
pub fn opinions(judgements: &[Judgement], id: &RequirementId) -> Vec<Opinion> {
    let mut out: Vec<Opinion> = Vec::new();
    for judgement in judgements {
        let Some(verdict) = judgement.verdicts.iter().find(|v| v.requirement == *id) else {
            continue;
        };
        match out
            .iter_mut()
            .find(|opinion| opinion.judge == judgement.judge)
        {
            Some(opinion) => opinion.verdicts.push(verdict.clone()),
            None => out.push(Opinion {
                judge: judgement.judge.clone(),
                verdicts: vec![verdict.clone()],
            }),
        }
    }
    out
}

/// What all judges together say of one requirement.
pub fn standing(judgements: &[Judgement], id: &RequirementId) -> Standing {
    let held = opinions(judgements, id);
    let mut standings = held
        .iter()
        .map(Opinion::standing)
        .filter(|standing| *standing != Standing::Unscored);
    match standings.next() {
        None => Standing::Unscored,
        Some(first) if standings.all(|other| other == first) => first,
        Some(_) => Standing::Disputed,
    }
}

/// Whether a judge is a model rather than rules alone.
pub fn is_model(judge: &str) -> bool {
    judge != PROGRAMMATIC && !judge.starts_with(&format!("{PROGRAMMATIC} + "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use VerdictState::{Met, NotMet, Unscored};

    fn judged(of: &[(&str, VerdictState)]) -> Vec<Judgement> {
        let judgement = |(judge, state): &(&str, VerdictState)| Judgement {
            judge: (*judge).to_owned(),
            verdicts: vec![Verdict {
                state: *state,
                source: VerdictSource::Model,
                ..Verdict::unscored(&"r1".into(), "")
            }],
            ..Judgement::default()
        };
        of.iter().map(judgement).collect()
    }

    #[test]
    fn repeats_vote_within_a_judge_and_judges_must_agree() {
        let table: [(&[(&str, VerdictState)], Standing); 8] = [
            (&[("a", Met)], Standing::Met),
            (&[("a", Met), ("b", Met)], Standing::Met),
            (&[("a", Met), ("b", NotMet)], Standing::Disputed),
            (
                &[("a", Met), ("a", NotMet), ("a", Met), ("b", Met)],
                Standing::Met,
            ),
            (&[("a", Met), ("a", NotMet), ("b", Met)], Standing::Disputed),
            (&[("a", Unscored), ("b", NotMet)], Standing::NotMet),
            (&[("a", Unscored)], Standing::Unscored),
            (&[], Standing::Unscored),
        ];
        for (given, expected) in table {
            assert_eq!(
                standing(&judged(given), &"r1".into()),
                expected,
                "{given:?}"
            );
        }
        assert_eq!(
            standing(&judged(&[("a", Met)]), &"r9".into()),
            Standing::Unscored
        );
    }

    #[test]
    fn an_opinion_in_words() {
        let of = |given| opinions(&judged(given), &"r1".into())[0].words();
        assert_eq!(of(&[("a", Met), ("a", NotMet), ("a", Met)]), "2 of 3 met");
        assert_eq!(of(&[("a", NotMet)]), "not met");
        assert_eq!(of(&[("a", Unscored), ("a", Unscored)]), "unscored");
    }
}
