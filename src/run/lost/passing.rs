//! Which passages passed an exact gate. A model that picks its tools may call one several times and
//! in any order, so that a passage can meet a gate late, twice or never.

use super::Gate;
use crate::agent::trace::{Dropped, StageOutcome, StageRecord};
use crate::agent::trace_view::session_of;
use crate::bench::ids::SessionId;
use crate::embed::PassageId;
use std::collections::BTreeSet;

/// What passed a gate, and what was dropped there.
#[derive(Debug, Default)]
pub struct Passing {
    pub sessions: BTreeSet<SessionId>,
    pub dropped: Vec<Dropped>,
    /// Whole sessions were cut because they did not fit into the context.
    pub fitted: bool,
}

/// What passed an exact gate in the course of a run; `None` where the run has no such gate.
pub fn passing(gate: Gate, stages: &[StageRecord]) -> Option<Passing> {
    let outcomes = || stages.iter().map(|stage| &stage.outcome);
    if !outcomes().any(|outcome| outcome_of(outcome) == Some(gate)) {
        return None;
    }
    Some(match gate {
        Gate::Retrieved => found(outcomes()),
        _ => kept(gate, outcomes()),
    })
}

/// The exact gate that an outcome is.
fn outcome_of(outcome: &StageOutcome) -> Option<Gate> {
    Some(match outcome {
        StageOutcome::Retrieved { .. }
        | StageOutcome::Given { .. }
        | StageOutcome::Fitted { .. } => Gate::Retrieved,
        StageOutcome::Filtered { .. } => Gate::Kept,
        StageOutcome::Ranked { .. } => Gate::RankedIn,
        StageOutcome::Compacted { .. } => Gate::CompactedIn,
        _ => return None,
    })
}

fn found<'a>(outcomes: impl Iterator<Item = &'a StageOutcome>) -> Passing {
    let mut all = Passing::default();
    for outcome in outcomes.filter(|outcome| outcome_of(outcome) == Some(Gate::Retrieved)) {
        all.fitted |= matches!(outcome, StageOutcome::Fitted { .. });
        all.sessions
            .extend(super::sessions_out(outcome).unwrap_or_default());
    }
    all
}

/// A passage passed when the gate kept it and did not drop it later, when another gate dropped it
/// before this one saw it, or when it was found after the gate was last used.
fn kept<'a>(gate: Gate, outcomes: impl Iterator<Item = &'a StageOutcome>) -> Passing {
    let (mut known, mut waiting) = (BTreeSet::new(), BTreeSet::new());
    let (mut passed, mut all) = (BTreeSet::new(), Passing::default());
    for outcome in outcomes {
        let dropped = super::dropped(outcome);
        match outcome_of(outcome) {
            None => {}
            Some(Gate::Retrieved) => {
                waiting.extend(
                    ids(outcome)
                        .into_iter()
                        .filter(|id| known.insert(id.clone())),
                );
            }
            Some(here) if here == gate => {
                passed.extend(ids(outcome));
                for drop in dropped {
                    passed.remove(&drop.passage);
                }
                waiting.clear();
                all.dropped.extend(dropped.iter().cloned());
            }
            Some(_) => {
                let elsewhere = dropped
                    .iter()
                    .filter_map(|drop| waiting.take(&drop.passage));
                passed.extend(elsewhere);
            }
        }
    }
    passed.extend(waiting);
    all.sessions = passed.iter().map(session_of).collect();
    all
}

/// The passages that leave an outcome.
fn ids(outcome: &StageOutcome) -> Vec<PassageId> {
    match outcome {
        StageOutcome::Retrieved { lists } => {
            let hits = lists.iter().flat_map(|list| &list.hits);
            hits.map(|hit| hit.passage.id.clone()).collect()
        }
        StageOutcome::Given { passages } | StageOutcome::Filtered { kept: passages, .. } => {
            passages.iter().map(|passage| passage.id.clone()).collect()
        }
        StageOutcome::Ranked { kept, .. } => kept.clone(),
        StageOutcome::Compacted { items, .. } => {
            items.iter().map(|item| item.passage.clone()).collect()
        }
        _ => Vec::new(),
    }
}
