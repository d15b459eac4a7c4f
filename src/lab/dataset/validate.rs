//! Every rule a source has to keep; all faults are found, each with file and field.

use super::calendar;
use super::casual::{self, SLOTS};
use super::source::{Source, SourceScenario};
use crate::bench::hidden::Dimension;
use crate::bench::taxonomy::{Action, Slot};
use crate::bench::visible::{Role, Turn};
use crate::lab::error::Finding;
use std::collections::{BTreeMap, BTreeSet};

mod instance;

/// All faults of a source, sorted by file.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    taxonomy(source, &mut findings);
    for scenario in &source.scenarios {
        check_scenario(source, scenario, &mut findings);
    }
    personas(source, &mut findings);
    for instance in &source.instances {
        instance::check(source, instance, &mut findings);
    }
    times(source, &mut findings);
    exchanges(source, &mut findings);
    clashes(source, &mut findings);
    findings.sort_by(|a, b| a.file.cmp(&b.file));
    findings
}

fn taxonomy(source: &Source, findings: &mut Vec<Finding>) {
    let mut fault =
        |field: &str, text: String| findings.push(Finding::new("taxonomy.json", field, text));
    for (name, value) in [
        ("name", &source.about.name),
        ("title", &source.about.title),
        ("licence", &source.about.licence),
    ] {
        if value.trim().is_empty() {
            fault("dataset.json", format!("{name} is empty"));
        }
    }
    let domains: BTreeSet<_> = source
        .taxonomy
        .domains
        .iter()
        .map(|domain| &domain.id)
        .collect();
    if domains.len() != source.taxonomy.domains.len() {
        fault("domains", "an id stands there twice".to_owned());
    }
    let mut seen = BTreeSet::new();
    for planned in &source.taxonomy.scenarios {
        if !seen.insert(&planned.id) {
            fault(
                "scenarios",
                format!("\"{}\" stands there twice", planned.id),
            );
        }
        if !domains.contains(&planned.domain) {
            fault(
                "scenarios",
                format!(
                    "\"{}\" names the unknown domain \"{}\"",
                    planned.id, planned.domain
                ),
            );
        }
    }
}

fn check_scenario(source: &Source, scenario: &SourceScenario, findings: &mut Vec<Finding>) {
    let file = format!("scenarios/{}.json", scenario.id);
    let mut fault = |field: &str, text: String| findings.push(Finding::new(&file, field, text));
    let Some(planned) = source
        .taxonomy
        .scenarios
        .iter()
        .find(|planned| planned.id == scenario.id)
    else {
        fault(
            "id",
            format!("the taxonomy has no scenario \"{}\"", scenario.id),
        );
        return;
    };
    if scenario.domain != planned.domain {
        fault(
            "domain",
            format!(
                "is \"{}\", but the taxonomy says \"{}\"",
                scenario.domain, planned.domain
            ),
        );
    }
    if scenario.action != planned.action {
        fault(
            "action",
            format!("has to be {:?} as in the taxonomy", planned.action),
        );
    }
    if scenario.dynamic != planned.dynamic {
        fault(
            "dynamic",
            format!("has to be {} as in the taxonomy", planned.dynamic),
        );
    }
    if planned
        .dimensions
        .is_some_and(|wanted| wanted != scenario.dimensions.len())
    {
        fault(
            "dimensions",
            format!(
                "has {} dimensions, but the taxonomy says {:?}",
                scenario.dimensions.len(),
                planned.dimensions
            ),
        );
    }
    let values: usize = scenario
        .dimensions
        .iter()
        .map(|dimension| dimension.values.len())
        .sum();
    if let Some(wanted) = planned
        .values
        .filter(|wanted| values.abs_diff(*wanted) > 2.max(wanted * 35 / 100))
    {
        fault(
            "dimensions",
            format!("has {values} values, but the taxonomy says about {wanted}"),
        );
    }
    dimensions(&scenario.dimensions, &mut fault);
    if (scenario.action == Action::CallApi) != scenario.api.is_some() {
        fault(
            "api",
            "has to be there if the action is call_api, and only then".to_owned(),
        );
    }
    if let Some(api) = &scenario.api {
        slots(&api.slots, &mut fault);
        if api
            .endpoint
            .split('/')
            .nth(2)
            .is_none_or(|host| !host.ends_with(".example"))
        {
            fault(
                "api.endpoint",
                format!(
                    "\"{}\" is not on a host that ends in .example",
                    api.endpoint
                ),
            );
        }
    }
}

fn dimensions(dimensions: &[Dimension], fault: &mut impl FnMut(&str, String)) {
    let mut seen = BTreeSet::new();
    for dimension in dimensions {
        if !seen.insert(&dimension.id) {
            fault(
                "dimensions",
                format!("\"{}\" stands there twice", dimension.id),
            );
        }
        if dimension.values.len() < 2 {
            fault(
                "dimensions",
                format!("\"{}\" has fewer than two values", dimension.id),
            );
        }
        let values: BTreeSet<_> = dimension.values.iter().map(|value| &value.id).collect();
        if values.len() != dimension.values.len() {
            fault(
                "dimensions",
                format!("\"{}\" has a value twice", dimension.id),
            );
        }
    }
}

