//! Retrieval on IBA-Mini: the shipped vectors against the model, and the evidence found against
//! another implementation (`tests/python/retrieval_reference.py`).

use crate::model::{EMBEDDER, cosine, file};
use flate2::read::MultiGzDecoder;
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::manifest::{Manifest, ShardRef};
use iba_lab::bench::visible::{Instance, Session};
use iba_lab::embed::{Chunking, Passage, VectorFile, chunk_sessions, passages};
use iba_lab::search::lexical::fuse;
use iba_lab::search::{Exact, Index, Lexical};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

const DATASET: &str = "public/datasets/iba-mini";
/// Scores closer than this count as equal: the shipped rows are bytes, the reference is floats.
const TIE: f32 = 1e-3;

fn manifest() -> Manifest {
    serde_json::from_slice(&file(&format!("{DATASET}/manifest.json")))
        .expect("the manifest is sound")
}

/// A shard as the test needs it.
struct Shard {
    sessions: Vec<Session>,
    instances: Vec<(Instance, HiddenInstance)>,
    passages: Vec<Passage>,
    vectors: VectorFile,
}

/// Reads the lines without the library's reader: each is an object with one field, its kind.
fn shard(manifest: &Manifest, shard: &ShardRef) -> Shard {
    let mut text = String::new();
    let packed = file(&format!("{DATASET}/{}", shard.file.path));
    MultiGzDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .expect("the shard unpacks");
    let lines: Vec<BTreeMap<String, Value>> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is an object"))
        .collect();
    let sessions: Vec<Session> = of_kind(&lines, "session");
    let mut hidden: Vec<HiddenInstance> = of_kind(&lines, "hidden");
    let mut half = |one: &Instance| {
        let at = hidden
            .iter()
            .position(|half| half.id == one.id)
            .expect("both halves are there");
        hidden.swap_remove(at)
    };
    let visible: Vec<Instance> = of_kind(&lines, "instance");
    let instances = visible
        .into_iter()
        .map(|one| (one.clone(), half(&one)))
        .collect();
    let path = &manifest.embeddings[0].files[&shard.id].path;
    let vectors =
        VectorFile::decode(&file(&format!("{DATASET}/{path}"))).expect("the vector file is sound");
    let passages = passages(&sessions, &vectors.spans).expect("the spans fit the sessions");
    Shard {
        sessions,
        instances,
        passages,
        vectors,
    }
}

fn of_kind<T: serde::de::DeserializeOwned>(
    lines: &[BTreeMap<String, Value>],
    kind: &str,
) -> Vec<T> {
    let found = lines.iter().filter_map(|line| line.get(kind));
    found
        .map(|value| serde_json::from_value(value.clone()).expect("the record is sound"))
        .collect()
}

/// All shards with their names.
fn shards() -> Vec<(String, Shard)> {
    let manifest = manifest();
    manifest
        .shards
        .iter()
        .map(|one| (one.id.clone(), shard(&manifest, one)))
        .collect()
}

#[test]
fn shipped_vectors_are_what_the_model_makes() {
    let shards = shards();
    let all: Vec<_> = shards
        .iter()
        .flat_map(|(_, s)| (0..s.passages.len()).map(move |row| (s, row)))
        .collect();
    for (shard, row) in all.iter().step_by(all.len() / 40) {
        let passage = &shard.passages[*row];
        let made = EMBEDDER.embed(&passage.text).unwrap().vector;
        let agreement = cosine(&made, &shard.vectors.vector(*row));
        assert!(agreement >= 0.999, "{agreement} for {}", passage.id.0);
    }
}

#[test]
fn shipped_chunks_are_what_the_chunker_cuts() {
    let set = &manifest().embeddings[0];
    let chunking = Chunking {
        tokens: set.chunk_tokens,
        overlap: set.chunk_overlap,
        ..Chunking::default()
    };
    assert_eq!(chunking, Chunking::default());
    for (id, shard) in shards() {
        let cut = chunk_sessions(EMBEDDER.tokenizer(), &shard.sessions, chunking).unwrap();
        assert_eq!(cut, shard.vectors.spans, "{id}");
    }
}

#[derive(Deserialize)]
struct Reference {
    shards_sha256: String,
    chunks: usize,
    instances: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    instance: String,
    evidence: Vec<String>,
    found_at_3: BTreeSet<String>,
    found_at_10: BTreeSet<String>,
}

fn reference() -> Reference {
    serde_json::from_slice(&file("tests/data/retrieval_reference.json"))
        .expect("the reference is JSON")
}

/// Best score of each session, and the sessions among the `k` nearest passages.
struct Ranking<'a> {
    hits: Vec<(&'a str, f32)>,
}

impl Ranking<'_> {
    fn top(&self, k: usize) -> BTreeSet<&str> {
        self.hits.iter().take(k).map(|hit| hit.0).collect()
    }

    /// Whether the session's best passage stands so close to rank `k` that either order is right.
    fn borderline(&self, session: &str, k: usize) -> bool {
        let best = self
            .hits
            .iter()
            .find(|hit| hit.0 == session)
            .map(|hit| hit.1);
        let edge = [k - 1, k].map(|rank| self.hits[rank].1);
        best.is_some_and(|best| edge.iter().any(|score| (score - best).abs() <= TIE))
    }
}

