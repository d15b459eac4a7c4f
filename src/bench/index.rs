//! The two small files that are read before any shard: the index of all instances, and the
//! preference dimensions of all scenarios.

use super::error::{DataError, Warning};
use super::hidden::ScenarioDimensions;
use super::ids::{InstanceId, ScenarioId};
use super::limits::FileKind;
use super::manifest::{IndexEntry, Manifest};
use super::records::{Notes, RecordReader};
use std::collections::BTreeSet;

/// Reads the index from its bytes as fetched, in pieces of any size.
pub struct IndexReader {
    place: String,
    records: RecordReader<IndexEntry>,
    known: Known,
    instances: BTreeSet<InstanceId>,
    entries: Vec<IndexEntry>,
}

/// What the manifest lists.
struct Known {
    scenarios: BTreeSet<ScenarioId>,
    /// Shard id and persona id.
    shards: BTreeSet<(String, String)>,
    instances: usize,
}

impl IndexReader {
    /// `place` is what errors call the file: its address or name.
    pub fn new(place: &str, manifest: &Manifest) -> Self {
        let pair = |shard: &super::manifest::ShardRef| (shard.id.clone(), shard.persona.0.clone());
        Self {
            place: place.to_owned(),
            records: RecordReader::new(place, FileKind::Index),
            known: Known {
                scenarios: manifest
                    .scenarios
                    .iter()
                    .map(|scenario| scenario.id.clone())
                    .collect(),
                shards: manifest.shards.iter().map(pair).collect(),
                instances: manifest
                    .shards
                    .iter()
                    .map(|shard| shard.instances as usize)
                    .sum(),
            },
            instances: BTreeSet::new(),
            entries: Vec::new(),
        }
    }

    /// Takes the next bytes. The error, if any, ends the reading.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        let Self {
            known,
            instances,
            entries,
            ..
        } = self;
        self.records.push(bytes, |notes, line, entry| {
            known.take(notes, line, entry, instances, entries)
        })
    }

    /// The entries in the order of the file, or every fault at once.
    pub fn finish(self) -> Result<(Vec<IndexEntry>, Vec<Warning>), DataError> {
        let Self {
            place,
            records,
            known,
            mut instances,
            mut entries,
        } = self;
        let mut notes = records.finish(|notes, line, entry| {
            known.take(notes, line, entry, &mut instances, &mut entries)
        })?;
        if entries.len() != known.instances && notes.faults.is_empty() {
            let text = format!(
                "holds {} instances, but the shards of the manifest have {}",
                entries.len(),
                known.instances
            );
            notes.push(super::error::Fault::of("", text));
        }
        let warnings = notes.close(&place)?;
        Ok((entries, warnings))
    }
}

impl Known {
    fn take(
        &self,
        notes: &mut Notes,
        line: u32,
        entry: IndexEntry,
        seen: &mut BTreeSet<InstanceId>,
        out: &mut Vec<IndexEntry>,
    ) {
        if !seen.insert(entry.id.clone()) {
            notes.fault(line, "id", format!("\"{}\" stands there twice", entry.id));
        }
        if !self.scenarios.contains(&entry.scenario) {
            notes.fault(
                line,
                "scenario",
                format!("names the unknown scenario \"{}\"", entry.scenario),
            );
        }
        if !self
            .shards
            .contains(&(entry.shard.clone(), entry.persona.0.clone()))
        {
            let text = format!(
                "the manifest has no shard \"{}\" of the persona \"{}\"",
                entry.shard, entry.persona
            );
            notes.fault(line, "shard", text);
        }
        out.push(entry);
    }
}

/// Reads the whole index at once.
pub fn read(
    place: &str,
    manifest: &Manifest,
    bytes: &[u8],
) -> Result<(Vec<IndexEntry>, Vec<Warning>), DataError> {
    let mut reader = IndexReader::new(place, manifest);
    reader.push(bytes)?;
    reader.finish()
}

/// Reads the dimensions of all scenarios at once; the file is small.
pub fn read_dimensions(
    place: &str,
    manifest: &Manifest,
    bytes: &[u8],
) -> Result<(Vec<ScenarioDimensions>, Vec<Warning>), DataError> {
    let mut reader = RecordReader::<ScenarioDimensions>::new(place, FileKind::Dimensions);
    let mut list: Vec<ScenarioDimensions> = Vec::new();
    let mut take = |notes: &mut Notes, line: u32, record: ScenarioDimensions| {
        if manifest.scenario(&record.scenario).is_none() {
            notes.fault(
                line,
                "scenario",
                format!("names the unknown scenario \"{}\"", record.scenario),
            );
        }
        if list.iter().any(|other| other.scenario == record.scenario) {
            notes.fault(
                line,
                "scenario",
                format!("\"{}\" stands there twice", record.scenario),
            );
        }
        list.push(record);
    };
    reader.push(bytes, &mut take)?;
    let notes = reader.finish(&mut take)?;
    let warnings = notes.close(place)?;
    Ok((list, warnings))
}
