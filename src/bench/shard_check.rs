//! Whether the records of a shard fit together and to the manifest: every reference resolves, no id
//! stands twice, nothing is missing.

use super::hidden::{Check, HiddenInstance};
use super::records::Notes;
use super::shard::{Expected, Parts};
use super::taxonomy::Scenario;
use super::visible::Instance;
use std::collections::{BTreeMap, BTreeSet};

/// Notes every fault.
pub(super) fn check(parts: &Parts, expected: &Expected, notes: &mut Notes) {
    head(parts, expected, notes);
    sessions(parts, notes);
    for (line, instance) in &parts.instances {
        visible(*line, instance, parts, expected, notes);
    }
    halves(parts, notes);
    let known: BTreeSet<&str> = parts
        .sessions
        .iter()
        .map(|(_, session)| session.id.as_str())
        .collect();
    for (line, hidden) in &parts.hidden {
        evidence(*line, hidden, &known, notes);
        requirements(*line, hidden, notes);
        if let Some(scenario) = scenario_of(hidden, parts, expected) {
            slots(*line, hidden, scenario, notes);
        }
    }
}

fn head(parts: &Parts, expected: &Expected, notes: &mut Notes) {
    for (line, what) in &parts.again {
        notes.fault(*line, what, "stands there twice; a shard holds one");
    }
    if parts.persona.is_none() {
        notes.push(super::error::Fault::of(
            "persona",
            "is missing; a shard holds one",
        ));
    }
    let Some((line, head)) = &parts.head else {
        notes.push(super::error::Fault::of(
            "shard",
            "is missing; the first record names the shard",
        ));
        return;
    };
    if let Some((line, persona)) = &parts.persona
        && persona.id != head.persona
    {
        notes.fault(
            *line,
            "persona.id",
            format!(
                "is \"{}\", but the shard is of \"{}\"",
                persona.id, head.persona
            ),
        );
    }
    let Some(shard) = expected.shards.iter().find(|shard| shard.id == head.id) else {
        notes.fault(
            *line,
            "shard.id",
            format!("\"{}\" is not in the manifest", head.id),
        );
        return;
    };
    let turns: usize = parts
        .sessions
        .iter()
        .map(|(_, session)| session.turns.len())
        .sum();
    for (what, found, wanted) in [
        ("sessions", parts.sessions.len(), shard.sessions),
        ("turns", turns, shard.turns),
        ("instances", parts.instances.len(), shard.instances),
    ] {
        if found != wanted as usize {
            notes.fault(
                *line,
                "shard",
                format!("holds {found} {what}, but the manifest says {wanted}"),
            );
        }
    }
}

fn sessions(parts: &Parts, notes: &mut Notes) {
    let mut seen = BTreeSet::new();
    let mut last = "";
    for (line, session) in &parts.sessions {
        if !seen.insert(&session.id) {
            notes.fault(
                *line,
                "session.id",
                format!("\"{}\" stands there twice", session.id),
            );
        }
        if session.date.as_str() < last {
            notes.fault(
                *line,
                "session.date",
                format!(
                    "{} comes after {last}; sessions are in date order",
                    session.date
                ),
            );
        }
        last = &session.date;
    }
}

fn visible(line: u32, instance: &Instance, parts: &Parts, expected: &Expected, notes: &mut Notes) {
    if let Some((_, head)) = &parts.head
        && instance.persona != head.persona
    {
        let text = format!(
            "names the unknown persona \"{}\"; this shard is of \"{}\"",
            instance.persona, head.persona
        );
        notes.fault(line, "instance.persona", text);
    }
    let Some(scenario) = expected
        .scenarios
        .iter()
        .find(|scenario| scenario.id == instance.scenario)
    else {
        let text = format!(
            "names the unknown scenario \"{}\"; the manifest lists what there is",
            instance.scenario
        );
        notes.fault(line, "instance.scenario", text);
        return;
    };
    if instance.action != scenario.action {
        notes.fault(
            line,
            "instance.action",
            format!("is not that of the scenario \"{}\"", scenario.id),
        );
    }
    if instance.api != scenario.api {
        notes.fault(
            line,
            "instance.api",
            format!("is not that of the scenario \"{}\"", scenario.id),
        );
    }
}

