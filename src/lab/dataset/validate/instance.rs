//! The rules of one instance.

use super::{bracketed, turn_fault};
use crate::bench::hidden::{Check, Preference, PreferenceKind, Requirement, Sample};
use crate::bench::taxonomy::{Action, Slot};
use crate::judge::checks;
use crate::lab::dataset::source::{Source, SourceEvidence, SourceInstance, SourceScenario};
use crate::lab::dataset::{calendar, leak};
use crate::lab::error::Finding;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Adds every fault of an instance.
pub fn check(source: &Source, instance: &SourceInstance, findings: &mut Vec<Finding>) {
    let file = format!("instances/{}.json", instance.id);
    let mut faults = Faults { file, findings };
    if !source
        .personas
        .iter()
        .any(|persona| persona.id == instance.persona)
    {
        faults.add(
            "persona",
            format!("names the unknown persona \"{}\"", instance.persona),
        );
    }
    if instance.task.instruction.trim().is_empty() {
        faults.add("task.instruction", "is empty");
    }
    let Some(scenario) = source
        .scenarios
        .iter()
        .find(|scenario| scenario.id == instance.scenario)
    else {
        faults.add(
            "scenario",
            format!("names the unknown scenario \"{}\"", instance.scenario),
        );
        return;
    };
    preferences(instance, scenario, &mut faults);
    evidence(instance, &mut faults);
    requirements(instance, scenario, &mut faults);
    leaks(instance, &mut faults);
    questions(instance, &mut faults);
    match scenario
        .api
        .as_ref()
        .filter(|_| scenario.action == Action::CallApi)
    {
        Some(api) => reference(instance, &api.slots, &mut faults),
        None if !instance.api_reference.is_empty() => {
            faults.add("api_reference", "is only for call_api")
        }
        None => {}
    }
    match &instance.sample {
        Some(sample) => labels(instance, sample, &mut faults),
        None => faults.add("sample", "is missing"),
    }
}

/// Whether a JSON value is of a slot's type.
pub fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => false,
    }
}

struct Faults<'a> {
    file: String,
    findings: &'a mut Vec<Finding>,
}

impl Faults<'_> {
    fn add(&mut self, field: impl Into<String>, text: impl Into<String>) {
        self.findings.push(Finding::new(&self.file, field, text));
    }
}

fn preferences(instance: &SourceInstance, scenario: &SourceScenario, faults: &mut Faults) {
    let mut ids = BTreeSet::new();
    let mut values_taken = BTreeSet::new();
    for preference in &instance.preferences {
        let field = format!("preferences.{}", preference.id);
        if !ids.insert(&preference.id) {
            faults.add(&field, "the id stands there twice");
        }
        // Two values of one dimension are fine where each holds in another situation.
        if !values_taken.insert((&preference.dimension, &preference.value)) {
            faults.add(&field, "repeats dimension and value of another preference");
        }
        values(preference, scenario, &field, faults);
    }
    if !(2..=6).contains(&ids.len()) {
        faults.add(
            "preferences",
            format!("has {}; 2 to 6 are allowed", ids.len()),
        );
    }
}

fn values(preference: &Preference, scenario: &SourceScenario, field: &str, faults: &mut Faults) {
    let Some(dimension) = scenario
        .dimensions
        .iter()
        .find(|dimension| dimension.id == preference.dimension)
    else {
        faults.add(
            field,
            format!("names the unknown dimension \"{}\"", preference.dimension),
        );
        return;
    };
    let known = |id: &str| dimension.values.iter().any(|value| value.id == id);
    if !known(&preference.value) {
        faults.add(
            field,
            format!(
                "\"{}\" is no value of \"{}\"",
                preference.value, dimension.id
            ),
        );
    }
    match (preference.kind, preference.previous.as_deref()) {
        (PreferenceKind::Dynamic, _) if !scenario.dynamic => {
            faults.add(field, "is dynamic in a static scenario")
        }
        (PreferenceKind::Dynamic, None) => {
            faults.add(field, "is dynamic, but has no previous value")
        }
        (PreferenceKind::Dynamic, Some(previous)) if !known(previous) => {
            faults.add(
                field,
                format!(
                    "the previous \"{previous}\" is no value of \"{}\"",
                    dimension.id
                ),
            );
        }
        (PreferenceKind::Dynamic, Some(previous)) if previous == preference.value => {
            faults.add(field, "did not change: previous equals value")
        }
        (PreferenceKind::Static, Some(_)) => {
            faults.add(field, "is static, but has a previous value")
        }
        _ => {}
    }
}

