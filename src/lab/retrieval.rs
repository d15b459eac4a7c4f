//! `lab retrieval` and `lab embed`: what the retrievers find of the evidence, and vectors of any
//! text, by the code that runs in the browser.

use super::dataset::open::Dataset;
use super::error::LabError;
use super::model::{Model, refused};
use crate::bench::limits::FileKind;
use crate::bench::manifest::{EmbeddingSet, ShardRef};
use crate::bench::shard::Shard;
use crate::embed::{Chunking, Embedder, VectorFile, embed_sessions, passages};
use crate::search::lexical::fuse;
use crate::search::{Exact, Index, Lexical};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Hits of each retriever that are fused.
const DEEP: usize = 100;
/// Ranks at which recall is told.
const RANKS: [usize; 2] = [3, 10];
const RETRIEVERS: [&str; 3] = ["vectors", "words", "both"];

/// Vectors of texts as they are, without what the model wants before queries or passages: each line
/// of `input` a JSON string, each line of the result an array.
pub fn embed_lines(input: &str, model: &Path, max_tokens: Option<u32>) -> Result<String, LabError> {
    let model = Model::load(model, max_tokens)?;
    let mut out = Vec::new();
    for (n, line) in input
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
    {
        let text: String = serde_json::from_str(line).map_err(|error| {
            LabError::Refused(format!("line {} is no JSON string: {error}", n + 1))
        })?;
        let vector = model.embedder.embed(&text).map_err(refused)?.vector;
        out.push(serde_json::to_string(&vector).expect("numbers can be written"));
    }
    Ok(out.join("\n"))
}

/// The share of evidence sessions of which a passage is among the first 3 and 10, with the task as
/// the only query; over all evidence of a dataset. Vectors it ships are used, others are made.
pub fn evidence_recall(
    dataset: &Dataset,
    model: &Path,
    max_tokens: Option<u32>,
    chunking: Chunking,
) -> Result<String, LabError> {
    let model = Model::load(model, max_tokens)?;
    let sets = dataset.manifest.embeddings.iter();
    let mut fitting = sets.filter(|set| model.gives(set) && chunking.fits(set));
    let set = fitting.next();
    let (mut found, mut total) = ([[0usize; RANKS.len()]; RETRIEVERS.len()], 0);
    for shard in &dataset.manifest.shards {
        let (loaded, _) = dataset.shard(shard)?;
        let vectors = vectors(dataset, (set, shard), &loaded, (&model.embedder, chunking))?;
        total += add(&mut found, &loaded, vectors, &model.embedder)?;
        eprintln!("{}", shard.id);
    }
    let mut out =
        String::from("evidence recall, the task as the only query\n           @3     @10\n");
    for (name, counts) in RETRIEVERS.iter().zip(found) {
        let share = |n: usize| n as f64 / (total.max(1)) as f64;
        let _ = writeln!(
            out,
            "{name:8} {:.3}  {:.3}",
            share(counts[0]),
            share(counts[1])
        );
    }
    Ok(out.trim_end().to_owned())
}

/// Adds what each retriever finds of one shard's evidence and gives how much evidence there is.
fn add(
    found: &mut [[usize; RANKS.len()]; RETRIEVERS.len()],
    shard: &Shard,
    vectors: VectorFile,
    embedder: &Embedder,
) -> Result<usize, LabError> {
    let passages = passages(&shard.history.sessions, &vectors.spans).map_err(refused)?;
    let lexical = Lexical::new(passages.iter().map(|p| p.text.as_str()));
    let exact = Exact::new(vectors.dim as usize, vectors.scales, vectors.rows);
    let mut total = 0;
    for (instance, hidden) in &shard.instances {
        let task = instance.task.text();
        let near = exact.search(&embedder.embed_query(&task).map_err(refused)?.vector, DEEP);
        let same = lexical.search(&task, DEEP);
        let both = fuse(&[near.clone(), same.clone()], DEEP);
        let evidence: BTreeSet<_> = hidden.evidence.iter().map(|e| &e.session).collect();
        total += evidence.len();
        for (counts, hits) in found.iter_mut().zip([near, same, both]) {
            for (count, k) in counts.iter_mut().zip(RANKS) {
                let top = hits.iter().take(k);
                let top: BTreeSet<_> = top
                    .map(|(row, _)| &passages[*row as usize].session)
                    .collect();
                *count += evidence.intersection(&top).count();
            }
        }
    }
    Ok(total)
}

fn vectors(
    dataset: &Dataset,
    (set, shard): (Option<&EmbeddingSet>, &ShardRef),
    loaded: &Shard,
    (embedder, chunking): (&Embedder, Chunking),
) -> Result<VectorFile, LabError> {
    match set.and_then(|set| set.files.get(&shard.id)) {
        Some(file) => {
            let bytes = dataset.bytes(FileKind::Vectors, file)?;
            VectorFile::decode(&bytes).map_err(refused)
        }
        None => {
            let sessions = &loaded.history.sessions;
            embed_sessions(embedder, sessions, chunking, &|_, _| {}).map_err(refused)
        }
    }
}
