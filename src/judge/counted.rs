//! Which judgements of an output count for which judge. Where rules decide every requirement no
//! model is asked, and what they say holds for every judge and every repeat: an instance must not
//! drop out of a judge's table because nothing about it was open.

use super::{Judgement, PROGRAMMATIC, Verdict, VerdictState, edit};

/// The judgement of rules alone, where they decided every requirement and no model was asked. What
/// a person changed afterwards does not open it again.
pub fn by_rules_alone(judgements: &[Judgement]) -> Option<&Judgement> {
    let [only] = judgements else {
        return None;
    };
    (only.judge == PROGRAMMATIC && is_whole(only)).then_some(only)
}

/// Whether a judgement decides every requirement.
fn is_whole(judgement: &Judgement) -> bool {
    let decided = |v: &Verdict| v.state != VerdictState::Unscored;
    let whole = |verdicts: &[Verdict]| !verdicts.is_empty() && verdicts.iter().all(decided);
    match judgement.edits.is_empty() {
        true => whole(&judgement.verdicts),
        false => whole(&edit::original(judgement)),
    }
}

/// All repeats of a judge on one output; what rules decided alone, where they did; empty where the
/// judge was not asked.
pub fn of_judge<'a>(judgements: &'a [Judgement], judge: &str) -> Vec<&'a Judgement> {
    let own: Vec<&Judgement> = judgements.iter().filter(|j| j.judge == judge).collect();
    match by_rules_alone(judgements) {
        Some(rules) if own.is_empty() => vec![rules],
        _ => own,
    }
}

/// The judgement of a judge in one repeat, with the same exception.
pub fn of_repeat<'a>(
    judgements: &'a [Judgement],
    judge: &str,
    repeat: u32,
) -> Option<&'a Judgement> {
    let own = |j: &&Judgement| j.judge == judge && j.repeat == repeat;
    judgements
        .iter()
        .find(own)
        .or_else(|| by_rules_alone(judgements))
}

/// The judges that a table of these outputs has, in the order of their first judgement. Rules stand
/// among them only where they left something open, or where no model was asked at all.
pub fn judges<'a>(outputs: impl Iterator<Item = &'a [Judgement]> + Clone) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in outputs.clone().flatten().map(|j| j.judge.as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let models = names.iter().any(|name| *name != PROGRAMMATIC);
    let rules = |judgements: &[Judgement]| judgements.iter().any(|j| j.judge == PROGRAMMATIC);
    let mut ruled = outputs.filter(|judgements| rules(judgements));
    if models && ruled.all(|judgements| by_rules_alone(judgements).is_some()) {
        names.retain(|name| *name != PROGRAMMATIC);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::edit::Note;
    use VerdictState::{Met, NotMet, Unscored};

    fn judgement(judge: &str, repeat: u32, states: &[VerdictState]) -> Judgement {
        let verdict = |(n, state): (usize, &VerdictState)| Verdict {
            state: *state,
            ..Verdict::unscored(&format!("r{n}").as_str().into(), "")
        };
        Judgement {
            judge: judge.to_owned(),
            repeat,
            verdicts: states.iter().enumerate().map(verdict).collect(),
            ..Judgement::default()
        }
    }

    #[test]
    fn rules_count_for_every_judge_where_they_leave_nothing_open() {
        let whole = [judgement(PROGRAMMATIC, 1, &[Met, NotMet])];
        assert_eq!(of_judge(&whole, "a"), [&whole[0]]);
        assert_eq!(of_repeat(&whole, "a", 5), Some(&whole[0]));
        let open = [judgement(PROGRAMMATIC, 1, &[Met, Unscored])];
        assert!(of_judge(&open, "a").is_empty() && of_repeat(&open, "a", 1).is_none());
        assert!(of_judge(&[], "a").is_empty());
        assert!(by_rules_alone(&[judgement(PROGRAMMATIC, 1, &[])]).is_none());
    }

    #[test]
    fn a_model_beside_the_rules_speaks_for_itself() {
        let both = [
            judgement(PROGRAMMATIC, 1, &[Met, Unscored]),
            judgement("a", 1, &[Met, NotMet]),
            judgement("a", 2, &[Met, Met]),
        ];
        assert_eq!(of_judge(&both, "a"), [&both[1], &both[2]]);
        assert_eq!(of_repeat(&both, "a", 2), Some(&both[2]));
        assert!(of_judge(&both, "b").is_empty());
    }

    #[test]
    fn a_persons_doubt_does_not_open_what_rules_decided() {
        let mut whole = [judgement(PROGRAMMATIC, 1, &[Met])];
        let note = Note {
            author: "Ada".to_owned(),
            at_ms: 0.0,
            reason: "x".to_owned(),
        };
        edit::overrule(&mut whole, &"r0".into(), Unscored, &note);
        assert_eq!(of_judge(&whole, "a").len(), 1);
    }

    #[test]
    fn rules_are_a_row_of_their_own_only_where_something_is_open() {
        let whole = [judgement(PROGRAMMATIC, 1, &[Met])];
        let open = [judgement(PROGRAMMATIC, 1, &[Unscored])];
        let model = [judgement("a", 1, &[Met])];
        let of = |outputs: &[&[Judgement; 1]]| {
            let outputs: Vec<&[Judgement]> = outputs.iter().map(|one| one.as_slice()).collect();
            let found = judges(outputs.iter().copied());
            found.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of(&[&whole, &model]), ["a"]);
        assert_eq!(of(&[&open, &model]), [PROGRAMMATIC, "a"]);
        assert_eq!(of(&[&whole, &open]), [PROGRAMMATIC]);
        assert!(of(&[]).is_empty());
    }
}
