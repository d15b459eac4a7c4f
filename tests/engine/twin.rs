//! The native tool with models that want more than a graph: `lab dataset embed` reads a folder as the
//! site does, its vectors are onnxruntime's, and the site takes them for the model read so only.

use crate::files::{json_file, path};
use crate::model::{MODEL, cosine, file};
use iba_lab::bench::hash::sha256_hex;
use iba_lab::bench::manifest::{EmbeddingSet, Manifest};
use iba_lab::embed::registry::card::SAYING;
use iba_lab::embed::registry::kept::{Tried, gives};
use iba_lab::embed::registry::{Card, KeptFile, KeptModel, Role};
use iba_lab::embed::{Arithmetic, Embedder, ModelSpec, Pooling, VectorFile};
use iba_lab::lab::dataset::embed::embed;
use iba_lab::lab::dataset::open::Dataset;
use iba_lab::lab::model::Model;
use iba_lab::run::record::Reading;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of this test's own, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("iba-lab-twin-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let file = self.0.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn reference() -> Value {
    json_file(path("tests/data/passages_reference.json"))
}

/// IBA-Mini cut down to one persona whose history is the reference's sessions.
fn dataset(folder: &Scratch) -> Dataset {
    let mini = Dataset::open(&path("public/datasets/iba-mini")).unwrap();
    let mut manifest: Manifest = mini.manifest.clone();
    manifest.shards.truncate(1);
    manifest.embeddings.clear();
    let shard = &mut manifest.shards[0];
    let (whole, _) = mini.shard(&mini.manifest.shards[0]).unwrap();
    let mut lines = vec![
        json!({"shard": {"id": shard.id, "persona": shard.persona}}),
        json!({"persona": whole.persona}),
    ];
    let sessions = reference()["sessions"].as_array().unwrap().clone();
    for (n, session) in sessions.iter().enumerate() {
        let turns = session.as_array().unwrap().iter();
        let turns: Vec<Value> = turns
            .map(|turn| json!({"role": turn[0], "text": turn[1]}))
            .collect();
        let id = format!("s{n:04}");
        let date = format!("2025-01-0{}T08:00:00", n + 1);
        lines.push(json!({"session": {"id": id, "date": date, "turns": turns}}));
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let bytes = lines.join("\n").into_bytes();
    shard.sessions = sessions.len() as u32;
    shard.turns = sessions
        .iter()
        .map(|s| s.as_array().unwrap().len() as u32)
        .sum();
    shard.instances = 0;
    shard.file.bytes = bytes.len() as u64;
    shard.file.sha256 = sha256_hex(&bytes);
    shard.file.unpacked = None;
    shard.file.unpacked_sha256 = None;
    folder.write(&shard.file.path.clone(), &bytes);
    folder.write("manifest.json", &serde_json::to_vec(&manifest).unwrap());
    Dataset::open(&folder.0).unwrap()
}

/// A copy of a model's folder, with a prefix for passages as sentence-transformers writes it.
fn folder(name: &str, prefix: &str, scratch: &Scratch) -> PathBuf {
    for file in [
        "model.onnx",
        "model.onnx_data",
        "tokenizer.json",
        "config.json",
        "1_Pooling/config.json",
    ] {
        if let Ok(bytes) = fs::read(path("tests/data/models").join(name).join(file)) {
            scratch.write(&format!("{name}/{file}"), &bytes);
        }
    }
    if !prefix.is_empty() {
        let prompts =
            json!({"prompts": {"query": "", "passage": prefix}, "similarity_fn_name": "cosine"});
        let file = format!("{name}/config_sentence_transformers.json");
        scratch.write(&file, prompts.to_string().as_bytes());
    }
    scratch.0.join(name)
}

/// The model of a folder as a browser keeps it: read by the site's own rules, tried once.
fn kept(folder: &Path) -> KeptModel {
    let bytes = |name: &str| fs::read(folder.join(name)).ok();
    let said: Vec<_> = SAYING
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), bytes(name)?)))
        .collect();
    let card = Card::read("https://host/files/m/", &said, None);
    let wanted = [
        (Role::Graph, "model.onnx"),
        (Role::Data, "model.onnx_data"),
        (Role::Tokenizer, "tokenizer.json"),
    ];
    let files = wanted.into_iter().filter_map(|(role, name)| {
        Some(KeptFile {
            sha256: Some(sha256_hex(&bytes(name)?)),
            ..KeptFile::wanted(role, name, "", None)
        })
    });
    let model = Model::load(folder, None).unwrap();
    KeptModel {
        id: "m".into(),
        name: card.name.clone(),
        from: String::new(),
        added_ms: 0,
        spec: card.spec,
        files: files.collect(),
        hidden: None,
        tried: Some(Tried {
            dim: model.embedder.dim(),
            arithmetic: model.embedder.arithmetic(),
            fallback: None,
            read: Some(model.embedder.reading()),
        }),
        fault: None,
    }
}

/// What the site asks of a set before it uses its vectors.
fn takes(model: &KeptModel, set: &EmbeddingSet) -> bool {
    let tokenizer = model.tokenizer().and_then(|file| file.sha256.clone());
    gives(set, &model.sha256(), &tokenizer.unwrap(), model.reading())
}

