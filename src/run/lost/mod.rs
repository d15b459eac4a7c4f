//! Where a failed requirement was lost: how far its evidence came through the stages of a run.
//!
//! The first four gates are exact, because passages name their session and the data set names the
//! sessions that reveal a preference. Extraction is judged by the passages an extracted preference
//! cites, the plan only by the slot it decides; where no link exists the answer is "cannot be
//! told", never a guess. A session that reached a gate shows that the evidence was there, not
//! that it caused anything.

use crate::agent::trace::{Dropped, StageOutcome, StageRecord};
use crate::agent::trace_view::session_of;
use crate::bench::ids::SessionId;
use crate::embed::PassageId;
use std::collections::BTreeSet;

/// A point the evidence must pass, in the order of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gate {
    Retrieved,
    /// By the redundancy filter.
    Kept,
    RankedIn,
    CompactedIn,
    Extracted,
    Planned,
    Output,
}

/// All gates in order.
pub const GATES: [Gate; 7] = [
    Gate::Retrieved,
    Gate::Kept,
    Gate::RankedIn,
    Gate::CompactedIn,
    Gate::Extracted,
    Gate::Planned,
    Gate::Output,
];

impl Gate {
    /// Short name for the path.
    pub fn label(self) -> &'static str {
        match self {
            Gate::Retrieved => "retrieved",
            Gate::Kept => "kept",
            Gate::RankedIn => "ranked in",
            Gate::CompactedIn => "compacted",
            Gate::Extracted => "extracted",
            Gate::Planned => "in the plan",
            Gate::Output => "in the output",
        }
    }

    /// What it is called when evidence ends here.
    pub fn loss(self) -> &'static str {
        match self {
            Gate::Retrieved => "not retrieved",
            Gate::Kept => "filtered out as redundant",
            Gate::RankedIn => "ranked out",
            Gate::CompactedIn => "compacted away",
            Gate::Extracted => "not extracted",
            Gate::Planned => "not in the plan",
            Gate::Output => "ignored by the output",
        }
    }
}

/// How much of the evidence passed a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passed {
    All,
    Some,
    Nothing,
    /// The gate ran, but nothing links what left it to the evidence.
    Unknown,
    /// The run has no such stage.
    NotRun,
}

/// By which means a gate was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Means {
    /// Passages of the evidence sessions: exact.
    Evidence,
    /// Passages that an extracted preference cites: shows the source, not the meaning.
    Citation,
    /// The plan's item for the requirement's slot.
    Slot,
    /// The judges' verdict.
    Verdict,
    Nothing,
}

/// One gate of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub gate: Gate,
    pub passed: Passed,
    pub means: Means,
    /// Evidence sessions that passed, by date.
    pub sessions: Vec<SessionId>,
    /// Why passages of the evidence ended here, as the stage gave it.
    pub reasons: Vec<(PassageId, String)>,
}

/// Where it was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// No evidence was left after this gate.
    At(Gate),
    /// The preference changed; older evidence went on, the latest ended at this gate.
    LatestAt(Gate),
    /// All that can be traced passed this gate; what came after cannot be told.
    After(Gate),
    /// The instance names no evidence for it, or the run has no stage to look at.
    Unknown,
}

/// What is looked for: the evidence of one requirement.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Sessions that reveal its preference, by date.
    pub sessions: &'a [SessionId],
    /// The preference changed, so the last session is the one that counts.
    pub dynamic: bool,
    /// The slot the requirement is tied to.
    pub slot: Option<&'a str>,
}

/// The path of one requirement's evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// One for each gate, in order.
    pub steps: Vec<Step>,
    pub loss: Loss,
}

/// Follows the evidence of a requirement that was not met.
pub fn trace(wanted: Wanted<'_>, stages: &[StageRecord]) -> Path {
    let steps: Vec<Step> = GATES
        .into_iter()
        .map(|gate| step(gate, wanted, stages))
        .collect();
    let loss = loss(wanted, &steps);
    Path { steps, loss }
}

impl Path {
    /// The finding in one sentence, with the means it rests on.
    pub fn sentence(&self) -> String {
        match self.loss {
            Loss::At(gate) => self.lost_at(gate),
            Loss::LatestAt(gate) => format!(
                "The latest evidence, which shows the change, was {}; only older evidence went on.",
                gate.loss()
            ),
            Loss::After(gate) => format!(
                "The evidence was {}; no link tells whether a later stage or the output dropped it.",
                gate.label()
            ),
            Loss::Unknown => "It cannot be told: there is no evidence link to follow.".to_owned(),
        }
    }

    fn lost_at(&self, gate: Gate) -> String {
        match gate {
            Gate::Retrieved => "No query found a passage of its evidence.".to_owned(),
            Gate::Extracted => {
                "The evidence was read, but no extracted preference cites it.".to_owned()
            }
            Gate::Planned => "The plan has no point for this slot.".to_owned(),
            Gate::Output if self.by_slot() => {
                "The plan decided this slot, yet the output's value does not satisfy the \
                 requirement."
                    .to_owned()
            }
            Gate::Output => {
                "The evidence was in front of the model, yet the output does not follow it."
                    .to_owned()
            }
            _ => format!("All passages of its evidence were {}.", gate.loss()),
        }
    }

    fn by_slot(&self) -> bool {
        self.steps.iter().any(|step| step.means == Means::Slot)
    }
}