fn evidence(instance: &SourceInstance, faults: &mut Faults) {
    if !(1..=5).contains(&instance.evidence.len()) {
        faults.add(
            "evidence",
            format!("has {} items; 1 to 5 are allowed", instance.evidence.len()),
        );
    }
    let known: BTreeSet<_> = instance
        .preferences
        .iter()
        .map(|preference| &preference.id)
        .collect();
    let mut revealed = BTreeSet::new();
    let mut ids = BTreeSet::new();
    let mut last = "";
    for item in &instance.evidence {
        let field = format!("evidence.{}", item.id);
        if !ids.insert(&item.id) {
            faults.add(&field, "the id stands there twice");
        }
        if item.date.as_str() < last {
            faults.add(
                &field,
                format!(
                    "{} comes after {last}; evidence is in date order",
                    item.date
                ),
            );
        }
        last = &item.date;
        for id in item.reveals.iter().filter(|id| !known.contains(id)) {
            faults.add(&field, format!("reveals the unknown preference \"{id}\""));
        }
        revealed.extend(&item.reveals);
        dialogue(item, &field, faults);
    }
    for id in known.iter().filter(|id| !revealed.contains(*id)) {
        faults.add(
            "evidence",
            format!("no item reveals the preference \"{id}\""),
        );
    }
}

fn dialogue(item: &SourceEvidence, field: &str, faults: &mut Faults) {
    if calendar::parse(&item.date).is_none() {
        faults.add(
            field,
            format!("\"{}\" is no date like 2025-03-02T19:04:00", item.date),
        );
    }
    if !(4..=12).contains(&item.turns.len()) {
        faults.add(
            field,
            format!("has {} turns; 4 to 12 are allowed", item.turns.len()),
        );
    }
    if let Some(text) = turn_fault(&item.turns) {
        faults.add(field, text);
    }
    if let Some(name) = item.turns.iter().find_map(|turn| bracketed(&turn.text)) {
        faults.add(field, format!("holds the placeholder [{name}]"));
    }
}

fn requirements(instance: &SourceInstance, scenario: &SourceScenario, faults: &mut Faults) {
    let preferences: BTreeSet<_> = instance
        .preferences
        .iter()
        .map(|preference| &preference.id)
        .collect();
    let mut covered = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for requirement in &instance.requirements {
        let field = format!("requirements.{}", requirement.id);
        if !ids.insert(&requirement.id) {
            faults.add(&field, "the id stands there twice");
        }
        if !preferences.contains(&requirement.preference) {
            faults.add(
                &field,
                format!(
                    "names the unknown preference \"{}\"",
                    requirement.preference
                ),
            );
        }
        // Evidence hangs on the preference, so an uncovered preference is a requirement without evidence.
        if !instance
            .evidence
            .iter()
            .any(|item| item.reveals.contains(&requirement.preference))
        {
            faults.add(&field, "has no evidence: no item reveals its preference");
        }
        covered.insert(&requirement.preference);
        check_fault(requirement, scenario.action, &field, faults);
    }
    for id in preferences.difference(&covered) {
        faults.add(
            "requirements",
            format!("none belongs to the preference \"{id}\""),
        );
    }
}

fn check_fault(requirement: &Requirement, action: Action, field: &str, faults: &mut Faults) {
    if requirement.text.trim().is_empty() {
        faults.add(field, "is empty");
    }
    let is_slot = matches!(requirement.check, Some(Check::Slot { .. }));
    if (action == Action::CallApi) != is_slot {
        faults.add(
            field,
            "has to have a slot check for call_api, and only there",
        );
    }
    let empty = match &requirement.check {
        Some(Check::ContainsAny { any } | Check::StartsWithAny { any }) => any.is_empty(),
        Some(Check::ContainsAll { all }) => all.is_empty(),
        Some(Check::Excludes { none }) => none.is_empty(),
        Some(Check::Slot { accept, .. }) => accept.is_empty(),
        Some(Check::WordCount { min, max } | Check::Count { min, max, .. }) => {
            min.is_none() && max.is_none()
                || matches!((min, max), (Some(min), Some(max)) if min > max)
        }
        Some(Check::Regex { .. } | Check::FirstPerson { .. }) | None => false,
    };
    if empty {
        faults.add(field, "its check can never decide anything");
    }
    if let Some(check @ Check::Regex { .. }) = &requirement.check {
        let outcome = checks::run(&Value::from(""), check);
        if outcome.passed.is_none() {
            faults.add(
                field,
                format!("its check cannot be run: {}", outcome.reason),
            );
        }
    }
}

