//! A source of the paper's full size, recombined from the texts of a small one: for load tests of
//! list, loading and search. Which evidence reveals what is only a matter of form in it, so it says
//! nothing about any system; it is made when needed and never shipped.

use super::draw;
use super::source::{About, Planned, Source, SourceEvidence, SourceInstance, SourcePersona};
use crate::bench::hidden::{Preference, PreferenceKind, QaItem, Requirement};
use crate::bench::ids::{DomainId, InstanceId, PersonaId, PreferenceId, RequirementId};
use crate::lab::error::LabError;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Instances by number of evidence items and of constraints, 1 to 4 and "5 and more" (paper, table 2).
const TABLE_2: &str = include_str!("table2.json");

#[derive(Deserialize)]
struct Row {
    domain: DomainId,
    evidence: [usize; 5],
    constraints: [usize; 5],
}

/// What one synthetic instance has to have.
struct Wanted<'a> {
    planned: &'a Planned,
    number: usize,
    evidence: usize,
    constraints: usize,
}

/// Makes a source with so many personas and as many instances as the taxonomy plans.
pub fn synthesise(source: &Source, personas: usize, seed: u64) -> Result<Source, LabError> {
    let mut wanted = Vec::new();
    for row in table()? {
        wanted.extend(wanted_of(source, &row, seed)?);
    }
    let people = people(source, personas);
    let instances = deal(source, &wanted, &people, seed)?;
    let about = About {
        name: "synthetic".to_owned(),
        title: format!("Synthetic dataset of {} instances", instances.len()),
        description: "Recombined texts for load tests. Links between tasks and evidence are arbitrary; scores on it mean nothing.".to_owned(),
        ..source.about.clone()
    };
    Ok(Source {
        about,
        personas: people,
        instances,
        ..source.clone()
    })
}

fn table() -> Result<Vec<Row>, LabError> {
    serde_json::from_str(TABLE_2)
        .map_err(|error| LabError::Refused(format!("table2.json does not fit: {error}")))
}

/// The instances of a domain: counts of scenarios as planned, evidence and constraints as in the table.
fn wanted_of<'a>(source: &'a Source, row: &Row, seed: u64) -> Result<Vec<Wanted<'a>>, LabError> {
    let mut evidence = spread(&row.evidence, seed, &format!("{} evidence", row.domain)).into_iter();
    let mut constraints = spread(
        &row.constraints,
        seed,
        &format!("{} constraints", row.domain),
    )
    .into_iter();
    let mut wanted = Vec::new();
    for planned in source
        .taxonomy
        .scenarios
        .iter()
        .filter(|planned| planned.domain == row.domain)
    {
        for number in 0..planned.instances.unwrap_or(0) {
            let (Some(evidence), Some(constraints)) = (evidence.next(), constraints.next()) else {
                return Err(LabError::Refused(format!(
                    "taxonomy.json plans more instances in \"{}\" than the paper's table 2 has",
                    row.domain
                )));
            };
            wanted.push(Wanted {
                planned,
                number,
                evidence,
                constraints,
            });
        }
    }
    Ok(wanted)
}

/// Turns "so many of 1, so many of 2…" into a shuffled list.
fn spread(counts: &[usize; 5], seed: u64, purpose: &str) -> Vec<usize> {
    let repeated = counts
        .iter()
        .enumerate()
        .flat_map(|(at, count)| std::iter::repeat_n(at + 1, *count));
    let mut list: Vec<(usize, usize)> = repeated.enumerate().collect();
    draw::shuffle(&mut list, seed, purpose, |(number, _)| number.to_string());
    list.into_iter().map(|(_, count)| count).collect()
}

fn people(source: &Source, count: usize) -> Vec<SourcePersona> {
    source
        .personas
        .iter()
        .cycle()
        .take(count)
        .enumerate()
        .map(|(number, persona)| SourcePersona {
            id: PersonaId(format!("u{:03}", number + 1)),
            ..persona.clone()
        })
        .collect()
}

/// Gives instances to personas so that no persona meets a dialogue twice and evidence is spread evenly.
fn deal(
    source: &Source,
    wanted: &[Wanted],
    people: &[SourcePersona],
    seed: u64,
) -> Result<Vec<SourceInstance>, LabError> {
    let mut order: Vec<&Wanted> = wanted.iter().collect();
    // The largest first, each to whoever has least: loads differ by one instance at most.
    draw::shuffle(&mut order, seed, "deal", |wanted| {
        format!("{} {}", wanted.planned.id, wanted.number)
    });
    order.sort_by_key(|wanted| std::cmp::Reverse(wanted.evidence));
    let mut loads: BTreeSet<(usize, usize)> = (0..people.len()).map(|person| (0, person)).collect();
    let mut taken = BTreeSet::new();
    let mut instances = Vec::with_capacity(wanted.len());
    for wanted in order {
        let free = |load: &&(usize, usize)| !taken.contains(&(load.1, &wanted.planned.id));
        let load = loads.iter().find(free).copied().ok_or_else(|| {
            LabError::Refused(
                "there are too few personas for so many instances of a scenario; raise --personas"
                    .to_owned(),
            )
        })?;
        loads.remove(&load);
        loads.insert((load.0 + wanted.evidence, load.1));
        taken.insert((load.1, &wanted.planned.id));
        instances.push(instance(source, wanted, &people[load.1], seed)?);
    }
    instances.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(instances)
}

