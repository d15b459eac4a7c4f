//! `lab dataset index`: the graph it writes is the one that the site takes, and no other.

use iba_lab::bench::limits::FileKind;
use iba_lab::bench::manifest::EmbeddingSet;
use iba_lab::embed::VectorFile;
use iba_lab::lab::dataset::graph::index;
use iba_lab::lab::dataset::open::Dataset;
use iba_lab::search::{Exact, GraphError, Hnsw, HnswParams, Index, recall};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// IBA-Mini in a folder of its own, with the vectors of two shards only.
fn copy(name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("public/datasets/iba-mini");
    let to = std::env::temp_dir().join(format!("iba-lab-index-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&to);
    let mut manifest = Dataset::open(&from).unwrap().manifest;
    let kept: Vec<String> = manifest.embeddings[0]
        .files
        .keys()
        .take(2)
        .cloned()
        .collect();
    manifest.embeddings[0]
        .files
        .retain(|id, _| kept.contains(id));
    manifest.embeddings[0].graph = None;
    for (_, file) in manifest.files() {
        let place = to.join(&file.path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(from.join(&file.path), place).unwrap();
    }
    let manifest = serde_json::to_vec(&manifest).unwrap();
    fs::write(to.join("manifest.json"), manifest).unwrap();
    to
}

fn set(folder: &Path) -> (Dataset, EmbeddingSet) {
    let dataset = Dataset::open(folder).unwrap();
    let set = dataset.manifest.embeddings[0].clone();
    (dataset, set)
}

#[test]
fn a_graph_written_once_is_found_sound_and_searched() {
    let folder = copy("whole");
    let params = HnswParams {
        ef_construction: 60,
        seed: 7,
        ..HnswParams::default()
    };
    let told = index(Dataset::open(&folder).unwrap(), None, params).unwrap();
    assert!(
        told.starts_with("vectors/all-minilm-l6-v2/graph.bin: "),
        "{told}"
    );
    let (dataset, set) = set(&folder);
    let (findings, warnings) = dataset.validate();
    assert!(
        findings.is_empty() && warnings.is_empty(),
        "{findings:?} {warnings:?}"
    );
    let graph = dataset.graph(&set).unwrap().expect("it has a graph now");
    assert_eq!((graph.params.ef_construction, graph.params.seed), (60, 7));

    let rows = Arc::new(dataset.rows(&set).unwrap());
    assert_eq!(graph.len(), rows.len());
    let file = set.graph.as_ref().unwrap();
    let bytes = dataset.bytes(FileKind::Graph, file).unwrap();
    let loaded = Hnsw::load(Arc::clone(&rows), (&bytes, &set.vectors_sha256()), 100).unwrap();
    let exact = Exact::over(Arc::clone(&rows));
    let shard = set.files.values().next().unwrap();
    let vectors = VectorFile::decode(&dataset.bytes(FileKind::Vectors, shard).unwrap()).unwrap();
    let ask = |index: &dyn Index| -> Vec<Vec<(u32, f32)>> {
        (0..vectors.scales.len())
            .step_by(7)
            .map(|row| index.search(&vectors.vector(row), 10))
            .collect()
    };
    let met = recall(&ask(&exact), &ask(&loaded));
    assert!(met > 0.999, "recall {met}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_graph_of_other_vectors_or_a_damaged_one_is_refused_by_name() {
    let folder = copy("foreign");
    index(Dataset::open(&folder).unwrap(), None, HnswParams::default()).unwrap();
    let (dataset, mut set) = set(&folder);
    let graph = set.graph.clone().unwrap();
    let path = folder.join(&graph.path);
    let bytes = fs::read(&path).unwrap();
    // As if the dataset had been embedded anew since.
    let rows = Arc::new(dataset.rows(&set).unwrap());
    set.files.values_mut().next().unwrap().sha256 = "0".repeat(64);
    let refused = Hnsw::load(rows, (&bytes, &set.vectors_sha256()), 100);
    assert_eq!(refused.err(), Some(GraphError::Foreign));

    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let (findings, _) = Dataset::open(&folder).unwrap().validate();
    let about: Vec<_> = findings.iter().filter(|f| f.file == graph.path).collect();
    assert!(!about.is_empty(), "{findings:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_dataset_without_vectors_says_what_to_do_first() {
    let folder = copy("bare");
    let mut dataset = Dataset::open(&folder).unwrap();
    let other = index(
        Dataset::open(&folder).unwrap(),
        Some("mpnet"),
        HnswParams::default(),
    );
    let error = other.unwrap_err().to_string();
    assert!(error.contains("no vectors of mpnet"), "{error}");
    dataset.manifest.embeddings.clear();
    let error = index(dataset, None, HnswParams::default()).unwrap_err();
    assert!(error.to_string().contains("lab dataset embed"), "{error}");
    fs::remove_dir_all(folder).unwrap();
}
