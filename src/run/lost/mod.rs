//! Where a failed requirement was lost: how far its evidence came through the stages of a run.
//!
//! The first four gates are exact, because passages name their session and the data set names the
//! sessions that reveal a preference. Extraction and plan are judged by meaning ([`links`]): by a
//! judge model, or by similarity where there is none; a plan for a call by the slot it decides.
//! Records without such links fall back on the passages an extracted preference cites. Where
//! nothing links, the answer is "cannot be told", never a guess. The last two gates are the
//! verdicts: what no judge found in the output was ignored by it; what one judge found and another
//! did not is disputed. A session that reached a gate shows that the evidence was there, not that
//! it caused anything.

pub mod funnel;
pub mod links;

use crate::agent::trace::{Dropped, StageOutcome, StageRecord};
use crate::agent::trace_view::session_of;
use crate::bench::ids::SessionId;
use crate::embed::PassageId;
use links::{Link, LinkedBy, RequirementLinks};
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
    /// Expressed by the output, as at least one judge sees it.
    Output,
    /// Seen so by all judges.
    Agreed,
}

/// All gates in order.
pub const GATES: [Gate; 8] = [
    Gate::Retrieved,
    Gate::Kept,
    Gate::RankedIn,
    Gate::CompactedIn,
    Gate::Extracted,
    Gate::Planned,
    Gate::Output,
    Gate::Agreed,
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
            Gate::Agreed => "judges agree",
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
            Gate::Agreed => "disputed by the judges",
        }
    }

    /// Name in addresses and files.
    pub fn id(self) -> &'static str {
        match self {
            Gate::Retrieved => "retrieved",
            Gate::Kept => "kept",
            Gate::RankedIn => "ranked_in",
            Gate::CompactedIn => "compacted_in",
            Gate::Extracted => "extracted",
            Gate::Planned => "planned",
            Gate::Output => "output",
            Gate::Agreed => "agreed",
        }
    }

    /// Whether evidence links decide it exactly.
    pub fn exact(self) -> bool {
        self <= Gate::CompactedIn
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
    /// A judge model compared the stage's entries with the preference.
    Model,
    /// The nearest entry by embedding: a lead, since opposites are near each other too.
    Similarity,
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
    /// The entry of the stage that a model or similarity compared.
    pub link: Option<Link>,
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
    /// What the later stages made of it, by meaning.
    pub links: Option<(&'a LinkedBy, &'a RequirementLinks)>,
    /// One judge says met, another not met.
    pub disputed: bool,
}

/// The path of one requirement's evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// One for each gate, in order.
    pub steps: Vec<Step>,
    pub loss: Loss,
}

/// Follows the evidence of a requirement that was not met, or not by all judges.
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
            Gate::Extracted => format!(
                "The evidence was read, but no extracted preference {}.",
                match self.means(gate) {
                    Means::Citation => "cites it",
                    _ => "says what it shows",
                }
            ),
            Gate::Planned if self.means(gate) == Means::Slot => {
                "The plan has no point for this slot.".to_owned()
            }
            Gate::Planned => {
                "The preference was extracted, but no point of the plan takes it up.".to_owned()
            }
            Gate::Agreed => {
                "The judges disagree: one finds it in the output, another does not.".to_owned()
            }
            Gate::Output if self.by_slot() => {
                "The plan decided this slot, yet the output's value does not satisfy the \
                 requirement."
                    .to_owned()
            }
            Gate::Output if self.passed(Gate::Planned) => {
                "The plan takes it up, yet the output does not do it.".to_owned()
            }
            Gate::Output => {
                "The evidence was in front of the model, yet the output does not follow it."
                    .to_owned()
            }
            _ => format!("All passages of its evidence were {}.", gate.loss()),
        }
    }

    fn by_slot(&self) -> bool {
        self.means(Gate::Planned) == Means::Slot && self.passed(Gate::Planned)
    }

    fn step(&self, gate: Gate) -> Option<&Step> {
        self.steps.iter().find(|step| step.gate == gate)
    }

    fn passed(&self, gate: Gate) -> bool {
        let passed = self.step(gate).map(|step| step.passed);
        matches!(passed, Some(Passed::All | Passed::Some))
    }

    /// By which means the finding at a gate was made.
    pub fn means(&self, gate: Gate) -> Means {
        self.step(gate).map_or(Means::Nothing, |step| step.means)
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
        link: None,
    };
    match (gate, outcome) {
        (_, None) => {}
        (Gate::Output, Some(_)) => by_verdict(&mut step, wanted.disputed),
        (Gate::Agreed, Some(_)) => by_verdict(&mut step, false),
        (Gate::Planned, Some(outcome)) => planned(&mut step, wanted, outcome),
        (Gate::Extracted, Some(outcome)) => {
            let link = wanted
                .links
                .map(|(by, links)| (by, links.extracted.as_ref()));
            if !by_link(&mut step, link) {
                by_passages(&mut step, wanted, outcome);
            }
        }
        (_, Some(outcome)) => by_passages(&mut step, wanted, outcome),
    }
    step
}

