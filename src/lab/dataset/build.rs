//! A source to a dataset.

use super::history::{self, Placed};
use super::pack::{self, Packed};
use super::source::{Source, SourceInstance, SourcePersona};
use crate::bench::hidden::{Evidence, HiddenInstance, PreferenceKind, ScenarioDimensions};
use crate::bench::manifest::{self, IndexEntry, Manifest, ShardRef};
use crate::bench::shard::{Head, Record};
use crate::bench::taxonomy::Scenario;
use crate::bench::visible::{History, Instance};
use crate::lab::error::LabError;
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the file all others hang on.
pub const MANIFEST: &str = "manifest.json";

/// Compiles a source and hands every file but the manifest to `write` as soon as it is made, so
/// that a large dataset never lies in memory whole. The source has to be valid.
pub fn build(
    source: &Source,
    seed: u64,
    mut write: impl FnMut(Packed) -> Result<(), LabError>,
) -> Result<Manifest, LabError> {
    let scenarios = public_scenarios(source);
    let mut shards = Vec::new();
    for persona in &source.personas {
        let instances: Vec<&SourceInstance> = source
            .instances
            .iter()
            .filter(|instance| instance.persona == persona.id)
            .collect();
        if instances.is_empty() {
            continue;
        }
        let placed = history::place(source, persona, &instances, seed)?;
        let packed = shard(persona, &placed, &instances, &scenarios);
        shards.push(shard_ref(
            persona,
            &placed.history,
            instances.len(),
            &packed,
        ));
        write(packed)?;
    }
    let index = pack::jsonl("index.jsonl.gz", index(source, &scenarios));
    let dimensions = pack::jsonl("dimensions.jsonl.gz", dimensions(source, &scenarios));
    let manifest = Manifest {
        format: manifest::FORMAT.to_owned(),
        version: manifest::VERSION,
        name: source.about.name.clone(),
        title: source.about.title.clone(),
        description: source.about.description.clone(),
        licence: source.about.licence.clone(),
        licence_url: source.about.licence_url.clone(),
        attribution: source.about.attribution.clone(),
        seed,
        domains: source.taxonomy.domains.clone(),
        scenarios,
        index: index.file.clone(),
        dimensions: dimensions.file.clone(),
        shards,
        embeddings: Vec::new(),
    };
    write(index)?;
    write(dimensions)?;
    Ok(manifest)
}

/// Compiles a source in memory: path to bytes, the manifest included.
pub fn build_in_memory(
    source: &Source,
    seed: u64,
) -> Result<(Manifest, BTreeMap<String, Vec<u8>>), LabError> {
    let mut files = BTreeMap::new();
    let manifest = build(source, seed, |packed| {
        files.insert(packed.file.path, packed.bytes);
        Ok(())
    })?;
    files.insert(MANIFEST.to_owned(), pack::pretty(&manifest));
    Ok((manifest, files))
}

/// Compiles a source into a folder, which has to be new, empty or a dataset already.
pub fn build_to(source: &Source, seed: u64, out: &Path) -> Result<Manifest, LabError> {
    clear(out)?;
    let manifest = build(source, seed, |packed| {
        write_file(out, &packed.file.path, &packed.bytes)
    })?;
    write_file(out, MANIFEST, &pack::pretty(&manifest))?;
    Ok(manifest)
}

/// Writes one file of a dataset.
pub fn write_file(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), LabError> {
    let path = folder.join(path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(LabError::io("make the folder", parent))?;
    }
    std::fs::write(&path, bytes).map_err(LabError::io("write", &path))
}

/// Removes an earlier dataset, file by file as its manifest names them, and nothing else.
fn clear(out: &Path) -> Result<(), LabError> {
    let at = out.join(MANIFEST);
    if !at.exists() {
        let empty = !out.exists()
            || std::fs::read_dir(out)
                .map_err(LabError::io("list", out))?
                .next()
                .is_none();
        return if empty {
            Ok(())
        } else {
            Err(LabError::Refused(format!(
                "{} is neither empty nor a dataset; choose another folder",
                out.display()
            )))
        };
    }
    let bytes = std::fs::read(&at).map_err(LabError::io("read", &at))?;
    let (old, _) = manifest::parse(&bytes, &at.display().to_string())?;
    for (_, file) in old.files() {
        let path = out.join(&file.path);
        if path.exists() {
            std::fs::remove_file(&path).map_err(LabError::io("remove", &path))?;
        }
    }
    std::fs::remove_file(&at).map_err(LabError::io("remove", &at))
}