fn instance(
    source: &Source,
    wanted: &Wanted,
    person: &SourcePersona,
    seed: u64,
) -> Result<SourceInstance, LabError> {
    let scenario = &wanted.planned.id;
    let mut originals: Vec<&SourceInstance> = source
        .instances
        .iter()
        .filter(|instance| instance.scenario == *scenario)
        .collect();
    let id = format!("{scenario}-{:03}", wanted.number + 1);
    draw::shuffle(&mut originals, seed, &id, |instance| instance.id.0.clone());
    let Some(base) = originals.first() else {
        return Err(LabError::Refused(format!(
            "the source has no instance of \"{scenario}\" to recombine"
        )));
    };
    let preferences = preferences(source, wanted, &originals, &id, seed);
    let (requirements, qa) = (requirements(&preferences), questions(&preferences));
    Ok(SourceInstance {
        persona: person.id.clone(),
        evidence: evidence(&originals, wanted, &preferences, &person.id, &id, seed),
        requirements,
        qa,
        preferences,
        id: InstanceId(id),
        scenario: scenario.clone(),
        task: base.task.clone(),
        api_reference: BTreeMap::new(),
        sample: None,
    })
}

/// Preferences of the originals first, then values of the scenario's other dimensions.
fn preferences(
    source: &Source,
    wanted: &Wanted,
    originals: &[&SourceInstance],
    id: &str,
    seed: u64,
) -> Vec<Preference> {
    let mut list: Vec<Preference> = Vec::new();
    for preference in originals.iter().flat_map(|original| &original.preferences) {
        if list
            .iter()
            .all(|other| other.dimension != preference.dimension)
        {
            list.push(preference.clone());
        }
    }
    let dimensions = source
        .scenarios
        .iter()
        .filter(|scenario| scenario.id == wanted.planned.id)
        .flat_map(|scenario| &scenario.dimensions);
    let values = dimensions
        .flat_map(|dimension| dimension.values.iter().map(move |value| (dimension, value)));
    let mut spare: Vec<Preference> = values
        .map(|(dimension, value)| Preference {
            id: PreferenceId::default(),
            dimension: dimension.id.clone(),
            value: value.id.clone(),
            text: value.text.clone(),
            kind: PreferenceKind::Static,
            previous: None,
        })
        .collect();
    draw::shuffle(&mut spare, seed, id, |preference| {
        format!("{} {}", preference.dimension, preference.value)
    });
    list.extend(spare);
    list.truncate(wanted.constraints);
    for (number, preference) in list.iter_mut().enumerate() {
        preference.id = PreferenceId(format!("q{}", number + 1));
    }
    list
}

fn requirements(preferences: &[Preference]) -> Vec<Requirement> {
    let requirement = |(number, preference): (usize, &Preference)| Requirement {
        id: RequirementId(format!("r{}", number + 1)),
        preference: preference.id.clone(),
        text: preference.text.clone(),
        check: None,
    };
    preferences.iter().enumerate().map(requirement).collect()
}

fn questions(preferences: &[Preference]) -> Vec<QaItem> {
    let item = |preference: &Preference| QaItem {
        preference: preference.id.clone(),
        question: format!(
            "What does this user want of the dimension \"{}\"?",
            preference.dimension
        ),
        answer: preference.text.clone(),
    };
    preferences.iter().map(item).collect()
}

/// Dialogues of the originals, repeated at another date when there are too few; the preferences
/// are dealt out among them.
fn evidence(
    originals: &[&SourceInstance],
    wanted: &Wanted,
    preferences: &[Preference],
    person: &PersonaId,
    id: &str,
    seed: u64,
) -> Vec<SourceEvidence> {
    let pool: Vec<&SourceEvidence> = originals
        .iter()
        .flat_map(|original| &original.evidence)
        .collect();
    let mut items: Vec<SourceEvidence> = (0..wanted.evidence)
        .map(|number| {
            let original = pool[number % pool.len()];
            let mine = preferences
                .iter()
                .enumerate()
                .filter(|(at, _)| at % wanted.evidence == number);
            let reveals = mine.map(|(_, preference)| preference.id.clone()).collect();
            SourceEvidence {
                date: date(person, id, number, seed),
                reveals,
                ..original.clone()
            }
        })
        .collect();
    items.sort_by(|a, b| a.date.cmp(&b.date));
    for (number, item) in items.iter_mut().enumerate() {
        item.id = format!("e{}", number + 1);
    }
    items
}

fn date(person: &PersonaId, id: &str, number: usize, seed: u64) -> String {
    let part = |name: &str, bound: u64| {
        draw::below(
            bound,
            seed,
            &[person.as_str(), id, &number.to_string(), name],
        )
    };
    let (month, day) = (1 + part("month", 12), 1 + part("day", 28));
    format!(
        "2025-{month:02}-{day:02}T{:02}:{:02}:00",
        7 + part("hour", 16),
        part("minute", 60)
    )
}
