//! An embedding model of a folder, read as the site reads one: the graph that fits best with the
//! files its weights lie in, the tokenizer, and what the folder says of pooling, prefixes and limit.

use super::error::LabError;
use crate::bench::hash;
use crate::bench::manifest::EmbeddingSet;
use crate::embed::registry::apart::Apart;
use crate::embed::registry::folder::{self, last};
use crate::embed::registry::kept::gives;
use crate::embed::registry::{Card, identity};
use crate::embed::{EmbedError, Embedder, ModelFile, ModelSpec};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders within the model's that hold something of it.
const DEPTH: usize = 2;

/// A loaded model.
pub struct Model {
    /// The folder's name.
    pub name: String,
    /// Names its weights; see [`identity`].
    pub sha256: String,
    pub tokenizer_sha256: String,
    pub embedder: Embedder,
    /// Sentences about what the folder does not say.
    pub assumed: Vec<String>,
}

impl Model {
    /// Loads the model of a folder. `max_tokens` is its longest input, special tokens included, if
    /// not what the folder says.
    pub fn load(folder: &Path, max_tokens: Option<u32>) -> Result<Self, LabError> {
        let refuse = |why: String| LabError::Refused(format!("{}: {why}", folder.display()));
        let name = folder.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| refuse("it is no folder of a model".to_owned()))?;
        let mut paths = Vec::new();
        list(folder, "", DEPTH, &mut paths)?;
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        let chosen = folder::choose(&names);
        let graph = chosen.graphs.first().map(|at| names[*at]);
        let graph = graph.ok_or_else(|| {
            refuse("there is no ONNX file in it: give the folder that holds one and its tokenizer.json".to_owned())
        })?;
        let tokenizer = chosen.tokenizer.map(|at| names[at]);
        let tokenizer = tokenizer.ok_or_else(|| {
            refuse("there is no tokenizer.json beside the model, and without it no text can be cut into the model's tokens: take the one from the model's repository".to_owned())
        })?;
        let mut said = Vec::new();
        for (at, what) in &chosen.saying {
            said.push(((*what).to_owned(), read(&folder.join(names[*at]))?));
        }
        let card = Card::read(name, &said, None);
        if let Some(why) = card.unfit {
            return Err(refuse(why));
        }
        let spec = ModelSpec {
            max_tokens: max_tokens.unwrap_or(card.spec.max_tokens),
            ..card.spec
        };
        let (file, sha256) = weights(&folder.join(graph))?;
        let tokenizer = read(&folder.join(tokenizer))?;
        Ok(Self {
            name: name.to_owned(),
            sha256,
            tokenizer_sha256: hash::sha256_hex(&tokenizer),
            embedder: Embedder::load(file, &tokenizer, spec).map_err(refused)?,
            assumed: card.assumed,
        })
    }

    /// Whether the vectors of a dataset's set are those that this model gives.
    pub fn gives(&self, set: &EmbeddingSet) -> bool {
        let read = self.embedder.reading();
        gives(set, &self.sha256, &self.tokenizer_sha256, &read)
    }
}

/// A graph with the files its weights lie in, and the hash that names them.
fn weights(graph: &Path) -> Result<(ModelFile, String), LabError> {
    let mut bytes = read(graph)?;
    let mut apart = Apart::default();
    apart.push(&bytes);
    let mut parts = vec![(name_of(graph), bytes.len())];
    let mut hashes = vec![hash::sha256_hex(&bytes)];
    for name in apart.finish() {
        let beside = graph.with_file_name(last(&name));
        let is_known = parts.iter().any(|(known, _)| *known == name_of(&beside));
        if is_known {
            continue;
        }
        let data = fs::read(&beside).map_err(|error| {
            LabError::Refused(format!(
                "{}: its weights are in the file {name}, which cannot be read ({error}): it has to lie beside the ONNX file",
                graph.display()
            ))
        })?;
        hashes.push(hash::sha256_hex(&data));
        parts.push((name_of(&beside), data.len()));
        bytes.extend(data);
    }
    let file = ModelFile::of_parts(bytes, parts).expect("the sizes are those of the files");
    Ok((file, identity(&hashes)))
}

/// Paths of the files below `folder`, relative to where the search began, in one order everywhere.
fn list(folder: &Path, below: &str, depth: usize, out: &mut Vec<String>) -> Result<(), LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::io("read", folder))?;
    let entries: Result<Vec<_>, _> = entries.collect();
    let mut entries: Vec<PathBuf> = entries
        .map_err(LabError::io("read", folder))?
        .into_iter()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        let name = format!("{below}{}", name_of(&path));
        if !path.is_dir() {
            out.push(name);
        } else if depth > 1 {
            list(&path, &format!("{name}/"), depth - 1, out)?;
        }
    }
    Ok(())
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    fs::read(path).map_err(LabError::io("read", path))
}

/// An error with its hint.
pub(super) fn refused(error: EmbedError) -> LabError {
    LabError::Refused(match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    })
}
