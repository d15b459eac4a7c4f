//! What of an instance's address leads nowhere, each in a sentence.

use super::focus::{Tab, from_word};
use crate::agent::trace::StageId;
use crate::agent::trace_view::{count, name};
use crate::bench::ids::{RequirementId, SessionId};

/// What there is to lead to.
pub struct Known<'a> {
    /// Steps of the run that is shown, in order; `None` where no run is shown.
    pub steps: Option<&'a [StageId]>,
    pub requirements: &'a [RequirementId],
    pub has_session: &'a dyn Fn(&SessionId) -> bool,
    /// Whether the dataset has questions about the user for this instance.
    pub questions: bool,
}

/// A sentence for each name of a query whose value leads nowhere. `run` is not looked at: whether a
/// run is kept is for whoever keeps runs to say.
pub fn dead_ends<'a>(
    query: impl IntoIterator<Item = (&'a str, &'a str)>,
    known: &Known<'_>,
) -> Vec<String> {
    let query: Vec<(&str, &str)> = query.into_iter().collect();
    let say = |&(what, value): &(&str, &str)| match what {
        // A system that is known is no part of the query.
        "system" => Some(format!(
            "There is no system “{value}”; the list beside Run holds them all."
        )),
        "mode" => mode(value, known.questions),
        "tab" => from_word::<Tab>(value)
            .is_none()
            .then(|| format!("There is no part “{value}” of this view.")),
        "stage" => step(value, nth(&query), known.steps),
        "nth" => value
            .parse::<u32>()
            .ok()
            .filter(|nth| *nth > 0)
            .is_none()
            .then(|| format!("“{value}” is not the number of a step; they count from 1.")),
        "requirement" => {
            let there = known.requirements.contains(&RequirementId::from(value));
            (!there).then(|| format!("This instance has no requirement “{value}”."))
        }
        "session" => {
            let there = (known.has_session)(&SessionId::from(value));
            (!there).then(|| format!("This user’s history has no session “{value}”."))
        }
        _ => None,
    };
    query.iter().filter_map(say).collect()
}

fn mode(value: &str, questions: bool) -> Option<String> {
    match value {
        "task" => None,
        "qa" if questions => None,
        "qa" => Some("The dataset has no questions for this instance, so it has no QA.".to_owned()),
        _ => Some(format!(
            "There is no mode “{value}”; what can be asked is task and qa."
        )),
    }
}

/// Which of the steps of one stage is meant, from 1.
fn nth(query: &[(&str, &str)]) -> usize {
    let value = query.iter().find(|(name, _)| *name == "nth");
    value.and_then(|(_, nth)| nth.parse().ok()).unwrap_or(1)
}

fn step(value: &str, nth: usize, steps: Option<&[StageId]>) -> Option<String> {
    let Some(stage) = from_word::<StageId>(value) else {
        return Some(format!("There is no step “{value}”."));
    };
    let Some(steps) = steps else {
        return Some(format!(
            "The link leads to the step “{}” of a run, and nothing has been run here yet.",
            name(stage)
        ));
    };
    let n = steps.iter().filter(|step| **step == stage).count();
    match n {
        0 => Some(format!("This run has no step “{}”.", name(stage))),
        n if n < nth => Some(format!(
            "This run has no {nth}. step “{}”: it has {}.",
            name(stage),
            count(n, "one of them", "of them")
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(query: &[(&str, &str)], steps: Option<&[StageId]>, questions: bool) -> Vec<String> {
        let known = Known {
            steps,
            requirements: &["r1".into(), "r2".into()],
            has_session: &|session| session.0 == "s0001",
            questions,
        };
        dead_ends(query.iter().copied(), &known)
    }

    #[test]
    fn what_can_be_followed_is_not_mentioned() {
        let steps = [StageId::Controller, StageId::Controller];
        let query = [
            ("run", "any"),
            ("mode", "qa"),
            ("tab", "outcome"),
            ("stage", "controller"),
            ("nth", "2"),
            ("requirement", "r2"),
            ("session", "s0001"),
            ("colour", "red"),
        ];
        assert_eq!(said(&query, Some(&steps), true), Vec::<String>::new());
    }

    #[test]
    fn each_value_that_leads_nowhere_is_named() {
        let steps = [StageId::QueryExpansion];
        let table = [
            (("system", "moon"), "no system “moon”"),
            (("mode", "moon"), "no mode “moon”"),
            (("mode", "qa"), "no questions"),
            (("tab", "moon"), "no part “moon”"),
            (("stage", "moon"), "no step “moon”"),
            (
                ("stage", "salience_reranking"),
                "This run has no step “Salience re-ranking”",
            ),
            (("nth", "0"), "“0” is not the number of a step"),
            (("requirement", "r9"), "no requirement “r9”"),
            (("session", "s9"), "no session “s9”"),
        ];
        for (pair, words) in table {
            let said = said(&[pair], Some(&steps), false);
            assert!(said.len() == 1 && said[0].contains(words), "{said:?}");
        }
    }

    #[test]
    fn a_step_is_looked_for_among_its_kind_and_needs_a_run() {
        let third = [("stage", "controller"), ("nth", "3")];
        let steps = [StageId::Controller, StageId::Controller];
        assert_eq!(
            said(&third, Some(&steps), false),
            ["This run has no 3. step “Controller”: it has 2 of them."]
        );
        let none = said(&third, None, false);
        assert!(
            none[0].ends_with("nothing has been run here yet."),
            "{none:?}"
        );
    }
}
