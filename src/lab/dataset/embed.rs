//! Vectors for a dataset: every chunk of every shard, made by the site's own engine.

use super::build::{MANIFEST, write_file};
use super::open::Dataset;
use super::pack;
use crate::bench::hash;
use crate::bench::manifest::{EmbeddingSet, FileRef};
use crate::embed::bulk::embed_sessions;
use crate::embed::model::Embedder;
use crate::embed::{Chunking, EmbedError, ModelSpec};
use crate::lab::error::LabError;
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the model's graph within its folder.
const ONNX: &str = "model_int8.onnx";
/// Name of the model's tokenizer within its folder.
const TOKENIZER: &str = "tokenizer.json";

/// Embeds all shards of a dataset with the model of a folder and enters the files in the manifest.
/// `max_tokens` is the model's longest input, special tokens included.
pub fn embed(
    mut dataset: Dataset,
    model: &Path,
    max_tokens: u32,
) -> Result<EmbeddingSet, LabError> {
    let name = model.file_name().and_then(|name| name.to_str());
    let name = name
        .ok_or_else(|| LabError::Refused(format!("{} is no folder of a model", model.display())))?;
    let onnx = read(&model.join(ONNX))?;
    let tokenizer = read(&model.join(TOKENIZER))?;
    let model_sha256 = hash::sha256_hex(&onnx);
    let spec = ModelSpec::plain(max_tokens);
    let embedder = Embedder::load(onnx, &tokenizer, spec).map_err(refused)?;
    let chunking = Chunking::default();
    let set = EmbeddingSet {
        model: name.to_owned(),
        model_sha256,
        dim: embedder.dim(),
        chunk_tokens: chunking.tokens,
        chunk_overlap: chunking.overlap,
        files: embed_shards(&dataset, &embedder, chunking, name)?,
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

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    std::fs::read(path).map_err(LabError::io("read", path))
}

fn refused(error: EmbedError) -> LabError {
    LabError::Refused(match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    })
}