fn slots(slots: &[Slot], fault: &mut impl FnMut(&str, String)) {
    if !(6..=12).contains(&slots.len()) {
        fault(
            "api.slots",
            format!("has {} slots; 6 to 12 are allowed", slots.len()),
        );
    }
    let mut seen = BTreeSet::new();
    for slot in slots {
        if !seen.insert(&slot.name) {
            fault("api.slots", format!("\"{}\" stands there twice", slot.name));
        }
        if !["string", "integer", "number", "boolean"].contains(&slot.kind.as_str()) {
            fault(
                "api.slots",
                format!("\"{}\" has the unknown type \"{}\"", slot.name, slot.kind),
            );
        }
        for option in slot
            .options
            .iter()
            .flatten()
            .filter(|option| !instance::has_type(option, &slot.kind))
        {
            fault(
                "api.slots",
                format!(
                    "the option {option} of \"{}\" is no {}",
                    slot.name, slot.kind
                ),
            );
        }
    }
}

fn personas(source: &Source, findings: &mut Vec<Finding>) {
    for persona in &source.personas {
        let file = format!("personas/{}.json", persona.id);
        for slot in SLOTS {
            if persona
                .chat_slots
                .get(slot)
                .is_none_or(|value| value.trim().is_empty())
            {
                findings.push(Finding::new(
                    &file,
                    "chat_slots",
                    format!("\"{slot}\" is missing"),
                ));
            }
        }
        for (field, value) in [
            ("name", &persona.name),
            ("gender", &persona.gender),
            ("summary", &persona.summary),
        ] {
            if value.trim().is_empty() {
                findings.push(Finding::new(&file, field, "is empty"));
            }
        }
    }
}

/// No two evidence sessions of one persona begin at the same minute.
fn times(source: &Source, findings: &mut Vec<Finding>) {
    let mut taken = BTreeMap::new();
    for instance in &source.instances {
        for evidence in &instance.evidence {
            if let Some(other) = taken.insert((&instance.persona, &evidence.date), &instance.id) {
                let text = format!(
                    "{} is also the time of evidence of \"{other}\", of the same persona",
                    evidence.date
                );
                findings.push(Finding::new(
                    &format!("instances/{}.json", instance.id),
                    format!("evidence.{}.date", evidence.id),
                    text,
                ));
            }
        }
    }
}

fn exchanges(source: &Source, findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for exchange in &source.casual {
        let mut fault = |text: String| findings.push(Finding::new("casual", &exchange.id, text));
        if !seen.insert(&exchange.id) {
            fault("the id stands there twice".to_owned());
        }
        if let Some(text) = turn_fault(&exchange.turns) {
            fault(text.to_owned());
        }
        for name in exchange
            .turns
            .iter()
            .flat_map(|turn| casual::unknown_slots(&turn.text))
        {
            fault(format!("the placeholder {{{name}}} is unknown"));
        }
    }
}

fn clashes(source: &Source, findings: &mut Vec<Finding>) {
    let mut fault =
        |field: String, text: String| findings.push(Finding::new("clashes.json", field, text));
    let exchanges: BTreeSet<&str> = source
        .casual
        .iter()
        .map(|exchange| exchange.id.as_str())
        .collect();
    let personas: BTreeSet<&str> = source
        .personas
        .iter()
        .map(|persona| persona.id.as_str())
        .collect();
    for (name, group) in &source.clashes.groups {
        for id in group.iter().filter(|id| !personas.contains(id.as_str())) {
            fault(
                format!("groups.{name}"),
                format!("names the unknown persona \"{id}\""),
            );
        }
    }
    for (number, clash) in source.clashes.clashes.iter().enumerate() {
        let field = format!("clashes[{number}]");
        for id in clash
            .casual
            .iter()
            .filter(|id| !exchanges.contains(id.as_str()))
        {
            fault(
                field.clone(),
                format!("names the unknown exchange \"{id}\""),
            );
        }
        let known = |who: &str| {
            who == "*" || personas.contains(who) || source.clashes.groups.contains_key(who)
        };
        for who in clash.who.iter().filter(|who| !known(who)) {
            fault(
                field.clone(),
                format!("names the unknown persona or group \"{who}\""),
            );
        }
        for day in [&clash.from, &clash.to]
            .into_iter()
            .flatten()
            .filter(|day| calendar::parse_day(day).is_none())
        {
            fault(
                field.clone(),
                format!("\"{day}\" is no day like 2025-11-22"),
            );
        }
        if clash.reason.trim().is_empty() {
            fault(field, "has no reason".to_owned());
        }
    }
}

/// What is wrong with a dialogue: speakers alternate from the user on, and nobody says nothing.
fn turn_fault(turns: &[Turn]) -> Option<&'static str> {
    let speaker = |number: usize| {
        if number.is_multiple_of(2) {
            Role::User
        } else {
            Role::Assistant
        }
    };
    if turns.is_empty() {
        return Some("has no turns");
    }
    if turns.iter().any(|turn| turn.text.trim().is_empty()) {
        return Some("has an empty turn");
    }
    let alternates = turns
        .iter()
        .enumerate()
        .all(|(number, turn)| turn.role == speaker(number));
    (!alternates).then_some("turns do not alternate from the user on")
}

/// A placeholder an author forgot to replace, like `[Company Name]`.
fn bracketed(text: &str) -> Option<&str> {
    text.match_indices('[').find_map(|(start, _)| {
        let inside = &text[start + 1..][..text[start + 1..].find(']')?];
        let named = inside.len() > 1
            && inside.starts_with(|letter: char| letter.is_ascii_uppercase())
            && inside
                .chars()
                .all(|letter| letter.is_ascii_alphabetic() || letter == ' ');
        named.then_some(inside)
    })
}
