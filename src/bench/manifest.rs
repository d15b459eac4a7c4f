//! The manifest of a dataset: the one file that names all others with size and hash.

use super::ids::{InstanceId, PersonaId, ScenarioId};
use super::taxonomy::{Domain, Scenario};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Shard id to vector file (format: [`crate::embed::vectors`]).
    pub files: BTreeMap<String, FileRef>,
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
