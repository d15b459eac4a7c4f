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

impl From<VerdictState> for Standing {
    fn from(state: VerdictState) -> Self {
        match state {
            VerdictState::Met => Self::Met,
            VerdictState::NotMet => Self::NotMet,
            VerdictState::Unscored => Self::Unscored,
        }
    }
}

impl Opinion {
    /// Verdicts of one state.
    pub fn count(&self, state: VerdictState) -> usize {
        self.verdicts.iter().filter(|v| v.state == state).count()
    }

    /// Share of "met" among its repeats that decided, 0 to 1.
    pub fn share_met(&self) -> Option<f64> {
        let (met, not) = (
            self.count(VerdictState::Met),
            self.count(VerdictState::NotMet),
        );
        (met + not > 0).then(|| met as f64 / (met + not) as f64)
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

/// Opinions that count. Rules alone are no judge beside a model, whose verdicts contain theirs.
fn counted(judgements: &[Judgement], id: &RequirementId) -> Vec<Opinion> {
    let mut held = opinions(judgements, id);
    held.retain(|opinion| opinion.share_met().is_some());
    if held.iter().any(|opinion| is_model(&opinion.judge)) {
        held.retain(|opinion| is_model(&opinion.judge));
    }
    held
}

/// What all judges together say of one requirement.
pub fn standing(judgements: &[Judgement], id: &RequirementId) -> Standing {
    let held = counted(judgements, id);
    let mut standings = held.iter().map(Opinion::standing);
    match standings.next() {
        None => Standing::Unscored,
        Some(first) if standings.all(|other| other == first) => first,
        Some(_) => Standing::Disputed,
    }
}

/// What a requirement counts in the score, 0 to 1: repeats first, then judges equally.
pub fn share(judgements: &[Judgement], id: &RequirementId) -> Option<f64> {
    let held = counted(judgements, id);
    crate::score::mean(held.iter().filter_map(Opinion::share_met))
}

/// Whether a judge is a model rather than rules alone.
pub fn is_model(judge: &str) -> bool {
    judge != PROGRAMMATIC
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

    // By hand: a says 4 of 5, b 0 of 1: (0.8 + 0) / 2. Rules beside a model are no third judge.
    #[test]
    fn a_requirement_counts_as_the_score_has_it() {
        let a = [NotMet, Met, Met, Met, Met].map(|state| ("a", state));
        assert_eq!(share(&judged(&a), &"r1".into()), Some(0.8));
        assert_eq!(standing(&judged(&a), &"r1".into()), Standing::Met);
        let mut both = a.to_vec();
        both.extend([("b", NotMet), (PROGRAMMATIC, Met)]);
        assert_eq!(share(&judged(&both), &"r1".into()), Some(0.4));
        let rules = [(PROGRAMMATIC, Met), ("a", NotMet)];
        assert_eq!(standing(&judged(&rules), &"r1".into()), Standing::NotMet);
        assert_eq!(share(&judged(&rules[..1]), &"r1".into()), Some(1.0));
        assert_eq!(share(&judged(&[("a", Unscored)]), &"r1".into()), None);
    }

    #[test]
    fn an_opinion_in_words() {
        let of = |given| opinions(&judged(given), &"r1".into())[0].words();
        assert_eq!(of(&[("a", Met), ("a", NotMet), ("a", Met)]), "2 of 3 met");
        assert_eq!(of(&[("a", NotMet)]), "not met");
        assert_eq!(of(&[("a", Unscored), ("a", Unscored)]), "unscored");
    }
}
