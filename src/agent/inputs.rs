//! What a stage read, put together from what the stages before it left: the record of a stage holds
//! what came out, and a model's prompt what went in as words.

use super::pipeline::verbatim;
use super::trace::{
    AlignmentPlan, CompactItem, Dropped, ExtractedPreference, Query, StageId, StageOutcome,
    StageRecord, System,
};
use crate::bench::ids::SessionId;
use crate::embed::{Passage, PassageId};
use std::collections::HashSet;

/// One kind of thing that went into a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The task as it is posed, with the template of its call.
    Task,
    Queries(Vec<Query>),
    /// Passages, or whole sessions where evidence was handed over.
    Passages(Vec<Passage>),
    /// Sessions chosen to fit the context window, by date.
    Sessions(Vec<SessionId>),
    Notes(Vec<CompactItem>),
    Preferences(Vec<ExtractedPreference>),
    Plan(AlignmentPlan),
}

/// What went into the stage at `at`, in the order of its prompt; empty kinds are left out, so an
/// empty list means that nothing but the stage's own records says it.
pub fn inputs(stages: &[StageRecord], at: usize, system: System) -> Vec<Input> {
    let (Some(record), Some(before)) = (stages.get(at), stages.get(..at)) else {
        return Vec::new();
    };
    let mut inputs = match record.stage {
        StageId::Controller | StageId::QueryExpansion => vec![Input::Task],
        StageId::GivenEvidence | StageId::HistoryFitting => Vec::new(),
        StageId::SimilarityRetrieval => vec![Input::Queries(searched(&record.outcome, before))],
        StageId::RedundancyFiltering => vec![Input::Passages(of(record, before))],
        StageId::SalienceReranking => vec![Input::Task, Input::Passages(of(record, before))],
        StageId::CompactEvidence => {
            let mut passages = of(record, before);
            passages.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
            vec![Input::Task, Input::Passages(passages)]
        }
        StageId::PreferenceExtraction => vec![Input::Task, Input::Notes(evidence(before))],
        StageId::TaskPreferenceAlignment => {
            vec![Input::Task, Input::Preferences(preferences(before))]
        }
        StageId::TextGeneration | StageId::ParameterFilling | StageId::QuestionAnswering => {
            material(before, system)
        }
    };
    inputs.retain(|input| !input.is_empty());
    inputs
}

impl Input {
    fn is_empty(&self) -> bool {
        match self {
            Input::Task => false,
            Input::Queries(list) => list.is_empty(),
            Input::Passages(list) => list.is_empty(),
            Input::Sessions(list) => list.is_empty(),
            Input::Notes(list) => list.is_empty(),
            Input::Preferences(list) => list.is_empty(),
            Input::Plan(plan) => plan.items.is_empty(),
        }
    }
}

/// What an output head works from.
fn material(before: &[StageRecord], system: System) -> Vec<Input> {
    let fitted = last(before, |outcome| match outcome {
        StageOutcome::Fitted { fit } => Some(fit.kept.clone()),
        _ => None,
    });
    let rest = match system {
        System::NoHistory => Vec::new(),
        System::StandardRag => vec![Input::Passages(pool(before))],
        System::WholeHistory => vec![Input::Sessions(fitted.unwrap_or_default())],
        _ => vec![
            Input::Plan(plan(before)),
            Input::Preferences(preferences(before)),
            Input::Notes(evidence(before)),
        ],
    };
    std::iter::once(Input::Task).chain(rest).collect()
}

/// The queries a retrieval searched; of one that failed, those that were expanded.
fn searched(outcome: &StageOutcome, before: &[StageRecord]) -> Vec<Query> {
    match outcome {
        StageOutcome::Retrieved { lists } => lists.iter().map(|list| list.query.clone()).collect(),
        _ => last(before, |outcome| match outcome {
            StageOutcome::Queries { queries } => Some(queries.clone()),
            _ => None,
        })
        .unwrap_or_default(),
    }
}

