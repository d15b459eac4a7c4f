//! One judgement of one output: reference, checks, then a model for what is left.

use super::model;
use super::{Judgement, Verdict, VerdictSource, VerdictState};
use crate::agent::trace::Output;
use crate::bench::hidden::{Check, HiddenInstance, Requirement};
use crate::bench::visible::Instance;
use crate::run::{Env, RunEvent, StepError};
use crate::worker::protocol::CheckOutcome;
use serde::{Deserialize, Serialize};

/// Name of the judge that asks no model.
pub const PROGRAMMATIC: &str = "programmatic";

/// The model that judges, and how much it judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraderConfig {
    /// Model name as sent.
    pub model: String,
    /// Where calls go; for the record only.
    pub base_url: String,
    /// Sent only when set.
    pub temperature: Option<f64>,
    pub seed: Option<u64>,
    /// Limit of the answer, in tokens.
    pub max_output_tokens: u32,
    /// Ask the model about requirements with a check as well; its verdicts on all requirements
    /// form a second judgement.
    #[serde(default)]
    pub judge_checkable: bool,
}

/// Judges one output. Only [`StepError::Cancelled`] comes back as an error; whatever else fails
/// leaves requirements unscored, with the reason. The first judgement decides slots by reference,
/// text requirements with a check by their check, and all others by the grader, if there is one.
pub async fn judge_instance(
    env: &impl Env,
    grader: Option<&GraderConfig>,
    output: &Output,
    instance: &Instance,
    hidden: &HiddenInstance,
) -> Result<Vec<Judgement>, StepError> {
    env.emit(RunEvent::JudgeStarted);
    let decided = by_rules(env, output, hidden).await?;
    let open = |r: &&Requirement| decided.iter().all(|v| v.requirement != r.id);
    let rest: Vec<&Requirement> = hidden.requirements.iter().filter(open).collect();
    let Some(grader) = grader else {
        return Ok(vec![programmatic(hidden, decided, &rest)]);
    };
    if rest.is_empty() && !grader.judge_checkable {
        return Ok(vec![programmatic(hidden, decided, &[])]);
    }
    let all: Vec<&Requirement> = hidden.requirements.iter().collect();
    let asked = if grader.judge_checkable {
        all
    } else {
        rest.clone()
    };
    let answer = model::ask(env, grader, output, instance, &asked).await?;
    let of_rest = answer
        .verdicts
        .iter()
        .filter(|v| rest.iter().any(|r| r.id == v.requirement));
    let mixed = decided.into_iter().chain(of_rest.cloned()).collect();
    let mut first = Judgement {
        verdicts: in_order(hidden, mixed),
        ..answer.clone()
    };
    if !grader.judge_checkable {
        return Ok(vec![first]);
    }
    // The calls belong to one judgement only, so that none is counted twice.
    first.calls.clear();
    first.judge = format!("{PROGRAMMATIC} + {}", grader.model);
    Ok(vec![first, answer])
}

fn programmatic(
    hidden: &HiddenInstance,
    decided: Vec<Verdict>,
    rest: &[&Requirement],
) -> Judgement {
    let why = "no rule can decide this requirement; set up a grader model under Settings to have it judged";
    let unscored = rest.iter().map(|r| Verdict::unscored(&r.id, why));
    Judgement {
        judge: PROGRAMMATIC.to_owned(),
        prompt: None,
        verdicts: in_order(hidden, decided.into_iter().chain(unscored).collect()),
        calls: Vec::new(),
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
