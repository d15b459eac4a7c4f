//! A shard: one persona's history and instances, as JSON Lines with one record a line.
//!
//! The visible and the hidden half of an instance are records of their own, so a reader that must
//! not know the second can skip its lines.

use super::error::{DataError, Warning};
use super::hidden::{HiddenInstance, Persona};
use super::ids::{InstanceId, PersonaId};
use super::limits::FileKind;
use super::manifest::{Manifest, ShardRef};
use super::records::RecordReader;
use super::shard_check;
use super::taxonomy::Scenario;
use super::visible::{History, Instance, Session};
use serde::{Deserialize, Serialize};

/// A shard as loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    pub persona: Persona,
    pub history: History,
    /// In the order of the file.
    pub instances: Vec<(Instance, HiddenInstance)>,
}

impl Shard {
    /// The instance of that id, both halves.
    pub fn instance(&self, id: &InstanceId) -> Option<&(Instance, HiddenInstance)> {
        self.instances
            .iter()
            .find(|(instance, _)| instance.id == *id)
    }
}

/// First record of a shard: which one it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub id: String,
    pub persona: PersonaId,
}

/// One line of a shard; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Head>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<Persona>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<Instance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenInstance>,
}

/// What the lines of a shard held so far, each record with its line.
#[derive(Default)]
pub(super) struct Parts {
    pub head: Option<(u32, Head)>,
    pub persona: Option<(u32, Persona)>,
    pub sessions: Vec<(u32, Session)>,
    pub instances: Vec<(u32, Instance)>,
    pub hidden: Vec<(u32, HiddenInstance)>,
    /// Lines on which a second head or persona stood.
    pub again: Vec<(u32, &'static str)>,
}

/// What the manifest says that a shard has to agree with.
pub(super) struct Expected {
    pub scenarios: Vec<Scenario>,
    pub shards: Vec<ShardRef>,
}

/// Reads a shard from its bytes as fetched, in pieces of any size.
pub struct ShardReader {
    place: String,
    expected: Expected,
    records: RecordReader<Record>,
    parts: Parts,
}

impl ShardReader {
    /// `place` is what errors call the file: its address or name.
    pub fn new(place: &str, manifest: &Manifest) -> Self {
        Self {
            place: place.to_owned(),
            expected: Expected {
                scenarios: manifest.scenarios.clone(),
                shards: manifest.shards.clone(),
            },
            records: RecordReader::new(place, FileKind::Shard),
            parts: Parts::default(),
        }
    }

    /// Takes the next bytes. The error, if any, ends the reading.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        let parts = &mut self.parts;
        self.records
            .push(bytes, |_, line, record| parts.take(line, record))
    }

    /// The shard, when every record is sound and all fit together; else every fault at once.
    pub fn finish(mut self) -> Result<(Shard, Vec<Warning>), DataError> {
        let parts = &mut self.parts;
        let mut notes = self
            .records
            .finish(|_, line, record| parts.take(line, record))?;
        shard_check::check(&self.parts, &self.expected, &mut notes);
        let warnings = notes.close(&self.place)?;
        let shard = self
            .parts
            .join()
            .ok_or(DataError::Empty { place: self.place })?;
        Ok((shard, warnings))
    }
}

/// Reads a whole shard at once.
pub fn read(
    place: &str,
    manifest: &Manifest,
    bytes: &[u8],
) -> Result<(Shard, Vec<Warning>), DataError> {
    let mut reader = ShardReader::new(place, manifest);
    reader.push(bytes)?;
    reader.finish()
}

impl Parts {
    fn take(&mut self, line: u32, record: Record) {
        if let Some(head) = record.shard {
            keep_first(&mut self.head, &mut self.again, line, "shard", head);
        }
        if let Some(persona) = record.persona {
            keep_first(&mut self.persona, &mut self.again, line, "persona", persona);
        }
        self.sessions
            .extend(record.session.map(|session| (line, session)));
        self.instances
            .extend(record.instance.map(|instance| (line, instance)));
        self.hidden
            .extend(record.hidden.map(|hidden| (line, hidden)));
    }

    /// Pairs both halves of the instances; only called when the check found nothing.
    fn join(self) -> Option<Shard> {
        let (_, persona) = self.persona?;
        let sessions = self
            .sessions
            .into_iter()
            .map(|(_, session)| session)
            .collect();
        let mut hidden: Vec<HiddenInstance> =
            self.hidden.into_iter().map(|(_, hidden)| hidden).collect();
        let pair = |(_, instance): (u32, Instance)| {
            let at = hidden.iter().position(|half| half.id == instance.id)?;
            Some((instance, hidden.swap_remove(at)))
        };
        let instances = self
            .instances
            .into_iter()
            .map(pair)
            .collect::<Option<Vec<_>>>()?;
        Some(Shard {
            history: History {
                persona: persona.id.clone(),
                sessions,
            },
            persona,
            instances,
        })
    }
}

fn keep_first<T>(
    slot: &mut Option<(u32, T)>,
    again: &mut Vec<(u32, &'static str)>,
    line: u32,
    what: &'static str,
    value: T,
) {
    if slot.is_some() {
        again.push((line, what));
    } else {
        *slot = Some((line, value));
    }
}
