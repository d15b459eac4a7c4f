//! One judgement of one output: reference, checks, then a model for what is left.

use super::again;
use super::model;
use super::panel::{JudgeModel, MOST_REPEATS, Panel};
use super::{Judgement, Verdict, VerdictSource, VerdictState};
use crate::agent::trace::Output;
use crate::bench::hidden::{Check, HiddenInstance, Requirement};
use crate::bench::visible::Instance;
use crate::run::{Env, RunEvent, StepError};
use crate::worker::protocol::CheckOutcome;
use futures::future::try_join_all;

/// Judgements of the same output that are there already: what they hold is not asked again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held<'a>(pub &'a [Judgement]);

impl Held<'_> {
    fn has(self, judge: &str, repeat: u32) -> bool {
        let same = |held: &&Judgement| held.judge == judge && held.repeat == repeat;
        self.0.iter().any(|held| same(&held) && again::holds(held))
    }
}

/// Name of the judge that asks no model.
pub const PROGRAMMATIC: &str = "programmatic";

/// Judges one output. Only [`StepError::Cancelled`] comes back as an error; whatever else fails
/// leaves requirements unscored, with the reason. Slots are decided by reference and text
/// requirements with a check by their check, the same in every judgement; each judge of the panel
/// decides the others, in each of its repeats. Judges are asked side by side, repeats one after
/// the other.
pub async fn judge_instance(
    env: &impl Env,
    panel: &Panel,
    output: &Output,
    instance: &Instance,
    hidden: &HiddenInstance,
) -> Result<Vec<Judgement>, StepError> {
    judge_beside(env, panel, Held::default(), output, (instance, hidden)).await
}

/// As [`judge_instance`], without what is held already.
pub async fn judge_beside(
    env: &impl Env,
    panel: &Panel,
    held: Held<'_>,
    output: &Output,
    (instance, hidden): (&Instance, &HiddenInstance),
) -> Result<Vec<Judgement>, StepError> {
    env.emit(RunEvent::JudgeStarted);
    let decided = by_rules(env, output, hidden).await?;
    let open = |r: &&Requirement| decided.iter().all(|v| v.requirement != r.id);
    let rest: Vec<&Requirement> = hidden.requirements.iter().filter(open).collect();
    if rest.is_empty() || panel.judges.is_empty() {
        let known = held.0.iter().any(|held| held.judge == PROGRAMMATIC);
        let rules = || programmatic(hidden, decided, &rest);
        return Ok(if known { Vec::new() } else { vec![rules()] });
    }
    let case = Case {
        output,
        instance,
        hidden,
        decided: &decided,
        rest: &rest,
        held,
    };
    by_panel(env, panel, &case).await
}

/// The models' verdicts alone on every requirement, whatever a rule could decide: for comparing a
/// judge with labels. Errors as [`judge_instance`].
pub async fn judge_by_models(
    env: &impl Env,
    panel: &Panel,
    held: Held<'_>,
    output: &Output,
    (instance, hidden): (&Instance, &HiddenInstance),
) -> Result<Vec<Judgement>, StepError> {
    env.emit(RunEvent::JudgeStarted);
    let rest: Vec<&Requirement> = hidden.requirements.iter().collect();
    let case = Case {
        output,
        instance,
        hidden,
        decided: &[],
        rest: &rest,
        held,
    };
    by_panel(env, panel, &case).await
}

/// Asks every judge of the panel.
async fn by_panel(
    env: &impl Env,
    panel: &Panel,
    case: &Case<'_>,
) -> Result<Vec<Judgement>, StepError> {
    let names = again::names(panel, case.held.0);
    let judges = panel.judges.iter().enumerate();
    let asked = judges.map(|(n, judge)| {
        let seat = Seat {
            index: n as u8,
            name: names[n].clone(),
            judge,
            shuffle_seed: panel.shuffle_seed,
        };
        async move { of_judge(env, case, seat).await }
    });
    let answers = try_join_all(asked).await?;
    Ok(answers.into_iter().flatten().collect())
}

/// What is judged, and what the rules have said about it.
struct Case<'a> {
    output: &'a Output,
    instance: &'a Instance,
    hidden: &'a HiddenInstance,
    decided: &'a [Verdict],
    /// What no rule decides.
    rest: &'a [&'a Requirement],
    held: Held<'a>,
}

/// A judge in its place in the panel.
pub(super) struct Seat<'a> {
    pub index: u8,
    pub name: String,
    pub judge: &'a JudgeModel,
    pub shuffle_seed: u64,
}

