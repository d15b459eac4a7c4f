//! The manifest of a dataset: the one file that names all others with size and hash.

use super::error::{DataError, Fault, Warning};
use super::ids::{InstanceId, PersonaId, ScenarioId};
use super::json::{self, Warnings};
use super::limits::{self, FileKind};
use super::taxonomy::{Action, Domain, Scenario};
use super::{lines, unpack};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Value of [`Manifest::format`].
pub const FORMAT: &str = "iba-dataset";
/// Version of the dataset format that this program writes and reads.
pub const VERSION: u32 = 1;

/// `manifest.json`. Its SHA-256 identifies the dataset in every result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`FORMAT`].
    pub format: String,
    /// Always [`VERSION`].
    pub version: u32,
    /// Short name, for example `iba-mini`.
    pub name: String,
    pub title: String,
    pub description: String,
    pub licence: String,
    /// Address of the licence's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence_url: Option<String>,
    /// Whom to name when the data is passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// Seed of the compilation; the same source and seed give the same bytes.
    pub seed: u64,
    pub domains: Vec<Domain>,
    pub scenarios: Vec<Scenario>,
    /// gzip'd JSON Lines of [`IndexEntry`], enough to list and filter all instances.
    pub index: FileRef,
    /// gzip'd JSON Lines of [`super::hidden::ScenarioDimensions`].
    pub dimensions: FileRef,
    /// One for each persona.
    pub shards: Vec<ShardRef>,
    #[serde(default)]
    pub embeddings: Vec<EmbeddingSet>,
}

/// A file of the dataset; `path` is relative to the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileRef {
    pub path: String,
    /// Size as stored, in bytes.
    pub bytes: u64,
    /// Lower-case hex SHA-256 of the stored bytes.
    pub sha256: String,
    /// Size after gunzip, in bytes; absent for files that are not compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpacked: Option<u64>,
    /// SHA-256 after gunzip: some hosts unpack on the way, and the browser never shows the stored bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpacked_sha256: Option<String>,
}

/// One persona's history and instances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardRef {
    pub id: String,
    pub persona: PersonaId,
    pub file: FileRef,
    pub sessions: u32,
    pub turns: u32,
    pub instances: u32,
}

/// Vectors of every chunk of every shard, made by one model with one chunking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingSet {
    /// Short name of the model, for example `all-minilm-l6-v2`.
    pub model: String,
    /// SHA-256 of the ONNX file that made the vectors.
    pub model_sha256: String,
    pub dim: u32,
    pub chunk_tokens: u32,
    pub chunk_overlap: u32,
    /// How passages were read. Nothing is said of texts that were read as they are, whose vectors the
    /// graph itself pools and which were made unit vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<PassageReading>,
    /// Shard id to vector file (format: [`crate::embed::vectors`]).
    pub files: BTreeMap<String, FileRef>,
    /// The HNSW graph over all of them (format: [`crate::search::graph`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<FileRef>,
}

/// What the vectors of passages depend on beside weights and text. Vectors of queries are comparable
/// only with those of passages that were read in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassageReading {
    /// Of `tokenizer.json`.
    pub tokenizer_sha256: String,
    /// Longest input in tokens, special tokens included.
    pub max_tokens: u32,
    /// `mean` or `cls`; nothing where the graph pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooling: Option<String>,
    /// Whether they are unit vectors.
    pub normalised: bool,
    /// Put before every passage.
    #[serde(default)]
    pub passage_prefix: String,
}

impl EmbeddingSet {
    /// Names the vectors as a whole, in the order in which their passages are numbered: SHA-256 of the
    /// hashes of their files by shard id, a line each.
    pub fn vectors_sha256(&self) -> String {
        let lines = self.files.values().map(|file| format!("{}\n", file.sha256));
        super::hash::sha256_hex(lines.collect::<String>().as_bytes())
    }
}

/// What the list of instances needs to know about one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexEntry {
    pub id: InstanceId,
    pub persona: PersonaId,
    pub shard: String,
    pub scenario: ScenarioId,
    pub instruction: String,
    pub evidence: u32,
    pub constraints: u32,
    /// Whether the instance has a preference that changed.
    pub dynamic: bool,
}

impl Manifest {
    /// The scenario of that id.
    pub fn scenario(&self, id: &ScenarioId) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.id == *id)
    }

    /// The shard of that id.
    pub fn shard(&self, id: &str) -> Option<&ShardRef> {
        self.shards.iter().find(|shard| shard.id == id)
    }

    /// Every file the dataset consists of, the manifest itself left out.
    pub fn files(&self) -> impl Iterator<Item = (FileKind, &FileRef)> {
        let vectors = self.embeddings.iter().flat_map(|set| set.files.values());
        let graphs = self.embeddings.iter().flat_map(|set| &set.graph);
        [
            (FileKind::Index, &self.index),
            (FileKind::Dimensions, &self.dimensions),
        ]
        .into_iter()
        .chain(
            self.shards
                .iter()
                .map(|shard| (FileKind::Shard, &shard.file)),
        )
        .chain(vectors.map(|file| (FileKind::Vectors, file)))
        .chain(graphs.map(|file| (FileKind::Graph, file)))
    }
}