fn by_verdict(step: &mut Step, met: bool) {
    step.means = Means::Verdict;
    step.passed = if met { Passed::Some } else { Passed::Nothing };
}

/// Whether a link decided the step.
fn by_link(step: &mut Step, link: Option<(&LinkedBy, Option<&Link>)>) -> bool {
    let Some((by, Some(link))) = link else {
        return false;
    };
    step.means = match by {
        LinkedBy::Model { .. } => Means::Model,
        LinkedBy::Similarity { .. } => Means::Similarity,
    };
    step.passed = if link.found {
        Passed::All
    } else {
        Passed::Nothing
    };
    step.link = Some(link.clone());
    true
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
            | (StageOutcome::Output { .. }, Gate::Output | Gate::Agreed)
    )
}

/// By a model if there was one; else by the slot a plan for a call decides; else by similarity.
fn planned(step: &mut Step, wanted: Wanted<'_>, outcome: &StageOutcome) {
    let StageOutcome::Plan { plan } = outcome else {
        return;
    };
    let link = wanted.links.map(|(by, links)| (by, links.planned.as_ref()));
    let by_model = matches!(link, Some((LinkedBy::Model { .. }, Some(_))));
    match wanted.slot {
        Some(slot) if !by_model => {
            let mut slots = plan.items.iter().map(|item| item.slot.as_deref());
            step.means = Means::Slot;
            step.passed = if slots.any(|decided| decided == Some(slot)) {
                Passed::All
            } else {
                Passed::Nothing
            };
        }
        _ if by_link(step, link) => {}
        _ => step.passed = Passed::Unknown,
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
        StageOutcome::Given { passages } => passages.iter().map(|p| p.session.clone()).collect(),
        StageOutcome::Fitted { fit } => fit.kept.iter().cloned().collect(),
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

/// The exact gates end a trace at once. Behind them the means can err, so that the furthest gate
/// passed counts: a plan that takes a wish up had it, whatever the extraction seemed to lack.
fn loss(wanted: Wanted<'_>, steps: &[Step]) -> Loss {
    // Whether the output expresses it is in doubt, so nothing before it can have lost it.
    if wanted.disputed {
        return Loss::At(Gate::Agreed);
    }
    let untraced = steps.iter().all(|step| step.passed == Passed::NotRun);
    if untraced || wanted.sessions.is_empty() {
        return Loss::Unknown;
    }
    let mut latest_lost = None;
    for step in steps.iter().filter(|step| step.gate.exact()) {
        if step.passed == Passed::Nothing {
            return latest_lost.unwrap_or(Loss::At(step.gate));
        }
        if latest_lost.is_none() && misses_latest(wanted, step) {
            latest_lost = Some(Loss::LatestAt(step.gate));
        }
    }
    latest_lost.unwrap_or_else(|| behind(wanted, steps))
}

fn behind(wanted: Wanted<'_>, steps: &[Step]) -> Loss {
    let passes = |step: &Step| matches!(step.passed, Passed::All | Passed::Some);
    // Without a stage that holds evidence there is nothing to follow, whatever the output did.
    let Some(reached) = steps.iter().rposition(passes) else {
        return Loss::Unknown;
    };
    if misses_latest(wanted, &steps[reached]) {
        return Loss::LatestAt(steps[reached].gate);
    }
    let rest = &steps[reached + 1..];
    let ends = rest.iter().find(|step| step.passed != Passed::NotRun);
    match ends {
        Some(step) if step.passed == Passed::Nothing => Loss::At(step.gate),
        _ => Loss::After(steps[reached].gate),
    }
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