fn rank<'a>(shard: &'a Shard, index: &Exact, instance: &Instance) -> Ranking<'a> {
    let query = EMBEDDER
        .embed(&instance.task.text())
        .expect("a task can be embedded")
        .vector;
    let all = index.search(&query, shard.passages.len());
    let hit = |(row, score): (u32, f32)| (shard.passages[row as usize].session.as_str(), score);
    Ranking {
        hits: all.into_iter().map(hit).collect(),
    }
}

/// Evidence sessions within the first `k`; fails where they differ from the reference's by more
/// than a tie.
fn found(ranking: &Ranking, entry: &Entry, k: usize, expected: &BTreeSet<String>) -> usize {
    let top = ranking.top(k);
    for session in &entry.evidence {
        let agree = top.contains(session.as_str()) == expected.contains(session);
        let excused = ranking.borderline(session, k);
        assert!(
            agree || excused,
            "{}: {session} within the first {k}",
            entry.instance
        );
    }
    entry
        .evidence
        .iter()
        .filter(|session| top.contains(session.as_str()))
        .count()
}

#[test]
fn the_same_evidence_is_found_as_by_the_reference() {
    let reference = reference();
    let hashes: String = manifest()
        .shards
        .iter()
        .map(|shard| shard.file.sha256.as_str())
        .collect();
    let hash = format!("{:x}", Sha256::digest(hashes));
    assert_eq!(
        hash, reference.shards_sha256,
        "run tests/python/retrieval_reference.py again"
    );
    let shards = shards();
    assert_eq!(
        shards
            .iter()
            .map(|(_, shard)| shard.passages.len())
            .sum::<usize>(),
        reference.chunks
    );
    let (mut at_3, mut at_10, mut total, mut seen) = (0, 0, 0, 0);
    for (_, shard) in &shards {
        let vectors = &shard.vectors;
        let index = Exact::new(
            vectors.dim as usize,
            vectors.scales.clone(),
            vectors.rows.clone(),
        );
        for (instance, hidden) in &shard.instances {
            let entry = reference
                .instances
                .iter()
                .find(|entry| entry.instance == instance.id.0);
            let entry = entry.expect("the reference has every instance");
            let evidence: BTreeSet<_> = hidden
                .evidence
                .iter()
                .map(|item| item.session.as_str())
                .collect();
            assert!(
                entry.evidence.iter().map(String::as_str).eq(evidence),
                "{}",
                instance.id
            );
            let ranking = rank(shard, &index, instance);
            at_3 += found(&ranking, entry, 3, &entry.found_at_3);
            at_10 += found(&ranking, entry, 10, &entry.found_at_10);
            total += entry.evidence.len();
            seen += 1;
        }
    }
    assert_eq!(seen, reference.instances.len());
    let share = |found: usize| found as f64 / total as f64;
    println!(
        "evidence recall on {seen} instances: @3 {:.3}, @10 {:.3}",
        share(at_3),
        share(at_10)
    );
}

/// Evidence sessions found by words, and by words and vectors together.
#[test]
fn words_add_evidence_to_vectors() {
    let mut found = [[0usize; 2]; 3];
    let mut total = 0;
    for (_, shard) in shards() {
        let vectors = &shard.vectors;
        let exact = Exact::new(
            vectors.dim as usize,
            vectors.scales.clone(),
            vectors.rows.clone(),
        );
        let lexical = Lexical::new(shard.passages.iter().map(|p| p.text.as_str()));
        for (instance, hidden) in &shard.instances {
            let task = instance.task.text();
            let near = exact.search(&EMBEDDER.embed(&task).unwrap().vector, 100);
            let same = lexical.search(&task, 100);
            let both = fuse(&[near.clone(), same.clone()], 100);
            let evidence: BTreeSet<_> =
                hidden.evidence.iter().map(|e| e.session.as_str()).collect();
            total += evidence.len();
            for (found, ranking) in found.iter_mut().zip([near, same, both]) {
                for (found, k) in found.iter_mut().zip([3, 10]) {
                    let top = ranking.iter().take(k);
                    let top: BTreeSet<_> = top
                        .map(|(row, _)| shard.passages[*row as usize].session.as_str())
                        .collect();
                    *found += evidence.intersection(&top).count();
                }
            }
        }
    }
    let share = |n: usize| n as f64 / total as f64;
    for (name, [at_3, at_10]) in ["vectors", "words", "fused"].iter().zip(found) {
        println!(
            "{name}: evidence recall @3 {:.3}, @10 {:.3}",
            share(at_3),
            share(at_10)
        );
    }
    let [vectors, words, fused] = found;
    for k in 0..2 {
        assert!(
            fused[k] > vectors[k].max(words[k]),
            "each finds what the other misses"
        );
    }
}