#[test]
fn vectors_of_a_dataset_are_onnxruntime_s_and_fit_the_model_read_so_only() {
    let mut models: Vec<(String, KeptModel, EmbeddingSet)> = Vec::new();
    for (n, wanted) in reference()["sets"].as_array().unwrap().iter().enumerate() {
        let (name, prefix) = (
            wanted["model"].as_str().unwrap(),
            wanted["prefix"].as_str().unwrap(),
        );
        let scratch = Scratch::new(&format!("set{n}"));
        let folder = folder(name, prefix, &scratch);
        let data = Scratch::new(&format!("data{n}"));
        let set = embed(dataset(&data), &folder, None).unwrap();
        assert_eq!((set.model.as_str(), set.dim), (name, 32));
        let again = Dataset::open(&data.0).unwrap();
        assert!(again.warnings.is_empty(), "{:?}", again.warnings);
        assert_eq!(
            again.manifest.embeddings.as_slice(),
            std::slice::from_ref(&set),
            "the manifest says how they were made"
        );
        let made = set.files.values().next().unwrap();
        let made = VectorFile::decode(&fs::read(data.0.join(&made.path)).unwrap()).unwrap();
        let vectors: Vec<Vec<f32>> = serde_json::from_value(wanted["vectors"].clone()).unwrap();
        assert_eq!(made.spans.len(), vectors.len());
        for (row, wanted) in vectors.iter().enumerate() {
            let found = cosine(&made.vector(row), wanted);
            assert!(
                found > 0.999,
                "{name} after “{prefix}”, passage {row}: {found}"
            );
        }
        models.push((format!("{name} “{prefix}”"), kept(&folder), set));
    }
    for (n, (name, model, _)) in models.iter().enumerate() {
        for (m, (other, _, set)) in models.iter().enumerate() {
            assert_eq!(takes(model, set), n == m, "{name} takes vectors of {other}");
        }
    }
}

#[test]
fn a_visitor_s_correction_makes_shipped_vectors_unfit() {
    let scratch = Scratch::new("correction");
    let folder = folder("xlmr-int8", "", &scratch);
    let data = Scratch::new("correction-data");
    let set = embed(dataset(&data), &folder, None).unwrap();
    let model = kept(&folder);
    assert!(takes(&model, &set));
    let read = |change: fn(&mut ModelSpec)| {
        let mut model = model.clone();
        change(model.tried.as_mut().unwrap().read.as_mut().unwrap());
        model
    };
    assert!(!takes(
        &read(|spec| spec.pooling = Some(Pooling::Mean)),
        &set
    ));
    assert!(!takes(&read(|spec| spec.max_tokens = 64), &set));
    assert!(!takes(&read(|spec| spec.passage_prefix = "p".into()), &set));
    assert!(takes(&read(|spec| spec.query_prefix = "q".into()), &set));
}

#[test]
fn a_folder_without_what_is_needed_is_refused_in_words() {
    let refused = |folder: &Path| Model::load(folder, None).err().unwrap().to_string();
    let scratch = Scratch::new("lacks");
    scratch.write("bare/config.json", b"{}");
    assert!(refused(&scratch.0.join("bare")).contains("no ONNX file in it"));
    let bare = folder("ext", "", &scratch);
    fs::remove_file(bare.join("model.onnx_data")).unwrap();
    assert!(refused(&bare).contains("in the file model.onnx_data, which cannot be read"));
    fs::remove_file(bare.join("tokenizer.json")).unwrap();
    assert!(refused(&bare).contains("no tokenizer.json"));
    scratch.write(
        "ext/config.json",
        br#"{"architectures":["LlamaForCausalLM"]}"#,
    );
    scratch.write("ext/tokenizer.json", b"{}");
    assert!(refused(&bare).contains("LlamaForCausalLM"));
}

#[test]
fn the_shipped_model_and_its_dataset_stay_as_they_are() {
    let model = Model::load(&path(MODEL), None).unwrap();
    let mini = Dataset::open(&path("public/datasets/iba-mini")).unwrap();
    let [set] = &mini.manifest.embeddings[..] else {
        panic!("IBA-Mini ships vectors of one model")
    };
    assert!(model.gives(set));
    // As `model.json` says: 256 tokens, mean and unit length inside the graph.
    assert_eq!(model.embedder.reading(), ModelSpec::plain(256));
}

#[test]
fn what_the_graph_decides_is_what_a_record_says() {
    // The graph pools by the mean, makes unit vectors, and has 512 positions, whatever is asked.
    let asked = ModelSpec {
        max_tokens: 9999,
        pooling: Some(Pooling::Cls),
        normalise: false,
        ..ModelSpec::plain(0)
    };
    for arithmetic in [Arithmetic::Int8, Arithmetic::Float32] {
        let [onnx, tokenizer] =
            ["model_int8.onnx", "tokenizer.json"].map(|name| file(&format!("{MODEL}/{name}")));
        let spec = asked.clone().with(arithmetic);
        let read = Embedder::load(onnx, &tokenizer, spec).unwrap().reading();
        assert_eq!(
            (read.pooling, read.normalise),
            (None, true),
            "{arithmetic:?}"
        );
        assert_eq!(read.arithmetic, arithmetic);
        if arithmetic == Arithmetic::Int8 {
            assert_eq!(read.max_tokens, 512);
        }
        let told = Reading::of(&read, 384);
        assert_eq!(
            (told.pooling.as_str(), told.normalised),
            ("in the graph", true)
        );
    }
    let tiny = kept(&path("tests/data/models/xlmr-int8"));
    let told = Reading::of(tiny.reading(), 32);
    assert_eq!((told.pooling.as_str(), told.max_tokens), ("cls", Some(128)));
}