async fn of_judge(
    env: &impl Env,
    case: &Case<'_>,
    seat: Seat<'_>,
) -> Result<Vec<Judgement>, StepError> {
    let mut out = Vec::new();
    let repeats = 1..=seat.judge.repeats.clamp(1, MOST_REPEATS);
    for repeat in repeats.filter(|repeat| !case.held.has(&seat.name, *repeat)) {
        let answer = model::ask(env, &seat, repeat, case.output, case.instance, case.rest).await?;
        out.push(with_rules(case, answer));
    }
    Ok(out)
}

/// What rules decided and what the model did, as one judgement.
fn with_rules(case: &Case<'_>, answer: Judgement) -> Judgement {
    let of_rest = answer
        .verdicts
        .iter()
        .filter(|v| case.rest.iter().any(|r| r.id == v.requirement));
    let mixed = case.decided.iter().chain(of_rest).cloned().collect();
    Judgement {
        verdicts: in_order(case.hidden, mixed),
        ..answer
    }
}

fn programmatic(
    hidden: &HiddenInstance,
    decided: Vec<Verdict>,
    rest: &[&Requirement],
) -> Judgement {
    let why = "no rule can decide this requirement; set up a judge model under Settings to have it judged";
    let unscored = rest.iter().map(|r| Verdict::unscored(&r.id, why));
    Judgement {
        judge: PROGRAMMATIC.to_owned(),
        verdicts: in_order(hidden, decided.into_iter().chain(unscored).collect()),
        ..Judgement::default()
    }
}

fn in_order(hidden: &HiddenInstance, verdicts: Vec<Verdict>) -> Vec<Verdict> {
    let find = |r: &Requirement| verdicts.iter().find(|v| v.requirement == r.id).cloned();
    let missing = |r: &Requirement| Verdict::unscored(&r.id, "the judge returned nothing for it");
    hidden
        .requirements
        .iter()
        .map(|r| find(r).unwrap_or_else(|| missing(r)))
        .collect()
}

/// What reference and checks decide. A check that could not be run leaves its requirement to the
/// grader.
async fn by_rules(
    env: &impl Env,
    output: &Output,
    hidden: &HiddenInstance,
) -> Result<Vec<Verdict>, StepError> {
    let rules = match output {
        Output::CallApi { .. } => slot_rules(hidden),
        Output::GenerateText { .. } => text_rules(hidden),
    };
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let checks: Vec<Check> = rules.iter().map(|(_, check)| check.clone()).collect();
    let outcomes = match env.check(&output.value(), &checks).await {
        Ok(outcomes) => outcomes,
        Err(StepError::Cancelled) => return Err(StepError::Cancelled),
        Err(_) => return Ok(Vec::new()),
    };
    let source = match output {
        Output::CallApi { .. } => VerdictSource::Reference,
        Output::GenerateText { .. } => VerdictSource::Check,
    };
    Ok(combine(rules.iter().map(|(r, _)| *r).zip(outcomes), source))
}

/// One rule for each referenced slot; a requirement may span several.
fn slot_rules(hidden: &HiddenInstance) -> Vec<(&Requirement, Check)> {
    let mut rules = Vec::new();
    for requirement in &hidden.requirements {
        let slots = hidden
            .api_reference
            .iter()
            .filter(|(_, s)| s.requirement == requirement.id);
        rules.extend(slots.map(|(slot, reference)| {
            (
                requirement,
                Check::Slot {
                    slot: slot.clone(),
                    accept: reference.accept.clone(),
                },
            )
        }));
    }
    rules
}

fn text_rules(hidden: &HiddenInstance) -> Vec<(&Requirement, Check)> {
    hidden
        .requirements
        .iter()
        .filter_map(|r| Some((r, r.check.clone()?)))
        .collect()
}

/// A requirement is met when all its rules pass; one that could not be run leaves it open.
fn combine<'a>(
    outcomes: impl Iterator<Item = (&'a Requirement, CheckOutcome)>,
    source: VerdictSource,
) -> Vec<Verdict> {
    let mut verdicts: Vec<(Verdict, bool)> = Vec::new();
    for (requirement, outcome) in outcomes {
        let passed = outcome.passed == Some(true);
        let state = if passed {
            VerdictState::Met
        } else {
            VerdictState::NotMet
        };
        let runs = outcome.passed.is_some();
        match verdicts
            .iter_mut()
            .find(|(v, _)| v.requirement == requirement.id)
        {
            Some((verdict, all_run)) => {
                *all_run &= runs;
                verdict.rationale = format!("{}; {}", verdict.rationale, outcome.reason);
                if !passed {
                    verdict.state = VerdictState::NotMet;
                }
            }
            None => verdicts.push((
                Verdict {
                    requirement: requirement.id.clone(),
                    state,
                    source,
                    rationale: outcome.reason,
                    quote: None,
                },
                runs,
            )),
        }
    }
    verdicts
        .into_iter()
        .filter(|(_, all_run)| *all_run)
        .map(|(verdict, _)| verdict)
        .collect()
}
