//! Judgements as Inspect scores and metrics.
//!
//! Each judge is two scorers. `<judge>` has a value by requirement, which no metric of Inspect can
//! average because the keys differ from sample to sample; `<judge>_mean` is the instance's score,
//! which every metric, filter and reducer of Inspect can read.

use super::wire::{EvalScore, Mark, Metric, MetricName, Ordered, Score, ScoreValue, Scorer};
use crate::judge::{Judgement, Verdict, VerdictState};
use crate::run::record::RunRecord;
use crate::score::{self, Entry, MeanScore};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A judgement under the name of its scorer: a judge that was asked twice is `name` and `name#2`.
pub fn named(judgements: &[Judgement]) -> Vec<(String, &Judgement)> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut out = Vec::new();
    for judgement in judgements {
        let times = seen.entry(&judgement.judge).or_default();
        *times += 1;
        let name = match times {
            1 => judgement.judge.clone(),
            n => format!("{}#{n}", judgement.judge),
        };
        out.push((name, judgement));
    }
    out
}

/// Name of the scorer that holds the mean.
pub fn mean_name(scorer: &str) -> String {
    format!("{scorer}_mean")
}

/// Both scores of every judgement.
pub fn of_record(record: &RunRecord) -> Ordered<Score> {
    let answer = record.output.as_ref().map(|output| match output.value() {
        Value::String(text) => text,
        slots => slots.to_string(),
    });
    let mut out = Vec::new();
    for (name, judgement) in named(&record.judgements) {
        let (verdicts, mean) = pair(record, judgement, answer.clone());
        out.push((name.clone(), verdicts));
        out.push((mean_name(&name), mean));
    }
    Ordered(out)
}

/// The score by requirement and the mean of it.
fn pair(record: &RunRecord, judgement: &Judgement, answer: Option<String>) -> (Score, Score) {
    let (explanation, metadata) = (explanation(record, judgement), details(record, judgement));
    let instance = score::of_verdicts(&judgement.verdicts);
    let marks = judgement
        .verdicts
        .iter()
        .map(|v| (v.requirement.0.clone(), mark(v.state)));
    let verdicts = Score {
        value: ScoreValue::Verdicts(marks.collect()),
        answer,
        explanation,
        metadata,
    };
    let mean = Score {
        value: ScoreValue::Mean(instance.mean.unwrap_or(f64::NAN)),
        answer: None,
        explanation: format!(
            "mean over {} scored requirements; {} unscored",
            instance.scored, instance.unscored
        ),
        metadata: json!({ "scored": instance.scored, "unscored": instance.unscored }),
    };
    (verdicts, mean)
}

/// The score by requirement alone, for the event.
pub fn verdicts(record: &RunRecord, judgement: &Judgement) -> Score {
    pair(record, judgement, None).0
}

fn mark(state: VerdictState) -> Mark {
    match state {
        VerdictState::Met => Mark::Correct,
        VerdictState::NotMet => Mark::Incorrect,
        VerdictState::Unscored => Mark::Unscored,
    }
}

fn word(state: VerdictState) -> &'static str {
    match state {
        VerdictState::Met => "met",
        VerdictState::NotMet => "not met",
        VerdictState::Unscored => "unscored",
    }
}

/// One line a requirement, so that a viewer which knows no metadata still shows the reasons.
fn explanation(record: &RunRecord, judgement: &Judgement) -> String {
    let line = |v: &Verdict| {
        let text = requirement_text(record, v);
        format!(
            "{} {}: {text}\n  {}",
            v.requirement,
            word(v.state),
            v.rationale
        )
    };
    judgement
        .verdicts
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn requirement_text<'a>(record: &'a RunRecord, verdict: &Verdict) -> &'a str {
    let note = record
        .requirements
        .iter()
        .find(|note| note.id == verdict.requirement);
    note.map_or("", |note| &note.text)
}

fn details(record: &RunRecord, judgement: &Judgement) -> Value {
    let requirements: Vec<Value> = judgement
        .verdicts
        .iter()
        .map(|v| {
            let note = record
                .requirements
                .iter()
                .find(|note| note.id == v.requirement);
            json!({
                "id": v.requirement,
                "text": note.map(|note| &note.text),
                "verdict": word(v.state),
                "source": v.source,
                "rationale": v.rationale,
                "quote": v.quote,
                "evidence_ids": note.map(|note| &note.evidence_sessions),
            })
        })
        .collect();
    json!({ "judge": judgement.judge, "prompt": judgement.prompt, "requirements": requirements })
}

/// Names of all scorers of the records, in the order of their first appearance.
pub fn names(records: &[&RunRecord]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = records.iter().flat_map(|record| named(&record.judgements));
    all.map(|(name, _)| name)
        .filter(|name| seen.insert(name.clone()))
        .collect()
}

/// How Inspect is told of the scorers.
pub fn scorers(records: &[&RunRecord]) -> Vec<Scorer> {
    let both = |name: String| {
        let mean = Scorer {
            name: mean_name(&name),
            metrics: vec![MetricName { name: "mean" }],
        };
        [
            Scorer {
                name,
                metrics: Vec::new(),
            },
            mean,
        ]
    };
    names(records).into_iter().flat_map(both).collect()
}

/// `results.scores`: for each judge the mean over all instances and by domain. Epochs of one
/// instance are averaged first, as Inspect's `mean` reducer does.
pub fn metrics(records: &[&RunRecord]) -> Vec<EvalScore> {
    names(records)
        .iter()
        .map(|name| eval_score(records, name))
        .collect()
}

fn eval_score(records: &[&RunRecord], name: &str) -> EvalScore {
    let table = score::table(&entries(records, name));
    let mut metrics = BTreeMap::from([("mean".to_owned(), metric("mean", None, &table.overall))]);
    for (domain, score) in &table.domains {
        metrics.insert(
            domain.0.clone(),
            metric(domain.as_str(), Some("domain"), score),
        );
    }
    EvalScore {
        name: mean_name(name),
        scorer: mean_name(name),
        reducer: "mean",
        scored_samples: table.overall.instances as usize,
        unscored_samples: table.overall.without_score as usize,
        metrics,
    }
}

fn entries(records: &[&RunRecord], name: &str) -> Vec<Entry> {
    let entry = |record: &&RunRecord| {
        let judgements = named(&record.judgements);
        let (_, judgement) = judgements.iter().find(|(found, _)| found == name)?;
        Some(Entry {
            instance: record.instance.clone(),
            domain: record.domain.clone(),
            score: score::of_verdicts(&judgement.verdicts),
        })
    };
    records.iter().filter_map(entry).collect()
}

fn metric(name: &str, group: Option<&'static str>, score: &MeanScore) -> Metric {
    Metric {
        name: name.to_owned(),
        group,
        value: score.mean.unwrap_or(f64::NAN),
        metadata: Some(json!({
            "instances": score.instances,
            "without_score": score.without_score,
            "scored_requirements": score.scored,
            "unscored_requirements": score.unscored,
        })),
    }
}
