//! A compiled dataset on disk, read by the site's own readers.

use super::build::MANIFEST;
use crate::bench::error::{DataError, Warning};
use crate::bench::hidden::ScenarioDimensions;
use crate::bench::limits::{self, FileKind};
use crate::bench::manifest::{self, EmbeddingSet, FileRef, IndexEntry, Manifest, ShardRef};
use crate::bench::shard::{self, Shard};
use crate::bench::{hash, index};
use crate::embed::VectorFile;
use crate::lab::error::{Finding, LabError};
use crate::search::{Graph, Rows};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A dataset folder whose manifest was read.
pub struct Dataset {
    pub folder: PathBuf,
    pub manifest: Manifest,
    pub warnings: Vec<Warning>,
}

impl Dataset {
    /// Reads the manifest of a folder.
    pub fn open(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(MANIFEST);
        let bytes = std::fs::read(&path).map_err(LabError::io("read", &path))?;
        let (manifest, warnings) = manifest::parse(&bytes, MANIFEST)?;
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
            warnings,
        })
    }

    /// Bytes of a file, with size and hash checked.
    pub fn bytes(&self, kind: FileKind, file: &FileRef) -> Result<Vec<u8>, LabError> {
        let path = self.folder.join(&file.path);
        let size = std::fs::metadata(&path)
            .map_err(LabError::io("read", &path))?
            .len();
        limits::check(kind, &file.path, size)?;
        let bytes = std::fs::read(&path).map_err(LabError::io("read", &path))?;
        hash::check(kind, file, &bytes)?;
        Ok(bytes)
    }

    /// Reads one shard.
    pub fn shard(&self, shard: &ShardRef) -> Result<(Shard, Vec<Warning>), LabError> {
        let bytes = self.bytes(FileKind::Shard, &shard.file)?;
        Ok(shard::read(&shard.file.path, &self.manifest, &bytes)?)
    }

    /// All vectors of a set, in the order in which a graph numbers them.
    pub fn rows(&self, set: &EmbeddingSet) -> Result<Rows, LabError> {
        let (mut scales, mut bytes) = (Vec::new(), Vec::new());
        for file in set.files.values() {
            let read = self.bytes(FileKind::Vectors, file)?;
            let vectors = VectorFile::decode(&read)
                .ok()
                .filter(|vectors| vectors.dim == set.dim);
            let mut vectors = vectors.ok_or_else(|| {
                LabError::Refused(format!(
                    "{} is no vector file with {} components a row: embed the dataset again",
                    file.path, set.dim
                ))
            })?;
            scales.append(&mut vectors.scales);
            bytes.append(&mut vectors.rows);
        }
        Ok(Rows::new(set.dim as usize, scales, bytes))
    }

    /// The graph of a set, if it has one; refused if it does not fit the vectors.
    pub fn graph(&self, set: &EmbeddingSet) -> Result<Option<Graph>, LabError> {
        let Some(file) = &set.graph else {
            return Ok(None);
        };
        let bytes = self.bytes(FileKind::Graph, file)?;
        let rows = self.rows(set)?.len();
        let graph = Graph::decode(&bytes, rows, &set.vectors_sha256());
        graph.map(Some).map_err(|error| {
            LabError::Refused(format!(
                "the graph {} cannot be used: {error}; make it anew with `lab dataset index`",
                file.path
            ))
        })
    }

    /// Reads the index.
    pub fn index(&self) -> Result<(Vec<IndexEntry>, Vec<Warning>), LabError> {
        let bytes = self.bytes(FileKind::Index, &self.manifest.index)?;
        Ok(index::read(
            &self.manifest.index.path,
            &self.manifest,
            &bytes,
        )?)
    }

    /// Reads the dimensions of all scenarios.
    pub fn dimensions(&self) -> Result<(Vec<ScenarioDimensions>, Vec<Warning>), LabError> {
        let bytes = self.bytes(FileKind::Dimensions, &self.manifest.dimensions)?;
        Ok(index::read_dimensions(
            &self.manifest.dimensions.path,
            &self.manifest,
            &bytes,
        )?)
    }

    /// Reads every file and reports every fault, also those between files.
    pub fn validate(&self) -> (Vec<Finding>, Vec<Warning>) {
        let mut report = Report {
            findings: Vec::new(),
            warnings: self.warnings.clone(),
        };
        let index = report.take(&self.manifest.index.path, self.index());
        report.take(&self.manifest.dimensions.path, self.dimensions());
        for shard in &self.manifest.shards {
            if let Some(read) = report.take(&shard.file.path, self.shard(shard)) {
                agree(
                    &self.manifest.index.path,
                    shard,
                    &read,
                    index.as_deref(),
                    &mut report.findings,
                );
            }
        }
        let made = |kind: &FileKind| matches!(kind, FileKind::Vectors | FileKind::Graph);
        for (kind, file) in self.manifest.files().filter(|(kind, _)| made(kind)) {
            report.take(&file.path, self.bytes(kind, file).map(|_| ((), Vec::new())));
        }
        for set in self.manifest.embeddings.iter() {
            let Some(file) = &set.graph else { continue };
            report.take(&file.path, self.graph(set).map(|_| ((), Vec::new())));
        }
        (report.findings, report.warnings)
    }
}

struct Report {
    findings: Vec<Finding>,
    warnings: Vec<Warning>,
}

impl Report {
    fn take<T>(&mut self, file: &str, result: Result<(T, Vec<Warning>), LabError>) -> Option<T> {
        match result {
            Ok((value, warnings)) => {
                self.warnings.extend(warnings);
                return Some(value);
            }
            Err(LabError::Data(DataError::Faulty { place, faults })) => {
                self.findings
                    .extend(faults.into_iter().map(|fault| Finding {
                        file: place.clone(),
                        fault,
                    }));
            }
            Err(LabError::Data(error)) => {
                self.findings.push(Finding::new(file, "", error.sentence()))
            }
            Err(error) => self
                .findings
                .push(Finding::new(file, "", error.to_string())),
        }
        None
    }
}

/// The index lists exactly the instances of a shard, with its numbers.
fn agree(
    path: &str,
    shard: &ShardRef,
    read: &Shard,
    index: Option<&[IndexEntry]>,
    findings: &mut Vec<Finding>,
) {
    let Some(index) = index else { return };
    let listed: BTreeSet<_> = index
        .iter()
        .filter(|entry| entry.shard == shard.id)
        .map(|entry| &entry.id)
        .collect();
    for (instance, hidden) in &read.instances {
        let Some(entry) = index
            .iter()
            .find(|entry| entry.id == instance.id && listed.contains(&entry.id))
        else {
            findings.push(Finding::new(
                path,
                "id",
                format!(
                    "\"{}\" of the shard \"{}\" is missing",
                    instance.id, shard.id
                ),
            ));
            continue;
        };
        let numbers = (hidden.evidence.len(), hidden.requirements.len());
        if (entry.evidence as usize, entry.constraints as usize) != numbers
            || entry.instruction != instance.task.instruction
        {
            findings.push(Finding::new(
                path,
                "id",
                format!(
                    "the entry of \"{}\" is not what its shard holds",
                    instance.id
                ),
            ));
        }
    }
}