/// The passages a stage looked at: those it kept and those it dropped; of one that failed, what was
/// left before it.
fn of(record: &StageRecord, before: &[StageRecord]) -> Vec<Passage> {
    let ids: HashSet<&PassageId> = match &record.outcome {
        StageOutcome::Filtered { kept, dropped } => {
            kept.iter().map(|p| &p.id).chain(gone(dropped)).collect()
        }
        StageOutcome::Ranked { scored, .. } => scored.iter().map(|s| &s.passage).collect(),
        StageOutcome::Compacted { items, dropped } => items
            .iter()
            .map(|item| &item.passage)
            .chain(gone(dropped))
            .collect(),
        _ => return pool(before),
    };
    let mut passages = found(before);
    passages.retain(|passage| ids.contains(&passage.id));
    passages
}

fn gone(dropped: &[Dropped]) -> impl Iterator<Item = &PassageId> {
    dropped.iter().map(|drop| &drop.passage)
}

/// Every passage found or given, in order of discovery.
fn found(before: &[StageRecord]) -> Vec<Passage> {
    let mut seen = HashSet::new();
    let all = before.iter().flat_map(|record| match &record.outcome {
        StageOutcome::Retrieved { lists } => lists
            .iter()
            .flat_map(|list| list.hits.iter().map(|hit| &hit.passage))
            .collect::<Vec<_>>(),
        StageOutcome::Given { passages } => passages.iter().collect(),
        _ => Vec::new(),
    });
    all.filter(|passage| seen.insert(&passage.id))
        .cloned()
        .collect()
}

/// What filter and cut have left.
fn pool(before: &[StageRecord]) -> Vec<Passage> {
    let dropped: HashSet<&PassageId> = before
        .iter()
        .flat_map(|record| match &record.outcome {
            StageOutcome::Filtered { dropped, .. } | StageOutcome::Ranked { dropped, .. } => {
                dropped.as_slice()
            }
            _ => &[],
        })
        .map(|drop| &drop.passage)
        .collect();
    let mut passages = found(before);
    passages.retain(|passage| !dropped.contains(&passage.id));
    passages
}

/// Notes, or the passages themselves where none were taken.
fn evidence(before: &[StageRecord]) -> Vec<CompactItem> {
    let notes = last(before, |outcome| match outcome {
        StageOutcome::Compacted { items, .. } => Some(items.clone()),
        _ => None,
    });
    notes.unwrap_or_else(|| verbatim(pool(before)))
}

fn preferences(before: &[StageRecord]) -> Vec<ExtractedPreference> {
    last(before, |outcome| match outcome {
        StageOutcome::Preferences { items } => Some(items.clone()),
        _ => None,
    })
    .unwrap_or_default()
}

fn plan(before: &[StageRecord]) -> AlignmentPlan {
    last(before, |outcome| match outcome {
        StageOutcome::Plan { plan } => Some(plan.clone()),
        _ => None,
    })
    .unwrap_or_default()
}