/// In the taxonomy's order; scenarios without an instance stay in the list.
fn public_scenarios(source: &Source) -> Vec<Scenario> {
    let written = |id: &_| source.scenarios.iter().find(|scenario| scenario.id == *id);
    source
        .taxonomy
        .scenarios
        .iter()
        .filter_map(|planned| written(&planned.id))
        .map(|scenario| scenario.public())
        .collect()
}

fn shard(
    persona: &SourcePersona,
    placed: &Placed,
    instances: &[&SourceInstance],
    scenarios: &[Scenario],
) -> Packed {
    let id = persona.id.0.clone();
    let path = format!("shards/{id}.jsonl.gz");
    let mut records = vec![
        Record {
            shard: Some(Head {
                id,
                persona: persona.id.clone(),
            }),
            ..Record::default()
        },
        Record {
            persona: Some(persona.persona()),
            ..Record::default()
        },
    ];
    records.extend(placed.history.sessions.iter().map(|session| Record {
        session: Some(session.clone()),
        ..Record::default()
    }));
    for instance in instances {
        if let Some(scenario) = scenarios
            .iter()
            .find(|scenario| scenario.id == instance.scenario)
        {
            records.push(Record {
                instance: Some(visible_half(instance, scenario)),
                ..Record::default()
            });
            records.push(Record {
                hidden: Some(hidden_half(instance, placed)),
                ..Record::default()
            });
        }
    }
    pack::jsonl(&path, records)
}

fn visible_half(instance: &SourceInstance, scenario: &Scenario) -> Instance {
    Instance {
        id: instance.id.clone(),
        persona: instance.persona.clone(),
        scenario: instance.scenario.clone(),
        scenario_name: scenario.name.clone(),
        action: scenario.action,
        task: instance.task.clone(),
        api: scenario.api.clone(),
    }
}

fn hidden_half(instance: &SourceInstance, placed: &Placed) -> HiddenInstance {
    let evidence = instance.evidence.iter().map(|evidence| Evidence {
        id: evidence.id.clone(),
        session: placed.sessions[&(instance.id.0.clone(), evidence.id.clone())].clone(),
        signal: evidence.signal,
        reveals: evidence.reveals.clone(),
    });
    HiddenInstance {
        id: instance.id.clone(),
        preferences: instance.preferences.clone(),
        evidence: evidence.collect(),
        requirements: instance.requirements.clone(),
        api_reference: instance.api_reference.clone(),
        qa: instance.qa.clone(),
        sample: instance.sample.clone(),
    }
}

fn shard_ref(
    persona: &SourcePersona,
    history: &History,
    instances: usize,
    packed: &Packed,
) -> ShardRef {
    let turns: usize = history
        .sessions
        .iter()
        .map(|session| session.turns.len())
        .sum();
    let count = |number: usize| u32::try_from(number).expect("a shard of limited size");
    ShardRef {
        id: persona.id.0.clone(),
        persona: persona.id.clone(),
        file: packed.file.clone(),
        sessions: count(history.sessions.len()),
        turns: count(turns),
        instances: count(instances),
    }
}

/// In the order of the scenarios, then by id.
fn index(source: &Source, scenarios: &[Scenario]) -> Vec<IndexEntry> {
    let mut entries = Vec::new();
    for scenario in scenarios {
        entries.extend(
            source
                .instances
                .iter()
                .filter(|instance| instance.scenario == scenario.id)
                .map(index_entry),
        );
    }
    entries
}

fn index_entry(instance: &SourceInstance) -> IndexEntry {
    let count = |number: usize| u32::try_from(number).expect("an instance of limited size");
    IndexEntry {
        id: instance.id.clone(),
        persona: instance.persona.clone(),
        shard: instance.persona.0.clone(),
        scenario: instance.scenario.clone(),
        instruction: instance.task.instruction.clone(),
        evidence: count(instance.evidence.len()),
        constraints: count(instance.requirements.len()),
        dynamic: instance
            .preferences
            .iter()
            .any(|preference| preference.kind == PreferenceKind::Dynamic),
    }
}

fn dimensions(source: &Source, scenarios: &[Scenario]) -> Vec<ScenarioDimensions> {
    let of = |scenario: &Scenario| {
        source
            .scenarios
            .iter()
            .find(|other| other.id == scenario.id)
    };
    let record = |scenario: &super::source::SourceScenario| ScenarioDimensions {
        scenario: scenario.id.clone(),
        dimensions: scenario.dimensions.clone(),
    };
    scenarios.iter().filter_map(of).map(record).collect()
}
