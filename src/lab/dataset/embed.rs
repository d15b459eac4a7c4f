//! Vectors for a dataset: every chunk of every shard, made by the site's own engine.

use super::build::{MANIFEST, write_file};
use super::open::Dataset;
use super::pack;
use crate::bench::hash;
use crate::bench::manifest::{EmbeddingSet, FileRef};
use crate::embed::Chunking;
use crate::embed::bulk::embed_sessions;
use crate::embed::model::Embedder;
use crate::embed::registry::kept::passages_reading;
use crate::lab::error::LabError;
use crate::lab::model::{Model, refused};
use std::collections::BTreeMap;
use std::path::Path;

/// Embeds all shards of a dataset with the model of a folder and enters the files in the manifest.
/// `max_tokens` is the model's longest input, special tokens included, if not what its folder says.
pub fn embed(
    mut dataset: Dataset,
    model: &Path,
    max_tokens: Option<u32>,
) -> Result<EmbeddingSet, LabError> {
    let model = Model::load(model, max_tokens)?;
    for sentence in &model.assumed {
        eprintln!("{}: {sentence}", model.name);
    }
    let chunking = Chunking::default();
    let set = EmbeddingSet {
        model: model.name.clone(),
        model_sha256: model.sha256,
        dim: model.embedder.dim(),
        chunk_tokens: chunking.tokens,
        chunk_overlap: chunking.overlap,
        reading: passages_reading(&model.tokenizer_sha256, &model.embedder.reading()),
        files: embed_shards(&dataset, &model.embedder, chunking, &model.name)?,
        graph: None,
    };
    dataset
        .manifest
        .embeddings
        .retain(|other| other.model != set.model);
    dataset.manifest.embeddings.push(set.clone());
    write_file(&dataset.folder, MANIFEST, &pack::pretty(&dataset.manifest))?;
    Ok(set)
}

fn embed_shards(
    dataset: &Dataset,
    embedder: &Embedder,
    chunking: Chunking,
    name: &str,
) -> Result<BTreeMap<String, FileRef>, LabError> {
    let mut files = BTreeMap::new();
    for shard in &dataset.manifest.shards {
        let (loaded, _) = dataset.shard(shard)?;
        let sessions = &loaded.history.sessions;
        let vectors = embed_sessions(embedder, sessions, chunking, &|_, _| {}).map_err(refused)?;
        let path = format!("vectors/{name}/{}.bin", shard.id);
        let bytes = vectors.encode();
        write_file(&dataset.folder, &path, &bytes)?;
        files.insert(shard.id.clone(), file_ref(path, &bytes));
        eprintln!("{name}: {} ({} chunks)", shard.id, vectors.spans.len());
    }
    Ok(files)
}

pub(super) fn file_ref(path: String, bytes: &[u8]) -> FileRef {
    FileRef {
        path,
        bytes: bytes.len() as u64,
        sha256: hash::sha256_hex(bytes),
        unpacked: None,
        unpacked_sha256: None,
    }
}
