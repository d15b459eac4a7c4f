//! How far a judge can be trusted: its verdicts on gold-labelled samples against their labels.

use crate::agent::trace::System;
use crate::judge::{Judgement, Verdict, VerdictSource, VerdictState, edit};
use crate::run::record::{RunRecord, RunStatus};
use crate::score::agreement::{Agreement, Ratings};
use std::collections::{BTreeMap, BTreeSet};

/// One judge, asked with one prompt, against the labels. Every repeat counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    pub judge: String,
    /// Hash of the prompt.
    pub prompt: String,
    /// Data sets the samples come from: name and hash.
    pub datasets: Vec<(String, String)>,
    /// Samples it was shown.
    pub samples: u32,
    /// Labelled met, judged met.
    pub true_met: u32,
    /// Labelled not met, judged met.
    pub false_met: u32,
    /// Labelled met, judged not met.
    pub false_not_met: u32,
    /// Labelled not met, judged not met.
    pub true_not_met: u32,
    /// Labelled, but the judge gave no verdict.
    pub unscored: u32,
    /// Different labels "met" with a verdict; repeats make no more of them.
    pub met_labels: u32,
    /// Different labels "not met" with a verdict.
    pub not_met_labels: u32,
}

impl Calibration {
    /// Labels with a verdict beside them.
    pub fn judged(&self) -> u32 {
        self.true_met + self.false_met + self.false_not_met + self.true_not_met
    }

    /// Of what is labelled not met, the share judged met, 0 to 1.
    pub fn false_met_rate(&self) -> Option<f64> {
        share(self.false_met, self.false_met + self.true_not_met)
    }

    /// Of what is labelled met, the share judged not met, 0 to 1.
    pub fn false_not_met_rate(&self) -> Option<f64> {
        share(self.false_not_met, self.false_not_met + self.true_met)
    }

    /// Raw, kappa and AC1 against the labels.
    pub fn agreement(&self) -> Option<Agreement> {
        let pairs = [
            (true, true, self.true_met),
            (false, true, self.false_met),
            (true, false, self.false_not_met),
            (false, false, self.true_not_met),
        ];
        let rows = pairs.into_iter().flat_map(|(gold, judge, n)| {
            std::iter::repeat_n(vec![Some(gold), Some(judge)], n as usize)
        });
        let raters = vec!["labels".to_owned(), self.judge.clone()];
        let rows: Vec<Vec<Option<bool>>> = rows.collect();
        Ratings::of_labels(raters, &rows).agreement()
    }

    /// The share of requirements met that would give the judge the share it saw, if it errs
    /// elsewhere as it does here (Rogan and Gladen 1978), 0 to 1. `None` where both rates are not
    /// known, or where the judge is no better than chance.
    pub fn corrected(&self, seen: f64) -> Option<f64> {
        let (false_met, told_apart) = (self.false_met_rate()?, self.told_apart()?);
        Some(((seen - false_met) / told_apart).clamp(0.0, 1.0))
    }

    /// Sensitivity and specificity minus one; `None` where both are not known, or where the judge
    /// is no better than chance.
    pub fn told_apart(&self) -> Option<f64> {
        let told_apart = 1.0 - self.false_met_rate()? - self.false_not_met_rate()?;
        (told_apart > 0.0).then_some(told_apart)
    }

    /// Variances of both rates, of false not met and of false met, by the labels behind them.
    pub fn rate_variances(&self) -> Option<(f64, f64)> {
        let of = |rate: f64, n: u32| (n > 0).then(|| rate * (1.0 - rate) / f64::from(n));
        Some((
            of(self.false_not_met_rate()?, self.met_labels)?,
            of(self.false_met_rate()?, self.not_met_labels)?,
        ))
    }

    /// `false met 4 %, false not met 9 % (n 312)`.
    pub fn sentence(&self) -> String {
        let percent = |rate: Option<f64>| {
            rate.map_or_else(|| "–".to_owned(), |rate| format!("{:.0} %", 100.0 * rate))
        };
        format!(
            "false met {}, false not met {} (n {})",
            percent(self.false_met_rate()),
            percent(self.false_not_met_rate()),
            self.judged()
        )
    }
}

fn share(n: u32, of: u32) -> Option<f64> {
    (of > 0).then(|| f64::from(n) / f64::from(of))
}