fn step(gate: Gate, wanted: Wanted<'_>, stages: &[StageRecord]) -> Step {
    let outcome = stages
        .iter()
        .rev()
        .map(|record| &record.outcome)
        .find(|o| belongs(o, gate));
    let mut step = Step {
        gate,
        passed: Passed::NotRun,
        means: Means::Nothing,
        sessions: Vec::new(),
        reasons: Vec::new(),
    };
    match (gate, outcome) {
        (_, None) => {}
        (Gate::Output, Some(_)) => {
            step.passed = Passed::Nothing;
            step.means = Means::Verdict;
        }
        (Gate::Planned, Some(outcome)) => planned(&mut step, wanted, outcome),
        (_, Some(outcome)) => by_passages(&mut step, wanted, outcome),
    }
    step
}

/// Whether the outcome is what leaves the gate.
fn belongs(outcome: &StageOutcome, gate: Gate) -> bool {
    matches!(
        (outcome, gate),
        (StageOutcome::Retrieved { .. }, Gate::Retrieved)
            | (StageOutcome::Filtered { .. }, Gate::Kept)
            | (StageOutcome::Ranked { .. }, Gate::RankedIn)
            | (StageOutcome::Compacted { .. }, Gate::CompactedIn)
            | (StageOutcome::Preferences { .. }, Gate::Extracted)
            | (StageOutcome::Plan { .. }, Gate::Planned)
            | (StageOutcome::Output { .. }, Gate::Output)
    )
}

/// Text plans carry no link; a plan for a call names the slot it decides.
fn planned(step: &mut Step, wanted: Wanted<'_>, outcome: &StageOutcome) {
    let StageOutcome::Plan { plan } = outcome else {
        return;
    };
    step.passed = Passed::Unknown;
    if let Some(slot) = wanted.slot {
        let decided = plan
            .items
            .iter()
            .any(|item| item.slot.as_deref() == Some(slot));
        step.passed = if decided {
            Passed::All
        } else {
            Passed::Nothing
        };
        step.means = Means::Slot;
    }
}

fn by_passages(step: &mut Step, wanted: Wanted<'_>, outcome: &StageOutcome) {
    step.means = if step.gate == Gate::Extracted {
        Means::Citation
    } else {
        Means::Evidence
    };
    // Preferences that were extracted, but none says from what.
    let Some(out) = sessions_out(outcome) else {
        step.passed = Passed::Unknown;
        step.means = Means::Nothing;
        return;
    };
    step.sessions = wanted
        .sessions
        .iter()
        .filter(|id| out.contains(id))
        .cloned()
        .collect();
    step.passed = match step.sessions.len() {
        0 => Passed::Nothing,
        n if n == wanted.sessions.len() => Passed::All,
        _ => Passed::Some,
    };
    step.reasons = dropped(outcome)
        .iter()
        .filter(|drop| wanted.sessions.contains(&session_of(&drop.passage)))
        .map(|drop| (drop.passage.clone(), drop.reason.clone()))
        .collect();
}

/// Sessions of which a passage left the stage; `None` where what leaves names no passage.
pub fn sessions_out(outcome: &StageOutcome) -> Option<BTreeSet<SessionId>> {
    Some(match outcome {
        StageOutcome::Retrieved { lists } => lists
            .iter()
            .flat_map(|list| &list.hits)
            .map(|hit| hit.passage.session.clone())
            .collect(),
        StageOutcome::Filtered { kept, .. } => kept.iter().map(|p| p.session.clone()).collect(),
        StageOutcome::Ranked { kept, .. } => kept.iter().map(session_of).collect(),
        StageOutcome::Compacted { items, .. } => {
            items.iter().map(|item| session_of(&item.passage)).collect()
        }
        StageOutcome::Preferences { items } if items.iter().any(|i| !i.passages.is_empty()) => {
            items
                .iter()
                .flat_map(|item| &item.passages)
                .map(session_of)
                .collect()
        }
        StageOutcome::Preferences { items } if items.is_empty() => BTreeSet::new(),
        _ => return None,
    })
}

fn dropped(outcome: &StageOutcome) -> &[Dropped] {
    match outcome {
        StageOutcome::Filtered { dropped, .. }
        | StageOutcome::Ranked { dropped, .. }
        | StageOutcome::Compacted { dropped, .. } => dropped,
        _ => &[],
    }
}

fn loss(wanted: Wanted<'_>, steps: &[Step]) -> Loss {
    if wanted.sessions.is_empty() || steps.iter().all(|step| step.passed == Passed::NotRun) {
        return Loss::Unknown;
    }
    let mut reached = None;
    let mut latest_lost = None;
    for step in steps {
        match step.passed {
            Passed::NotRun => {}
            Passed::Nothing => return latest_lost.unwrap_or(Loss::At(step.gate)),
            Passed::Unknown => break,
            Passed::All | Passed::Some => {
                reached = Some(step.gate);
                if latest_lost.is_none() && misses_latest(wanted, step) {
                    latest_lost = Some(Loss::LatestAt(step.gate));
                }
            }
        }
    }
    latest_lost
        .or(reached.map(Loss::After))
        .unwrap_or(Loss::Unknown)
}

/// A changed preference whose newest evidence did not pass, while older evidence did.
fn misses_latest(wanted: Wanted<'_>, step: &Step) -> bool {
    wanted.dynamic
        && !step.sessions.is_empty()
        && wanted
            .sessions
            .last()
            .is_some_and(|last| !step.sessions.contains(last))
}

#[cfg(test)]
mod tests;
