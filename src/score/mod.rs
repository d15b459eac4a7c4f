//! Means over requirements, instances and domains (paper, evaluation; `method.json`).
//!
//! Instance = mean over its scored requirements; domain = mean over its instances; overall = mean
//! over all instances. Repeats of one judge are averaged first, then judges count equally.

pub mod agreement;
pub mod bootstrap;
pub mod paper;
pub mod spread;

use crate::bench::ids::{DomainId, InstanceId};
use crate::judge::{Judgement, PROGRAMMATIC, Verdict, VerdictState};
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

/// Score of one output by one judge: the mean over its repeats.
pub fn of_repeats(judgements: &[&Judgement]) -> InstanceScore {
    average(judgements.iter().map(|j| of_verdicts(&j.verdicts)))
}

/// Score of one output judged one or more times: repeats of the same judge are averaged first,
/// then the judges with equal weight. Rules alone are no further judge beside a model, whose
/// verdicts contain theirs.
pub fn of_judgements(judgements: &[Judgement]) -> InstanceScore {
    let mut by_judge: BTreeMap<&str, Vec<&Judgement>> = BTreeMap::new();
    let models = judgements.iter().any(|j| j.judge != PROGRAMMATIC);
    let counted = judgements
        .iter()
        .filter(|j| !models || j.judge != PROGRAMMATIC);
    for judgement in counted {
        by_judge
            .entry(&judgement.judge)
            .or_default()
            .push(judgement);
    }
    average(by_judge.values().map(|repeats| of_repeats(repeats)))
}

/// Mean of those with a mean; counts are summed.
fn average(scores: impl IntoIterator<Item = InstanceScore>) -> InstanceScore {
    let scores: Vec<InstanceScore> = scores.into_iter().collect();
    InstanceScore {
        mean: mean(scores.iter().filter_map(|s| s.mean)),
        scored: scores.iter().map(|s| s.scored).sum(),
        unscored: scores.iter().map(|s| s.unscored).sum(),
    }
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

/// Scores by domain and instance. Entries of the same instance are repeats and are averaged.
pub fn by_instance(entries: &[Entry]) -> BTreeMap<(DomainId, InstanceId), InstanceScore> {
    let mut repeats: BTreeMap<(DomainId, InstanceId), Vec<InstanceScore>> = BTreeMap::new();
    for entry in entries {
        let of = (entry.domain.clone(), entry.instance.clone());
        repeats.entry(of).or_default().push(entry.score);
    }
    let one = |(of, scores): (_, Vec<InstanceScore>)| (of, average(scores));
    repeats.into_iter().map(one).collect()
}

/// The table of one system's runs. Entries of the same instance are repeats and are averaged
/// before anything else.
pub fn table(entries: &[Entry]) -> ScoreTable {
    let mut by_domain: BTreeMap<DomainId, Vec<InstanceScore>> = BTreeMap::new();
    for ((domain, _), score) in by_instance(entries) {
        by_domain.entry(domain).or_default().push(score);
    }
    let all: Vec<InstanceScore> = by_domain.values().flatten().copied().collect();
    ScoreTable {
        domains: by_domain
            .into_iter()
            .map(|(id, scores)| (id, over_instances(&scores)))
            .collect(),
        overall: over_instances(&all),
    }
}

fn over_instances(scores: &[InstanceScore]) -> MeanScore {
    let with = scores.iter().filter(|s| s.mean.is_some()).count();
    let total = average(scores.iter().copied());
    MeanScore {
        mean: total.mean,
        instances: with as u32,
        without_score: (scores.len() - with) as u32,
        scored: total.scored,
        unscored: total.unscored,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::VerdictSource;
    use VerdictState::{Met, NotMet, Unscored};

    fn judgement(judge: &str, states: &[VerdictState]) -> Judgement {
        let verdict = |(i, state): (usize, &VerdictState)| Verdict {
            requirement: format!("r{i}").as_str().into(),
            state: *state,
            source: VerdictSource::Model,
            rationale: String::new(),
            quote: None,
        };
        Judgement {
            judge: judge.to_owned(),
            verdicts: states.iter().enumerate().map(verdict).collect(),
            ..Judgement::default()
        }
    }

    fn entry(instance: &str, domain: &str, mean: Option<f64>) -> Entry {
        let score = InstanceScore {
            mean,
            scored: mean.map_or(0, |_| 2),
            unscored: 1,
        };
        Entry {
            instance: instance.into(),
            domain: domain.into(),
            score,
        }
    }

    #[test]
    fn leaves_unscored_requirements_out_of_the_mean() {
        let score = of_verdicts(&judgement("a", &[Met, NotMet, Unscored, Met]).verdicts);
        assert_eq!(
            (score.mean, score.scored, score.unscored),
            (Some(2.0 / 3.0), 3, 1)
        );
        let none = of_verdicts(&judgement("a", &[Unscored]).verdicts);
        assert_eq!((none.mean, none.scored, none.unscored), (None, 0, 1));
    }

    // By hand: judge a scores 1 and 0, mean 0.5; judge b scores 1; both alike, 0.75.
    // All three pooled would give 2/3.
    #[test]
    fn averages_the_repeats_of_a_judge_before_the_judges() {
        let judged = [
            judgement("a", &[Met]),
            judgement("a", &[NotMet]),
            judgement("b", &[Met]),
        ];
        assert_eq!(of_judgements(&judged).mean, Some(0.75));
    }

    // By hand: the rules scored 1 of 1; the model, with theirs, 1 of 2.
    #[test]
    fn rules_are_no_judge_beside_a_model() {
        let judged = [
            judgement(PROGRAMMATIC, &[Met, Unscored]),
            judgement("a", &[Met, NotMet]),
        ];
        assert_eq!(of_judgements(&judged).mean, Some(0.5));
        assert_eq!(of_judgements(&judged[..1]).mean, Some(1.0));
    }

    #[test]
    fn a_judge_without_any_score_does_not_pull_the_mean() {
        let judged = [judgement("a", &[Met]), judgement("b", &[Unscored])];
        assert_eq!(of_judgements(&judged).mean, Some(1.0));
        assert_eq!(of_judgements(&[]).mean, None);
    }

    // By hand: x is (1 + 0) / 2; work = (0.5 + 1) / 2; overall = (0.5 + 1 + 0) / 3.
    #[test]
    fn overall_is_the_mean_over_instances_not_over_domains_or_runs() {
        let table = table(&[
            entry("x", "work", Some(1.0)),
            entry("x", "work", Some(0.0)),
            entry("y", "work", Some(1.0)),
            entry("z", "planning", Some(0.0)),
            entry("u", "planning", None),
        ]);
        assert_eq!(table.domains[&"work".into()].mean, Some(0.75));
        assert_eq!(table.overall.mean, Some(0.5));
        assert_eq!(
            (table.overall.instances, table.overall.without_score),
            (3, 1)
        );
    }
}
