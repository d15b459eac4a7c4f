//! Judging an output again: by other judges, more often, with other words. What was said before
//! stays beside it; what is held already is not asked for again; what is taken back is set aside,
//! not lost, and comes back without being paid again.

use super::edit::{self, Note};
use super::panel::{JudgeModel, MOST_REPEATS, Panel};
use super::{Judgement, VerdictSource};
use crate::bench::ids::RequirementId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A judgement that does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetAside {
    pub judgement: Judgement,
    pub why: Why,
}

/// Why it does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Why {
    /// Its round was taken back.
    TakenBack,
    /// It did not hold every verdict of its model, and that round asked again.
    Replaced { round: u32 },
}

/// Whether a judgement says all that its judge was asked for: a call that failed, an answer that
/// could not be read or that left a requirement out has to be asked for again.
pub fn holds(judgement: &Judgement) -> bool {
    let open = |v: &super::Verdict| v.source == VerdictSource::None;
    judgement.prompt.is_none() || !edit::original(judgement).iter().any(open)
}

/// Names of the panel's judges beside judgements that are there: a judge keeps the name it has
/// there, and another one of that name gets its host.
pub fn names(panel: &Panel, held: &[Judgement]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (judge, name) in panel.judges.iter().zip(panel.names()) {
        let with_host = judge.label_with_host();
        let known = |name: &str| held.iter().any(|h| h.judge == name && is_by(h, judge));
        let taken = held.iter().any(|h| h.judge == name);
        names.push(if known(&name) {
            name
        } else if !names.contains(&with_host) && (known(&with_host) || taken) {
            with_host
        } else {
            name
        });
    }
    names
}

fn is_by(judgement: &Judgement, judge: &JudgeModel) -> bool {
    let plain = |url: &str| url.trim().trim_end_matches('/').to_owned();
    let mut calls = judgement.calls.iter();
    calls
        .next()
        .is_none_or(|call| plain(&call.base_url) == plain(&judge.base_url))
}

/// How often the panel would be asked beyond what is held, at most.
pub fn calls(panel: &Panel, held: &[Judgement]) -> u32 {
    let names = names(panel, held);
    let open = |(judge, name): (&JudgeModel, &String)| {
        let repeats = 1..=judge.repeats.clamp(1, MOST_REPEATS);
        let known = |repeat: &u32| {
            let same = |h: &&Judgement| h.judge == *name && h.repeat == *repeat;
            held.iter().any(|h| same(&h) && holds(h))
        };
        repeats.filter(|repeat| !known(repeat)).count() as u32
    };
    panel.judges.iter().zip(&names).map(open).sum()
}

/// Puts the judgements of a new round beside the others. Those that held nothing give way to their
/// successors, and what a person decided stands for the new judges as well.
pub fn add(counted: &mut Vec<Judgement>, aside: &mut Vec<SetAside>, new: Vec<Judgement>) {
    if new.is_empty() {
        return;
    }
    let round = rounds(counted, aside) + 1;
    let same =
        |old: &Judgement, new: &Judgement| old.judge == new.judge && old.repeat == new.repeat;
    let replaced = |old: &Judgement| !holds(old) && new.iter().any(|new| same(old, new));
    let gone: Vec<Judgement> = counted.extract_if(.., |old| replaced(old)).collect();
    let standing = decided(counted.iter().chain(&gone));
    let why = Why::Replaced { round };
    aside.extend(
        gone.into_iter()
            .map(|judgement| SetAside { judgement, why }),
    );
    for judgement in new {
        let mut own = [Judgement { round, ..judgement }];
        for change in &standing {
            let id = &change.after.requirement;
            let note = Note {
                author: change.author.clone(),
                at_ms: change.at_ms,
                reason: change.reason.clone(),
            };
            if edit::standing(&own[0], id).is_none() {
                edit::overrule(&mut own, id, change.after.state, &note);
            }
        }
        counted.extend(own);
    }
}

/// The changes by people that hold, one for each requirement.
fn decided<'a>(judgements: impl Iterator<Item = &'a Judgement>) -> Vec<edit::Edit> {
    let mut seen: BTreeSet<RequirementId> = BTreeSet::new();
    let mut out = Vec::new();
    for judgement in judgements {
        for verdict in &judgement.verdicts {
            let Some(change) = edit::standing(judgement, &verdict.requirement) else {
                continue;
            };
            if seen.insert(verdict.requirement.clone()) {
                out.push(change.clone());
            }
        }
    }
    out
}

fn rounds(counted: &[Judgement], aside: &[SetAside]) -> u32 {
    let aside = aside.iter().map(|one| &one.judgement);
    let all = counted.iter().chain(aside);
    all.map(|judgement| judgement.round).max().unwrap_or(0)
}

/// The last round that counts; 0 when the output was never judged again.
pub fn last_round(counted: &[Judgement]) -> u32 {
    counted.iter().map(|j| j.round).max().unwrap_or(0)
}

/// Sets the last round aside; what it had replaced counts again. Gives the number of judgements set
/// aside.
pub fn take_back(counted: &mut Vec<Judgement>, aside: &mut Vec<SetAside>) -> usize {
    let round = last_round(counted);
    if round == 0 {
        return 0;
    }
    let gone: Vec<Judgement> = counted.extract_if(.., |j| j.round == round).collect();
    let n = gone.len();
    let back = aside.extract_if(.., |one| one.why == Why::Replaced { round });
    counted.extend(back.map(|one| one.judgement));
    let why = Why::TakenBack;
    aside.extend(
        gone.into_iter()
            .map(|judgement| SetAside { judgement, why }),
    );
    n
}

