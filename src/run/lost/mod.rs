//! Where a failed requirement was lost: how far its evidence came through the stages of a run.
//!
//! The first four gates are exact to the session, because passages name their session and the data
//! set names the sessions that reveal a preference; which passage of a session shows it, no data
//! set says. Extraction and plan are judged by meaning ([`links`]): by a
//! judge model, or by similarity where there is none; a plan for a call by the slot it decides.
//! Records without such links fall back on the passages an extracted preference cites. Where
//! nothing links, the answer is "cannot be told", never a guess. The last two gates are the
//! verdicts: what no judge found in the output was ignored by it; what one judge found and another
//! did not is disputed. A session that reached a gate shows that the evidence was there, not that
//! it caused anything.

pub mod funnel;
pub mod links;
mod passing;

use crate::agent::trace::{AlignmentPlan, Dropped, Output, PlanItem, StageOutcome, StageRecord};
use crate::agent::trace_view::session_of;
use crate::bench::ids::SessionId;
use crate::embed::PassageId;
use links::{Link, LinkedBy, RequirementLinks};
use passing::{Passing, passing};
use serde_json::Value;
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
    /// The plan's item for the requirement's slot, against the values that are accepted there.
    Slot,
    /// Which sessions of the whole history fitted into the context: exact.
    Fit,
    /// Another user's history was searched, which cannot hold the evidence: exact.
    Donor,
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Sessions that reveal its preference, by date.
    pub sessions: &'a [SessionId],
    /// The preference changed, so the last session is the one that counts.
    pub dynamic: bool,
    /// The slot the requirement is tied to.
    pub slot: Option<&'a str>,
    /// The values accepted in that slot, where they are known.
    pub accept: &'a [Value],
    /// What the later stages made of it, by meaning.
    pub links: Option<(&'a LinkedBy, &'a RequirementLinks)>,
    /// One judge says met, another not met.
    pub disputed: bool,
    /// Another user's history was searched.
    pub donor: bool,
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
            Loss::Unknown => match self.reads_history() {
                true => "It cannot be told: the data set names no evidence for it.",
                false => {
                    "There is nothing to follow: this run has no stage that reads the history."
                }
            }
            .to_owned(),
        }
    }

    fn lost_at(&self, gate: Gate) -> String {
        match gate {
            Gate::Retrieved if self.means(gate) == Means::Donor => {
                "Another user's history was searched, which does not have the evidence.".to_owned()
            }
            Gate::Retrieved if self.means(gate) == Means::Fit => {
                "All sessions of its evidence were cut: they did not fit into the context."
                    .to_owned()
            }
            Gate::Retrieved => "No query found a passage of its evidence.".to_owned(),
            Gate::Extracted => format!(
                "The evidence was read, but no extracted preference {}.",
                match self.means(gate) {
                    Means::Citation => "cites it",
                    _ => "says what it shows",
                }
            ),
            Gate::Planned if self.means(gate) == Means::Slot => match self.link(gate) {
                Some(_) => {
                    "The plan decided this slot otherwise, and the output followed it.".to_owned()
                }
                None => "The plan has no point for this slot.".to_owned(),
            },
            Gate::Planned => {
                "The preference was extracted, but no point of the plan takes it up.".to_owned()
            }
            Gate::Agreed => {
                "The verdicts disagree: one finds it in the output, another does not.".to_owned()
            }
            Gate::Output if self.by_slot() => {
                "The plan names an accepted value for this slot, yet the output has another."
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

    fn reads_history(&self) -> bool {
        let mut exact = self.steps.iter().filter(|step| step.gate.exact());
        exact.any(|step| step.passed != Passed::NotRun)
    }

    fn by_slot(&self) -> bool {
        self.means(Gate::Planned) == Means::Slot && self.passed(Gate::Planned)
    }

    fn step(&self, gate: Gate) -> Option<&Step> {
        self.steps.iter().find(|step| step.gate == gate)
    }

    fn link(&self, gate: Gate) -> Option<&Link> {
        self.step(gate)?.link.as_ref()
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
    let mut step = Step {
        gate,
        passed: Passed::NotRun,
        means: Means::Nothing,
        sessions: Vec::new(),
        reasons: Vec::new(),
        link: None,
    };
    if gate.exact() {
        if let Some(passing) = passing(gate, stages) {
            by_evidence(&mut step, wanted, &passing);
        }
        return step;
    }
    let outcomes = stages.iter().rev().map(|record| &record.outcome);
    match (gate, outcomes.clone().find(|o| belongs(o, gate))) {
        (_, None) => {}
        (Gate::Output, Some(_)) => by_verdict(&mut step, wanted.disputed),
        (Gate::Agreed, Some(_)) => by_verdict(&mut step, false),
        (Gate::Planned, Some(StageOutcome::Plan { plan })) => {
            let mut outputs = outcomes.filter_map(|outcome| match outcome {
                StageOutcome::Output { output } => Some(output),
                _ => None,
            });
            planned(&mut step, wanted, plan, outputs.next());
        }
        (Gate::Extracted, Some(outcome)) => {
            let link = wanted
                .links
                .map(|(by, links)| (by, links.extracted.as_ref()));
            if cites(wanted, outcome, link) {
                by_citation(&mut step, wanted, outcome);
                step.link = link.and_then(|(_, link)| link.cloned());
            } else if !by_link(&mut step, link) {
                by_citation(&mut step, wanted, outcome);
            }
        }
        (_, Some(_)) => {}
    }
    step
}

fn by_verdict(step: &mut Step, met: bool) {
    step.means = Means::Verdict;
    step.passed = if met { Passed::Some } else { Passed::Nothing };
}

/// Whether the nearest preference rests on a passage of the evidence and is not far from the
/// requirement, so that similarity alone would deny what stands there.
fn cites(
    wanted: Wanted<'_>,
    outcome: &StageOutcome,
    link: Option<(&LinkedBy, Option<&Link>)>,
) -> bool {
    let (Some((LinkedBy::Similarity { .. }, Some(link))), StageOutcome::Preferences { items }) =
        (link, outcome)
    else {
        return false;
    };
    let near = link
        .similarity
        .is_some_and(|near| near >= links::SIMILAR_AND_CITED);
    let own = |id: &PassageId| wanted.sessions.contains(&session_of(id));
    let mut same = items.iter().filter(|item| item.text == link.entry);
    !link.found && near && same.any(|item| item.passages.iter().any(own))
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

/// Whether the outcome is what leaves the gate, one of those behind the exact ones.
fn belongs(outcome: &StageOutcome, gate: Gate) -> bool {
    matches!(
        (outcome, gate),
        (StageOutcome::Preferences { .. }, Gate::Extracted)
            | (StageOutcome::Plan { .. }, Gate::Planned)
            | (StageOutcome::Output { .. }, Gate::Output | Gate::Agreed)
    )
}

/// By a model if there was one; else by the slot a plan for a call decides; else by similarity.
fn planned(step: &mut Step, wanted: Wanted<'_>, plan: &AlignmentPlan, output: Option<&Output>) {
    let link = wanted.links.map(|(by, links)| (by, links.planned.as_ref()));
    let by_model = matches!(link, Some((LinkedBy::Model { .. }, Some(_))));
    if let Some(slot) = wanted.slot.filter(|_| !by_model) {
        let of_slot = |item: &&PlanItem| item.slot.as_deref() == Some(slot);
        let Some(item) = plan.items.iter().find(of_slot) else {
            step.means = Means::Slot;
            step.passed = Passed::Nothing;
            return;
        };
        let given = match output {
            Some(Output::CallApi { slots, .. }) => slots.get(slot),
            _ => None,
        };
        if let Some(found) = decided(&item.text, wanted.accept, given) {
            step.means = Means::Slot;
            step.passed = if found { Passed::All } else { Passed::Nothing };
            step.link = Some(Link {
                found,
                entry: item.text.clone(),
                similarity: None,
            });
            return;
        }
    }
    if !by_link(step, link) {
        step.passed = Passed::Unknown;
    }
}

/// Whether a plan's words decide a slot for an accepted value (`true`) or for the value that the
/// output then has and that is not accepted (`false`). Words that name neither decide nothing.
fn decided(text: &str, accept: &[Value], given: Option<&Value>) -> Option<bool> {
    let plain = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        format!(" {} ", words.join(" "))
    };
    let text = plain(text);
    let names = |value: &Value| {
        let words = match value {
            Value::String(words) => plain(words),
            Value::Null | Value::Array(_) | Value::Object(_) => return false,
            other => plain(&other.to_string()),
        };
        words.trim() != "" && text.contains(&words)
    };
    if accept.iter().any(names) {
        return Some(true);
    }
    given.is_some_and(names).then_some(false)
}

/// The evidence sessions among those that passed.
fn passed(step: &mut Step, wanted: Wanted<'_>, sessions: &BTreeSet<SessionId>) {
    let own = wanted.sessions.iter().filter(|id| sessions.contains(id));
    step.sessions = own.cloned().collect();
    step.passed = match step.sessions.len() {
        0 => Passed::Nothing,
        n if n == wanted.sessions.len() => Passed::All,
        _ => Passed::Some,
    };
}

fn by_evidence(step: &mut Step, wanted: Wanted<'_>, passing: &Passing) {
    step.means = match (wanted.donor, passing.fitted) {
        (true, _) => Means::Donor,
        (false, true) => Means::Fit,
        (false, false) => Means::Evidence,
    };
    passed(step, wanted, &passing.sessions);
    let own = passing
        .dropped
        .iter()
        .filter(|drop| wanted.sessions.contains(&session_of(&drop.passage)));
    step.reasons = own
        .map(|drop| (drop.passage.clone(), drop.reason.clone()))
        .collect();
}

/// Preferences may be extracted without saying from what.
fn by_citation(step: &mut Step, wanted: Wanted<'_>, outcome: &StageOutcome) {
    match sessions_out(outcome) {
        None => step.passed = Passed::Unknown,
        Some(sessions) => {
            step.means = Means::Citation;
            passed(step, wanted, &sessions);
        }
    }
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