fn leaks(instance: &SourceInstance, faults: &mut Faults) {
    let open = instance.task.text();
    let requirements = instance.requirements.iter().map(|requirement| {
        (
            format!("requirements.{}", requirement.id),
            &requirement.text,
        )
    });
    let preferences = instance
        .preferences
        .iter()
        .map(|preference| (format!("preferences.{}", preference.id), &preference.text));
    for (field, hidden) in requirements.chain(preferences) {
        if let Some(words) = leak::shared_run(hidden, &open) {
            faults.add(
                field,
                format!("is given away by the task, which says \"{words}\""),
            );
        }
    }
}

fn questions(instance: &SourceInstance, faults: &mut Faults) {
    if instance.qa.is_empty() {
        faults.add("qa", "is missing");
    }
    for item in &instance.qa {
        if !instance
            .preferences
            .iter()
            .any(|preference| preference.id == item.preference)
        {
            faults.add(
                "qa",
                format!("names the unknown preference \"{}\"", item.preference),
            );
        }
        if item.question.trim().is_empty() || item.answer.trim().is_empty() {
            faults.add(
                "qa",
                format!("question or answer of \"{}\" is empty", item.preference),
            );
        }
    }
}

fn reference(instance: &SourceInstance, slots: &[Slot], faults: &mut Faults) {
    let slots: BTreeMap<&str, &Slot> = slots
        .iter()
        .map(|slot| (slot.name.as_str(), slot))
        .collect();
    let wanted: BTreeSet<_> = instance
        .requirements
        .iter()
        .map(|requirement| &requirement.id)
        .collect();
    let found: BTreeSet<_> = instance
        .api_reference
        .values()
        .map(|slot| &slot.requirement)
        .collect();
    for id in wanted.symmetric_difference(&found) {
        faults.add(
            "api_reference",
            format!("does not match the requirements at \"{id}\""),
        );
    }
    for (name, accepted) in &instance.api_reference {
        let field = format!("api_reference.{name}");
        let Some(slot) = slots.get(name.as_str()) else {
            faults.add(&field, "is no slot of the scenario's API");
            continue;
        };
        for value in &accepted.accept {
            let listed = slot
                .options
                .as_ref()
                .is_none_or(|options| options.contains(value));
            if !has_type(value, &slot.kind) || !listed {
                faults.add(
                    &field,
                    format!("accepts {value}, which the slot cannot hold"),
                );
            }
        }
        same_as_check(instance, name, accepted, &field, faults);
    }
}

/// Check and reference of a slot say the same, whichever of them a judge uses.
fn same_as_check(
    instance: &SourceInstance,
    name: &str,
    accepted: &crate::bench::hidden::SlotReference,
    field: &str,
    faults: &mut Faults,
) {
    let requirement = instance
        .requirements
        .iter()
        .find(|requirement| requirement.id == accepted.requirement);
    if let Some(Check::Slot { slot, accept }) =
        requirement.and_then(|requirement| requirement.check.as_ref())
        && slot == name
        && *accept != accepted.accept
    {
        faults.add(
            field,
            format!(
                "accepts other values than the check of \"{}\"",
                accepted.requirement
            ),
        );
    }
}

fn labels(instance: &SourceInstance, sample: &Sample, faults: &mut Faults) {
    let wanted: BTreeSet<_> = instance
        .requirements
        .iter()
        .map(|requirement| &requirement.id)
        .collect();
    let found: BTreeSet<_> = sample.labels.keys().collect();
    for id in wanted.symmetric_difference(&found) {
        faults.add(
            "sample.labels",
            format!("does not match the requirements at \"{id}\""),
        );
    }
    for (id, label) in &sample.labels {
        if *label > 1 {
            faults.add(
                "sample.labels",
                format!("\"{id}\" is {label}; only 0 and 1 are labels"),
            );
        }
        if *label == 0 && !sample.why.contains_key(id) {
            faults.add(
                "sample.why",
                format!("does not say why \"{id}\" is not met"),
            );
        }
    }
    for requirement in &instance.requirements {
        checked_label(requirement, sample, faults);
    }
}

/// The label agrees with what the judge's own check says of the sample.
fn checked_label(requirement: &Requirement, sample: &Sample, faults: &mut Faults) {
    let (Some(check), Some(label)) = (&requirement.check, sample.labels.get(&requirement.id))
    else {
        return;
    };
    let outcome = checks::run(&sample.output, check);
    let field = format!("sample.labels.{}", requirement.id);
    match outcome.passed {
        Some(passed) if passed == (*label == 1) => {}
        Some(_) => faults.add(
            field,
            format!("is {label}, but its check disagrees: {}", outcome.reason),
        ),
        None => faults.add(field, format!("cannot be checked: {}", outcome.reason)),
    }
}