/// Judgements that were taken back.
pub fn taken_back(aside: &[SetAside]) -> impl Iterator<Item = &Judgement> {
    let back = |one: &&SetAside| one.why == Why::TakenBack;
    aside.iter().filter(back).map(|one| &one.judgement)
}

/// Takes those of `names` that were taken back, to count again in a new round.
pub fn bring_back(
    aside: &mut Vec<SetAside>,
    wanted: impl Fn(&Judgement) -> bool,
) -> Vec<Judgement> {
    let back = |one: &mut SetAside| {
        one.why == Why::TakenBack && holds(&one.judgement) && wanted(&one.judgement)
    };
    aside
        .extract_if(.., back)
        .map(|one| one.judgement)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::trace::PromptRef;
    use crate::judge::{Verdict, VerdictState};
    use VerdictState::{Met, NotMet, Unscored};

    fn judge(model: &str, base_url: &str, repeats: u32) -> JudgeModel {
        JudgeModel {
            model: model.to_owned(),
            base_url: base_url.to_owned(),
            repeats,
            temperature: None,
            seed: None,
            max_output_tokens: 1000,
            wording: None,
        }
    }

    fn panel(judges: Vec<JudgeModel>) -> Panel {
        Panel {
            judges,
            shuffle_seed: 0,
        }
    }

    fn said(judge: &str, repeat: u32, state: VerdictState) -> Judgement {
        let source = match state {
            Unscored => VerdictSource::None,
            _ => VerdictSource::Model,
        };
        Judgement {
            judge: judge.to_owned(),
            repeat,
            prompt: Some(PromptRef::default()),
            verdicts: vec![Verdict {
                state,
                source,
                ..Verdict::unscored(&"r1".into(), "so")
            }],
            ..Judgement::default()
        }
    }

    #[test]
    fn only_what_is_not_held_is_asked() {
        let held = [said("a", 1, Met), said("a", 2, Unscored), said("b", 1, Met)];
        let all = panel(vec![
            judge("a", "", 4),
            judge("b", "", 1),
            judge("c", "", 2),
        ]);
        // a: 2 failed, 3 and 4 are new; b is held; c is new.
        assert_eq!(calls(&all, &held), 3 + 2);
        assert_eq!(calls(&all, &[]), 7);
    }

    #[test]
    fn another_judge_of_the_same_name_gets_its_host_and_keeps_it() {
        let from = |name: &str, url: &str| {
            let call: crate::agent::trace::CallRecord = serde_json::from_value(serde_json::json!({
                "role": "grader", "base_url": url, "request": {"model": "q", "messages": []},
                "reply": {"text": "", "finish": "stop"},
                "prompt": {"id": "judge", "sha256": ""}, "started_ms": 0.0, "duration_ms": 0.0,
            }))
            .expect("a call");
            Judgement {
                calls: vec![call],
                ..said(name, 1, Met)
            }
        };
        let held = [from("q", "https://a.example/v1/")];
        let of = |url| names(&panel(vec![judge("q", url, 1)]), &held);
        assert_eq!(of("https://a.example/v1"), ["q"]);
        assert_eq!(of("https://b.example/v1"), ["q at b.example"]);
        let both = [
            held[0].clone(),
            from("q at b.example", "https://b.example/v1"),
        ];
        let again = panel(vec![judge("q", "https://b.example/v1", 2)]);
        assert_eq!(names(&again, &both), ["q at b.example"]);
        assert_eq!(calls(&again, &both), 1);
    }

    #[test]
    fn a_round_can_be_taken_back_and_brought_back() {
        let before = vec![said("a", 1, Met), said("a", 2, Unscored)];
        let (mut counted, mut aside) = (before.clone(), Vec::new());
        let new = vec![said("a", 2, NotMet), said("b", 1, NotMet)];
        add(&mut counted, &mut aside, new);
        let seats = |all: &[Judgement]| -> Vec<(String, u32, u32)> {
            all.iter()
                .map(|j| (j.judge.clone(), j.repeat, j.round))
                .collect()
        };
        let after = [("a", 1, 0), ("a", 2, 1), ("b", 1, 1)].map(|(j, n, r)| (j.to_owned(), n, r));
        assert_eq!(seats(&counted), after);
        assert_eq!(take_back(&mut counted, &mut aside), 2);
        assert_eq!(counted, before, "the failed one counts again");
        assert_eq!(take_back(&mut counted, &mut aside), 0, "the run's own stay");
        assert_eq!(taken_back(&aside).count(), 2);
        let back = bring_back(&mut aside, |j| j.judge == "b");
        add(&mut counted, &mut aside, back);
        assert_eq!(counted[2].round, 2);
        assert_eq!(taken_back(&aside).count(), 1);
    }

    #[test]
    fn what_a_person_decided_stands_for_new_judges() {
        let (mut counted, mut aside) = (vec![said("a", 1, NotMet)], Vec::new());
        let note = Note {
            author: "Ada".to_owned(),
            at_ms: 5.0,
            reason: "line 3".to_owned(),
        };
        edit::overrule(&mut counted, &"r1".into(), Met, &note);
        add(&mut counted, &mut aside, vec![said("b", 1, NotMet)]);
        assert_eq!(counted[1].verdicts[0].state, Met);
        assert_eq!(edit::original(&counted[1])[0].state, NotMet);
        assert_eq!(
            edit::standing(&counted[1], &"r1".into()).map(|e| e.at_ms),
            Some(5.0)
        );
    }
}