/// Reads `manifest.json` from the bytes as fetched. `place` is what errors call the file: its
/// address or name. All faults are reported at once.
pub fn parse(bytes: &[u8], place: &str) -> Result<(Manifest, Vec<Warning>), DataError> {
    limits::check(FileKind::Manifest, place, bytes.len() as u64)?;
    let plain = unpack::unpack(place, bytes, FileKind::Manifest.unpacked())?;
    let text = lines::opening(place, &plain)?;
    if text.trim().is_empty() {
        return Err(DataError::Empty {
            place: place.to_owned(),
        });
    }
    let mut warnings = Warnings::new(place);
    let faulty = |fault| DataError::Faulty {
        place: place.to_owned(),
        faults: vec![fault],
    };
    check_format(
        json::parse(text, None, &mut Warnings::new(place)).map_err(faulty)?,
        place,
    )?;
    let manifest: Manifest = json::parse(text, None, &mut warnings).map_err(faulty)?;
    let faults = faults(&manifest);
    if !faults.is_empty() {
        return Err(DataError::Faulty {
            place: place.to_owned(),
            faults,
        });
    }
    Ok((manifest, warnings.into_list()))
}

/// Format and version first: what another version means by a field is not ours to judge.
fn check_format(value: Value, place: &str) -> Result<(), DataError> {
    let place = place.to_owned();
    let expected = format!("a manifest of the format \"{FORMAT}\"");
    match value.get("format").and_then(Value::as_str) {
        Some(FORMAT) => {}
        Some(other) => {
            return Err(DataError::WrongFormat {
                place,
                found: format!("of the format \"{other}\""),
                expected,
            });
        }
        None => {
            return Err(DataError::WrongFormat {
                place,
                found: "JSON without a format field".to_owned(),
                expected,
            });
        }
    }
    match value.get("version") {
        Some(version) if version.as_u64() == Some(u64::from(VERSION)) => Ok(()),
        Some(version) => Err(DataError::WrongVersion {
            place,
            found: version.to_string(),
            expected: VERSION,
        }),
        None => Err(DataError::WrongVersion {
            place,
            found: "none".to_owned(),
            expected: VERSION,
        }),
    }
}

fn faults(manifest: &Manifest) -> Vec<Fault> {
    let mut faults = Vec::new();
    twice(
        &mut faults,
        "domains",
        manifest.domains.iter().map(|domain| domain.id.as_str()),
    );
    twice(
        &mut faults,
        "scenarios",
        manifest
            .scenarios
            .iter()
            .map(|scenario| scenario.id.as_str()),
    );
    twice(
        &mut faults,
        "shards",
        manifest.shards.iter().map(|shard| shard.id.as_str()),
    );
    twice(
        &mut faults,
        "shards",
        manifest.shards.iter().map(|shard| shard.persona.as_str()),
    );
    scenario_faults(manifest, &mut faults);
    file_faults(manifest, &mut faults);
    for (number, set) in manifest.embeddings.iter().enumerate() {
        for shard in set.files.keys().filter(|id| manifest.shard(id).is_none()) {
            faults.push(Fault::of(
                format!("embeddings[{number}].files"),
                format!("names the unknown shard \"{shard}\""),
            ));
        }
    }
    faults
}

fn scenario_faults(manifest: &Manifest, faults: &mut Vec<Fault>) {
    for scenario in &manifest.scenarios {
        let field = format!("scenarios[{}]", scenario.id);
        if !manifest
            .domains
            .iter()
            .any(|domain| domain.id == scenario.domain)
        {
            faults.push(Fault::of(
                &field,
                format!("names the unknown domain \"{}\"", scenario.domain),
            ));
        }
        if (scenario.action == Action::CallApi) != scenario.api.is_some() {
            faults.push(Fault::of(
                &field,
                "has to have an api if its action is call_api, and only then",
            ));
        }
    }
}

fn file_faults(manifest: &Manifest, faults: &mut Vec<Fault>) {
    for (_, file) in manifest.files() {
        if !stays_inside(&file.path) {
            faults.push(Fault::of(
                "path",
                format!(
                    "\"{}\" is not a relative path within the dataset's folder",
                    file.path
                ),
            ));
        }
        for hash in std::iter::once(&file.sha256).chain(&file.unpacked_sha256) {
            if hash.len() != 64
                || !hash
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            {
                faults.push(Fault::of(
                    "sha256",
                    format!(
                        "\"{hash}\" of {} is not 64 lower-case hex digits",
                        file.path
                    ),
                ));
            }
        }
    }
    twice(
        faults,
        "path",
        manifest.files().map(|(_, file)| file.path.as_str()),
    );
}

/// Relative, without a scheme, a query or a step upwards.
fn stays_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains([':', '\\', '?', '#', '%'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn twice<'a>(faults: &mut Vec<Fault>, field: &str, ids: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    for id in ids.filter(|id| !seen.insert(*id)) {
        faults.push(Fault::of(field, format!("\"{id}\" stands there twice")));
    }
}
