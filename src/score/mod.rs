//! Means over requirements, instances and domains (paper, evaluation; `method.json`).
//!
//! Instance = mean over its scored requirements; domain = mean over its instances; overall = mean
//! over all instances. Repeats of one judge are averaged first, then judges count equally.

pub mod paper;

use crate::bench::ids::{DomainId, InstanceId};
use crate::judge::{Judgement, Verdict, VerdictState};
use crate::run::record::RunRecord;
use std::collections::BTreeMap;

/// Score of one instance, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InstanceScore {
    /// Mean over scored requirements; `None` when none was scored.
    pub mean: Option<f64>,
    pub scored: u32,
    pub unscored: u32,
}

/// Mean over the instances of a domain, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeanScore {
    /// 0 to 1; `None` when no instance has a score.
    pub mean: Option<f64>,
    /// Instances behind the mean.
    pub instances: u32,
    /// Instances without any scored requirement; not in the mean.
    pub without_score: u32,
    /// Requirements scored and not, over all repeats.
    pub scored: u32,
    pub unscored: u32,
}

/// The table of one system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreTable {
    pub domains: BTreeMap<DomainId, MeanScore>,
    /// Mean over all instances, not over domains.
    pub overall: MeanScore,
}

/// Mean over the verdicts of one judge.
pub fn of_verdicts(verdicts: &[Verdict]) -> InstanceScore {
    let scored: Vec<f64> = verdicts.iter().filter_map(points).collect();
    InstanceScore {
        mean: mean(scored.iter().copied()),
        scored: scored.len() as u32,
        unscored: (verdicts.len() - scored.len()) as u32,
    }
}

fn points(verdict: &Verdict) -> Option<f64> {
    match verdict.state {
        VerdictState::Met => Some(1.0),
        VerdictState::NotMet => Some(0.0),
        VerdictState::Unscored => None,
    }
}

/// Mean of numbers; `None` for none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values
        .into_iter()
        .fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// Score of one output judged one or more times: repeats of the same judge are averaged first,
/// then the judges with equal weight.
pub fn of_judgements(judgements: &[Judgement]) -> InstanceScore {
    let _ = judgements;
    todo!()
}

/// One line of the table's input: a run of an instance and its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub instance: InstanceId,
    pub domain: DomainId,
    pub score: InstanceScore,
}

impl From<&RunRecord> for Entry {
    fn from(record: &RunRecord) -> Self {
        Self {
            instance: record.instance.clone(),
            domain: record.domain.clone(),
            score: of_judgements(&record.judgements),
        }
    }
}

/// The table of one system's runs. Entries of the same instance are repeats and are averaged
/// before anything else.
pub fn table(entries: &[Entry]) -> ScoreTable {
    let _ = entries;
    todo!()
}

/// The published Overall from domain scores and the number of instances behind each.
pub fn weighted_overall(domains: impl IntoIterator<Item = (f64, u32)>) -> Option<f64> {
    let (sum, n) = domains
        .into_iter()
        .fold((0.0, 0.0), |(sum, n), (score, instances)| {
            let weight = f64::from(instances);
            (sum + weight * score, n + weight)
        });
    (n > 0.0).then(|| sum / n)
}