fn halves(parts: &Parts, notes: &mut Notes) {
    let mut visible = BTreeMap::new();
    for (line, instance) in &parts.instances {
        if visible.insert(&instance.id, *line).is_some() {
            notes.fault(
                *line,
                "instance.id",
                format!("\"{}\" stands there twice", instance.id),
            );
        }
    }
    let mut hidden = BTreeSet::new();
    for (line, half) in &parts.hidden {
        if !hidden.insert(&half.id) {
            notes.fault(
                *line,
                "hidden.id",
                format!("\"{}\" stands there twice", half.id),
            );
        }
        if !visible.contains_key(&half.id) {
            notes.fault(
                *line,
                "hidden.id",
                format!("\"{}\" belongs to no instance of this shard", half.id),
            );
        }
    }
    for (id, line) in visible.iter().filter(|(id, _)| !hidden.contains(**id)) {
        notes.fault(
            *line,
            "instance.id",
            format!("the hidden half of \"{id}\" is missing"),
        );
    }
}

fn evidence(line: u32, hidden: &HiddenInstance, sessions: &BTreeSet<&str>, notes: &mut Notes) {
    let preferences: BTreeSet<&str> = hidden
        .preferences
        .iter()
        .map(|preference| preference.id.as_str())
        .collect();
    for (number, evidence) in hidden.evidence.iter().enumerate() {
        if !sessions.contains(evidence.session.as_str()) {
            let text = format!("names the unknown session \"{}\"", evidence.session);
            notes.fault(line, &format!("hidden.evidence[{number}].session"), text);
        }
        for id in evidence
            .reveals
            .iter()
            .filter(|id| !preferences.contains(id.as_str()))
        {
            let text = format!("names the unknown preference \"{id}\"");
            notes.fault(line, &format!("hidden.evidence[{number}].reveals"), text);
        }
    }
}

fn requirements(line: u32, hidden: &HiddenInstance, notes: &mut Notes) {
    let preferences: BTreeSet<&str> = hidden
        .preferences
        .iter()
        .map(|preference| preference.id.as_str())
        .collect();
    let mut seen = BTreeSet::new();
    for (number, requirement) in hidden.requirements.iter().enumerate() {
        let field = format!("hidden.requirements[{number}]");
        if !seen.insert(requirement.id.as_str()) {
            notes.fault(
                line,
                &field,
                format!("the id \"{}\" stands there twice", requirement.id),
            );
        }
        if !preferences.contains(requirement.preference.as_str()) {
            notes.fault(
                line,
                &field,
                format!(
                    "names the unknown preference \"{}\"",
                    requirement.preference
                ),
            );
        }
    }
    let references = hidden
        .api_reference
        .values()
        .map(|slot| ("api_reference", slot.requirement.as_str()));
    let labels = hidden.sample.iter().flat_map(|sample| {
        sample
            .labels
            .keys()
            .map(|id| ("sample.labels", id.as_str()))
    });
    for (field, id) in references
        .chain(labels)
        .filter(|(_, id)| !seen.contains(id))
    {
        notes.fault(
            line,
            &format!("hidden.{field}"),
            format!("names the unknown requirement \"{id}\""),
        );
    }
}

fn scenario_of<'a>(
    hidden: &HiddenInstance,
    parts: &Parts,
    expected: &'a Expected,
) -> Option<&'a Scenario> {
    let (_, instance) = parts
        .instances
        .iter()
        .find(|(_, instance)| instance.id == hidden.id)?;
    expected
        .scenarios
        .iter()
        .find(|scenario| scenario.id == instance.scenario)
}

fn slots(line: u32, hidden: &HiddenInstance, scenario: &Scenario, notes: &mut Notes) {
    let known: BTreeSet<&str> = scenario
        .api
        .iter()
        .flat_map(|api| &api.slots)
        .map(|slot| slot.name.as_str())
        .collect();
    let checked = hidden
        .requirements
        .iter()
        .filter_map(|requirement| match &requirement.check {
            Some(Check::Slot { slot, .. }) => Some(("requirements", slot)),
            _ => None,
        });
    let referenced = hidden
        .api_reference
        .keys()
        .map(|slot| ("api_reference", slot));
    for (field, slot) in referenced
        .chain(checked)
        .filter(|(_, slot)| !known.contains(slot.as_str()))
    {
        let text = format!(
            "names the slot \"{slot}\", which the scenario \"{}\" has not",
            scenario.id
        );
        notes.fault(line, &format!("hidden.{field}"), text);
    }
}
