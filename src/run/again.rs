//! Judging the output of a run again, whoever made it and wherever it was kept: the agent does not
//! run again.

use super::drive::{Case, RunSpec, follow, posed};
use super::record::{RunRecord, RunStatus};
use super::{Env, StepError};
use crate::agent::trace::System;
use crate::bench::hidden::HiddenInstance;
use crate::judge::again::{self, add, bring_back, taken_back};
use crate::judge::panel::{JudgeModel, MOST_REPEATS, Panel};
use crate::judge::{Held, Judgement, VerdictSource, judge_beside, judge_by_models};

/// Asks the panel of `spec` about a run's output, as far as it has not answered yet. Only the panel
/// counts of `spec`; the rest is the run's own. On an error the run is as it was: answered calls are
/// in the journal, so that going on does not pay them again.
pub async fn judge_again(
    env: &impl Env,
    spec: &RunSpec,
    case: Case<'_>,
    before: &RunRecord,
) -> Result<RunRecord, StepError> {
    let posed = posed(before.variant.mode, case)?;
    let (instance, hidden) = (posed.instance.as_ref(), posed.hidden.as_ref());
    refuse_strange(before, hidden)?;
    let output = before.output.as_ref().ok_or_else(|| {
        StepError::Engine(format!(
            "the run on {} has no output to judge; resume it, or run it again",
            before.instance
        ))
    })?;
    let mut record = before.clone();
    let all = everything(before);
    let names = again::names(&spec.panel, &all);
    let seat = |judgement: &Judgement| {
        let of = |(judge, name): (&JudgeModel, &String)| {
            *name == judgement.judge && judgement.repeat <= judge.repeats.clamp(1, MOST_REPEATS)
        };
        spec.panel.judges.iter().zip(&names).any(of)
    };
    let mut new = bring_back(&mut record.set_aside, seat);
    let (held, both) = (Held(&all), (instance, hidden));
    new.extend(match before.system {
        System::Samples => judge_by_models(env, &spec.panel, held, output, both).await?,
        _ => judge_beside(env, &spec.panel, held, output, both).await?,
    });
    add(&mut record.judgements, &mut record.set_aside, new);
    if let Some(more) = follow(env, spec, &record, hidden).await? {
        match &mut record.links {
            Some(links) => links.add(more),
            none => *none = Some(more),
        }
    }
    record.status = RunStatus::Done;
    Ok(record)
}

/// How many calls judging again would take, at most.
pub fn calls(panel: &Panel, record: &RunRecord) -> u32 {
    match record.output.is_none() || by_rules_alone(record) {
        true => 0,
        false => again::calls(panel, &everything(record)),
    }
}

/// Judgements that wait to be brought back without a call.
pub fn waiting(record: &RunRecord) -> usize {
    taken_back(&record.set_aside).count()
}

/// Takes the last judging back. Gives the number of judgements set aside.
pub fn take_back(record: &mut RunRecord) -> usize {
    again::take_back(&mut record.judgements, &mut record.set_aside)
}

/// What counts and what was taken back: none of it is asked for again.
fn everything(record: &RunRecord) -> Vec<Judgement> {
    let back = taken_back(&record.set_aside);
    record.judgements.iter().chain(back).cloned().collect()
}

/// References and checks decide all, the same for every judge.
fn by_rules_alone(record: &RunRecord) -> bool {
    let rule =
        |source: VerdictSource| matches!(source, VerdictSource::Reference | VerdictSource::Check);
    let first = record.judgements.first();
    record.system != System::Samples
        && first.is_some_and(|judged| {
            let verdicts = crate::judge::edit::original(judged);
            verdicts.iter().all(|verdict| rule(verdict.source))
        })
}

/// A run of another version of a dataset may have been judged by other requirements.
fn refuse_strange(record: &RunRecord, hidden: &HiddenInstance) -> Result<(), StepError> {
    let then = record.requirements.iter().map(|r| (&r.id, &r.text));
    let now = hidden.requirements.iter().map(|r| (&r.id, &r.text));
    if then.eq(now) {
        return Ok(());
    }
    Err(StepError::Engine(format!(
        "the run on {} was judged by other requirements than the open dataset has; open the version of {} with the hash {} and judge again there",
        record.instance,
        record.dataset.name,
        record
            .dataset
            .sha256
            .get(..12)
            .unwrap_or(&record.dataset.sha256),
    )))
}