fn last<T>(before: &[StageRecord], read: impl Fn(&StageOutcome) -> Option<T>) -> Option<T> {
    before.iter().rev().find_map(|record| read(&record.outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::trace::{QueryHits, ScoredPassage};
    use crate::embed::Hit;

    fn record(stage: StageId, outcome: StageOutcome) -> StageRecord {
        StageRecord {
            stage,
            started_ms: 0.0,
            duration_ms: 0.0,
            outcome,
            calls: Vec::new(),
            notes: Vec::new(),
            key: String::new(),
            shared_from: None,
        }
    }

    fn passage(id: &str, date: &str) -> Passage {
        Passage {
            id: PassageId(id.to_owned()),
            session: SessionId(id.to_owned()),
            date: date.to_owned(),
            text: format!("text of {id}"),
            start: None,
        }
    }

    fn drop(id: &str) -> Dropped {
        Dropped {
            passage: PassageId(id.to_owned()),
            reason: "a reason".to_owned(),
        }
    }

    /// Three passages are found (one by both queries), one is a repeat, one is not salient.
    fn run() -> Vec<StageRecord> {
        let (a, b, c) = (passage("a", "3"), passage("b", "1"), passage("c", "2"));
        let list = |facet: &str, found: &[&Passage]| QueryHits {
            query: Query {
                facet: facet.to_owned(),
                text: format!("{facet} query"),
            },
            hits: found
                .iter()
                .map(|passage| Hit {
                    passage: (*passage).clone(),
                    score: 0.5,
                })
                .collect(),
        };
        let scored = |id: &str, salience| ScoredPassage {
            passage: PassageId(id.to_owned()),
            salience: Some(salience),
            signals: Vec::new(),
        };
        vec![
            record(
                StageId::SimilarityRetrieval,
                StageOutcome::Retrieved {
                    lists: vec![list("task", &[&a, &b]), list("style", &[&a, &c])],
                },
            ),
            record(
                StageId::RedundancyFiltering,
                StageOutcome::Filtered {
                    kept: vec![a, b],
                    dropped: vec![drop("c")],
                },
            ),
            record(
                StageId::SalienceReranking,
                StageOutcome::Ranked {
                    scored: vec![scored("a", 7.0), scored("b", 2.0)],
                    kept: vec![PassageId("a".to_owned())],
                    dropped: vec![drop("b")],
                },
            ),
            record(
                StageId::TextGeneration,
                StageOutcome::Failed {
                    message: "no".to_owned(),
                },
            ),
        ]
    }

    fn ids(input: &Input) -> Vec<&str> {
        match input {
            Input::Passages(list) => list.iter().map(|p| p.id.0.as_str()).collect(),
            Input::Notes(list) => list.iter().map(|n| n.passage.0.as_str()).collect(),
            Input::Queries(list) => list.iter().map(|q| q.facet.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn each_stage_reads_what_the_one_before_left() {
        let stages = run();
        let of = |at| inputs(&stages, at, System::WoBtDa);
        assert_eq!(ids(&of(0)[0]), ["task", "style"]);
        assert_eq!(ids(&of(1)[0]), ["a", "b", "c"]);
        assert_eq!(of(2)[0], Input::Task);
        assert_eq!(ids(&of(2)[1]), ["a", "b"]);
        // Without broad thinking the head reads the passages that are left, as they are.
        assert_eq!(ids(&of(3)[1]), ["a"]);
        assert_eq!(of(3).len(), 2);
    }

    #[test]
    fn a_head_reads_plan_preferences_and_notes_where_there_are_any() {
        let mut stages = run();
        let head = stages.pop().expect("the head is last");
        let item = |id: &str| CompactItem {
            passage: PassageId(id.to_owned()),
            date: "1".to_owned(),
            text: "short".to_owned(),
        };
        stages.push(record(
            StageId::CompactEvidence,
            StageOutcome::Compacted {
                items: vec![item("a")],
                dropped: Vec::new(),
            },
        ));
        stages.push(record(
            StageId::PreferenceExtraction,
            StageOutcome::Preferences {
                items: vec![ExtractedPreference {
                    text: "short".to_owned(),
                    kind: "asked".to_owned(),
                    passages: Vec::new(),
                }],
            },
        ));
        stages.push(head);
        assert_eq!(ids(&inputs(&stages, 3, System::IbaAgent)[1]), ["a"]);
        assert_eq!(
            inputs(&stages, 4, System::IbaAgent)[1],
            Input::Notes(vec![item("a")])
        );
        let read = inputs(&stages, 5, System::IbaAgent);
        assert!(matches!(
            &read[..],
            [Input::Task, Input::Preferences(_), Input::Notes(_)]
        ));
        assert_eq!(inputs(&stages, 5, System::NoHistory), [Input::Task]);
        assert!(inputs(&stages, 9, System::IbaAgent).is_empty());
    }
}
