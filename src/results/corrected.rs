//! A score with the judge's known error taken out. Rules and people err otherwise than the judge
//! does, so only what the judge decided is corrected; the rest stays as it is.

use crate::bench::ids::{DomainId, InstanceId};
use crate::judge::{Verdict, VerdictSource, VerdictState, counted};
use crate::results::calibration::Calibration;
use crate::run::record::RunRecord;
use crate::score;
use std::collections::BTreeMap;

/// Standard deviations to each side of a 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// The score of one instance in two parts, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Points that rules and people gave.
    pub fixed: f64,
    /// Share of the score that the judge decided.
    pub weight: f64,
    /// Points the judge gave, at most `weight`.
    pub seen: f64,
}

/// A corrected mean over instances, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    pub share: f64,
    /// Ends of the 95 % interval (delta method), for the instances drawn and for the labels behind
    /// the judge's error; `None` for a single instance.
    pub interval: Option<(f64, f64)>,
    /// Share of the score that the judge decided.
    pub weight: f64,
}

impl Parts {
    /// Of one judgement; `None` where nothing was scored.
    pub fn of_verdicts(verdicts: &[Verdict]) -> Option<Self> {
        let scored = || {
            verdicts
                .iter()
                .filter(|v| v.state != VerdictState::Unscored)
        };
        let n = scored().count() as f64;
        let by_judge = |v: &&Verdict| v.source == VerdictSource::Model;
        let met = |v: &&Verdict| v.state == VerdictState::Met;
        let all_met = scored().filter(met).count() as f64;
        let seen = scored().filter(by_judge).filter(met).count() as f64;
        (n > 0.0).then(|| Self {
            fixed: (all_met - seen) / n,
            weight: scored().filter(by_judge).count() as f64 / n,
            seen: seen / n,
        })
    }

    fn mean(parts: &[Self]) -> Option<Self> {
        let of = |field: fn(&Self) -> f64| score::mean(parts.iter().map(field));
        Some(Self {
            fixed: of(|parts| parts.fixed)?,
            weight: of(|parts| parts.weight)?,
            seen: of(|parts| parts.seen)?,
        })
    }
}

/// The parts of each instance for one judge: repeats are averaged first, then the runs.
pub fn parts(records: &[&RunRecord], judge: &str) -> Vec<Parts> {
    let mut instances: BTreeMap<(&DomainId, &InstanceId), Vec<Parts>> = BTreeMap::new();
    for record in records {
        let repeats = counted::of_judge(&record.judgements, judge);
        let of = repeats
            .iter()
            .filter_map(|j| Parts::of_verdicts(&j.verdicts));
        let here = instances
            .entry((&record.domain, &record.instance))
            .or_default();
        here.extend(Parts::mean(&of.collect::<Vec<_>>()));
    }
    instances
        .values()
        .filter_map(|runs| Parts::mean(runs))
        .collect()
}

/// The mean over instances that would give the judge what it saw, if it errs here as it did on the
/// labels (Rogan and Gladen 1978). `None` where the judge decided nothing, where its rates are not
/// known, or where it is no better than chance.
pub fn correct(instances: &[Parts], known: &Calibration) -> Option<Corrected> {
    let mean = Parts::mean(instances).filter(|mean| mean.weight > 0.0)?;
    let told_apart = known.told_apart()?;
    let false_met = known.false_met_rate()?;
    let met = known.corrected(mean.seen / mean.weight)?;
    let share = mean.fixed + mean.weight * met;
    let of_instance = |one: &Parts| one.fixed + (one.seen - one.weight * false_met) / told_apart;
    let values: Vec<f64> = instances.iter().map(of_instance).collect();
    let drawn = score::spread::of(&values)
        .and_then(|spread| Some(spread.sd?.powi(2) / f64::from(spread.n)));
    let (on_met, on_not) = known.rate_variances()?;
    let labelled = (mean.weight / told_apart).powi(2)
        * (met * met * on_met + (1.0 - met) * (1.0 - met) * on_not);
    let interval = drawn.map(|drawn| {
        let half = Z * (drawn + labelled).sqrt();
        ((share - half).max(0.0), (share + half).min(1.0))
    });
    Some(Corrected {
        share,
        interval,
        weight: mean.weight,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the corrected share, see `the_interval_is_that_of_linear_propagation`.
    const REFERENCE: f64 = 0.120_055_259_385_511_48;

    /// 40 labels met, 10 not met; false met 0.2, false not met 0.1.
    fn known() -> Calibration {
        Calibration {
            true_met: 36,
            false_met: 2,
            false_not_met: 4,
            true_not_met: 8,
            met_labels: 40,
            not_met_labels: 10,
            ..Calibration::default()
        }
    }

    fn judged(seen: f64) -> Parts {
        Parts {
            fixed: 0.0,
            weight: 1.0,
            seen,
        }
    }

    fn near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() < 1e-9
    }

    // By hand: half of each instance is decided by rules, all of it met. The judge sees 0.55 of its
    // half, which is 0.5 with its error out: 0.5 + 0.5 * 0.5. The whole corrected at once would be
    // (0.775 - 0.2) / 0.7 = 0.821.
    #[test]
    fn what_rules_decided_is_not_corrected() {
        let half = |seen: f64| Parts {
            fixed: 0.5,
            weight: 0.5,
            seen,
        };
        let mut instances = vec![half(0.5); 11];
        instances.resize(20, half(0.0));
        let found = correct(&instances, &known()).expect("known");
        assert!(near(found.share, 0.75), "{found:?}");
        assert_eq!(found.weight, 0.5);
        let fixed = Parts {
            fixed: 0.4,
            weight: 0.0,
            seen: 0.0,
        };
        assert_eq!(
            correct(&[fixed], &known()),
            None,
            "the judge decided nothing"
        );
    }

    // With Python's `uncertainties`, which propagates linearly: of 100 instances 55 seen as met,
    // variance 0.55 * 0.45 / 99; sensitivity 0.9 with variance 0.09 / 40; specificity 0.8 with
    // variance 0.16 / 10: (p + sp - 1) / (se + sp - 1) = 0.5 +/- 0.12005525938551148.
    #[test]
    fn the_interval_is_that_of_linear_propagation() {
        let mut instances = vec![judged(1.0); 55];
        instances.resize(100, judged(0.0));
        let found = correct(&instances, &known()).expect("known");
        assert!(near(found.share, 0.5));
        let (low, high) = found.interval.expect("several instances");
        let sd = REFERENCE;
        assert!(
            near(low, 0.5 - Z * sd) && near(high, 0.5 + Z * sd),
            "{low} {high}"
        );
        assert_eq!(
            correct(&[judged(1.0)], &known()).expect("one").interval,
            None
        );
    }

    // The same with half of each score fixed at 0.5: half the deviation.
    #[test]
    fn the_share_of_rules_narrows_the_interval() {
        let half = |seen: f64| Parts {
            fixed: 0.5,
            weight: 0.5,
            seen,
        };
        let mut instances = vec![half(0.5); 55];
        instances.resize(100, half(0.0));
        let (low, high) = correct(&instances, &known())
            .and_then(|found| found.interval)
            .expect("known");
        let sd = REFERENCE / 2.0;
        assert!(
            near(low, 0.75 - Z * sd) && near(high, 0.75 + Z * sd),
            "{low} {high}"
        );
    }
}