/// Every judge that judged gold-labelled samples, in the order of its first verdict.
pub fn of<'a>(records: impl IntoIterator<Item = &'a RunRecord>) -> Vec<Calibration> {
    let mut out: Vec<Calibration> = Vec::new();
    let sampled =
        |record: &&RunRecord| record.system == System::Samples && record.status == RunStatus::Done;
    for record in records.into_iter().filter(sampled) {
        let gold = record
            .requirements
            .iter()
            .filter_map(|note| Some((&note.id, note.gold?)));
        let gold: BTreeMap<_, _> = gold.collect();
        let mut met = Vec::new();
        let mut labels = BTreeSet::new();
        for judgement in record
            .judgements
            .iter()
            .filter(|judgement| judgement.prompt.is_some())
        {
            let at = place(&mut out, judgement);
            if !met.contains(&at) {
                met.push(at);
                out[at].meet(record);
            }
            for verdict in edit::original(judgement) {
                let Some(gold) = gold.get(&verdict.requirement) else {
                    continue;
                };
                let scored = verdict.state != VerdictState::Unscored;
                let first = scored && labels.insert((at, verdict.requirement.clone()));
                out[at].add(*gold, &verdict, first);
            }
        }
    }
    out
}

fn place(out: &mut Vec<Calibration>, judgement: &Judgement) -> usize {
    let prompt = judgement
        .prompt
        .as_ref()
        .map_or("", |prompt| prompt.sha256.as_str());
    let same = |one: &Calibration| one.judge == judgement.judge && one.prompt == prompt;
    out.iter().position(same).unwrap_or_else(|| {
        out.push(Calibration {
            judge: judgement.judge.clone(),
            prompt: prompt.to_owned(),
            ..Calibration::default()
        });
        out.len() - 1
    })
}

impl Calibration {
    fn meet(&mut self, record: &RunRecord) {
        self.samples += 1;
        let dataset = (record.dataset.name.clone(), record.dataset.sha256.clone());
        if !self.datasets.contains(&dataset) {
            self.datasets.push(dataset);
        }
    }

    /// `first`: no other repeat has judged this label.
    fn add(&mut self, gold: bool, verdict: &Verdict, first: bool) {
        if !matches!(verdict.source, VerdictSource::Model | VerdictSource::None) {
            return;
        }
        *match gold {
            true => &mut self.met_labels,
            false => &mut self.not_met_labels,
        } += u32::from(first);
        *match (gold, verdict.state) {
            (true, VerdictState::Met) => &mut self.true_met,
            (false, VerdictState::Met) => &mut self.false_met,
            (true, VerdictState::NotMet) => &mut self.false_not_met,
            (false, VerdictState::NotMet) => &mut self.true_not_met,
            (_, VerdictState::Unscored) => &mut self.unscored,
        } += 1;
    }
}

/// The calibration that goes with a judge of these runs: the same name and the same prompt.
pub fn matching<'a>(
    calibrations: &'a [Calibration],
    judge: &str,
    records: &[&RunRecord],
) -> Option<&'a Calibration> {
    let judgements = records.iter().flat_map(|record| &record.judgements);
    let mut prompts = judgements
        .filter(|j| j.judge == judge)
        .filter_map(|j| j.prompt.as_ref());
    let prompt = prompts.next()?;
    let alike = prompts.all(|other| other.sha256 == prompt.sha256);
    let fits = |one: &&Calibration| one.judge == judge && one.prompt == prompt.sha256;
    calibrations
        .iter()
        .find(fits)
        .filter(|one| alike && one.judged() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(
        true_met: u32,
        false_met: u32,
        false_not_met: u32,
        true_not_met: u32,
    ) -> Calibration {
        Calibration {
            true_met,
            false_met,
            false_not_met,
            true_not_met,
            ..Calibration::default()
        }
    }

    // By hand: 40 met of which 36 seen, 10 not met of which 2 seen as met.
    #[test]
    fn rates_are_shares_of_the_labels() {
        let found = counted(36, 2, 4, 8);
        assert_eq!(
            (found.false_met_rate(), found.false_not_met_rate()),
            (Some(0.2), Some(0.1))
        );
        let agreement = found.agreement().expect("judged");
        assert!((agreement.raw - 0.88).abs() < 1e-12);
        // Shares met 0.8 and 0.76: chance 0.608 + 0.048 = 0.656; kappa (0.88 - 0.656) / 0.344.
        assert!((agreement.kappa.expect("defined") - 0.224 / 0.344).abs() < 1e-12);
        assert_eq!(
            found.sentence(),
            "false met 20 %, false not met 10 % (n 50)"
        );
    }

    // By hand: of a true share of 0.5 this judge sees 0.5 * 0.9 + 0.5 * 0.2 = 0.55.
    #[test]
    fn a_score_is_corrected_for_known_errors() {
        let found = counted(36, 2, 4, 8);
        assert!((found.corrected(0.55).expect("known") - 0.5).abs() < 1e-12);
        assert_eq!(found.corrected(0.1), Some(0.0));
        assert_eq!(
            counted(1, 0, 0, 0).corrected(0.5),
            None,
            "no label says not met"
        );
        assert_eq!(
            counted(5, 5, 5, 5).corrected(0.5),
            None,
            "no better than chance"
        );
    }
}
