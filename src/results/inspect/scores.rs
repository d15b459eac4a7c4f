//! Judgements as Inspect scores and metrics.
//!
//! Each judge is two scorers. `<judge>` has a value by requirement, which no metric of Inspect can
//! average because the keys differ from sample to sample; `<judge>_mean` is the instance's score,
//! which every metric, filter and reducer of Inspect can read.

use super::time::iso;
use super::wire::{
    EvalScore, Mark, Metric, MetricName, Ordered, Provenance, Score, ScoreEdit, ScoreValue, Scorer,
};
use crate::judge::edit::{self, Edit};
use crate::judge::{Judgement, Verdict, VerdictState, counted};
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

/// Both scores of every judgement. Where rules decided everything their verdicts are those of every
/// scorer of the log, as they are in our own tables.
pub fn of_record(record: &RunRecord, scorers: &[String]) -> Ordered<Score> {
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
    if let Some(rules) = counted::by_rules_alone(&record.judgements) {
        for name in scorers.iter().filter(|name| **name != rules.judge) {
            let (verdicts, mean) = pair(record, rules, answer.clone());
            let said = |score: Score| Score {
                explanation: format!("{BY_RULES}\n{}", score.explanation),
                ..score
            };
            out.push((name.clone(), said(verdicts)));
            out.push((mean_name(name), said(mean)));
        }
    }
    Ordered(out)
}

const BY_RULES: &str = "Rules decided every requirement; no model was asked.";

/// The score by requirement and the mean of it, each with its history.
fn pair(record: &RunRecord, judgement: &Judgement, answer: Option<String>) -> (Score, Score) {
    let states = states(judgement);
    let by_requirement = |verdicts: &[Verdict]| Part {
        value: ScoreValue::Verdicts(marks(verdicts)),
        explanation: explanation(record, verdicts),
        metadata: details(record, judgement, verdicts),
    };
    let verdicts = with_history(&states, answer, by_requirement);
    (verdicts, with_history(&states, None, mean))
}

/// What a score and each of its changes have.
struct Part {
    value: ScoreValue,
    explanation: String,
    metadata: Value,
}

/// The verdicts as the judge gave them, and as they were after each change.
fn states(judgement: &Judgement) -> Vec<(Vec<Verdict>, Option<&Edit>)> {
    let mut now = edit::original(judgement);
    let mut out = vec![(now.clone(), None)];
    for edit in &judgement.edits {
        let of_it = |v: &&mut Verdict| v.requirement == edit.after.requirement;
        if let Some(verdict) = now.iter_mut().find(of_it) {
            *verdict = edit.after.clone();
        }
        out.push((now.clone(), Some(edit)));
    }
    out
}

fn with_history(
    states: &[(Vec<Verdict>, Option<&Edit>)],
    answer: Option<String>,
    part: impl Fn(&[Verdict]) -> Part,
) -> Score {
    let (last, _) = states
        .last()
        .expect("the judge's own state is always there");
    let now = part(last);
    let edited = states.len() > 1;
    let history = states.iter().filter(|_| edited).map(|(verdicts, edit)| {
        let then = part(verdicts);
        ScoreEdit {
            value: then.value,
            explanation: then.explanation,
            metadata: then.metadata,
            provenance: edit.map(provenance),
        }
    });
    Score {
        value: now.value,
        answer,
        explanation: now.explanation,
        metadata: now.metadata,
        history: history.collect(),
    }
}

fn provenance(edit: &Edit) -> Provenance {
    Provenance {
        timestamp: iso(edit.at_ms),
        author: edit.author.clone(),
        reason: edit.reason.clone(),
        metadata: json!({
            "requirement": edit.after.requirement,
            "before": word(edit.before.state),
            "after": word(edit.after.state),
            "withdraws": edit.withdraws,
        }),
    }
}

fn marks(verdicts: &[Verdict]) -> Vec<(String, Mark)> {
    let mark = |v: &Verdict| (v.requirement.0.clone(), mark(v.state));
    verdicts.iter().map(mark).collect()
}

fn mean(verdicts: &[Verdict]) -> Part {
    let instance = score::of_verdicts(verdicts);
    Part {
        value: ScoreValue::Mean(instance.mean.unwrap_or(f64::NAN)),
        explanation: format!(
            "mean over {} scored requirements; {} unscored",
            instance.scored, instance.unscored
        ),
        metadata: json!({ "scored": instance.scored, "unscored": instance.unscored }),
    }
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
fn explanation(record: &RunRecord, verdicts: &[Verdict]) -> String {
    let line = |v: &Verdict| {
        let text = requirement_text(record, v);
        format!(
            "{} {}: {text}\n  {}",
            v.requirement,
            word(v.state),
            v.rationale
        )
    };
    verdicts.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn requirement_text<'a>(record: &'a RunRecord, verdict: &Verdict) -> &'a str {
    let note = record
        .requirements
        .iter()
        .find(|note| note.id == verdict.requirement);
    note.map_or("", |note| &note.text)
}

fn details(record: &RunRecord, judgement: &Judgement, verdicts: &[Verdict]) -> Value {
    let requirements: Vec<Value> = verdicts
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
    json!({
        "judge": judgement.judge,
        "repeat": judgement.repeat,
        "prompt": judgement.prompt,
        "order": judgement.order,
        "requirements": requirements,
    })
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
        let own = judgements.iter().find(|(found, _)| found == name);
        let own = own.map(|(_, judgement)| *judgement);
        let judgement = own.or_else(|| counted::by_rules_alone(&record.judgements))?;
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
