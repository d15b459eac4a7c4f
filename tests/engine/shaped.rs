//! Small models of other shapes than the shipped one, made by `tests/python/shaped_model.py`, against
//! the vectors that onnxruntime gives for the same files.

use iba_lab::embed::{Arithmetic, Embedder, ModelFile, ModelSpec, Pooling};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/models")
        .join(name)
}

fn read(name: &str, file: &str) -> Vec<u8> {
    std::fs::read(folder(name).join(file)).expect("the file is in the repository")
}

fn file(name: &str) -> ModelFile {
    let mut bytes = read(name, "model.onnx");
    let mut parts = vec![("model.onnx".to_owned(), bytes.len())];
    if folder(name).join("model.onnx_data").exists() {
        let data = read(name, "model.onnx_data");
        parts.push(("model.onnx_data".to_owned(), data.len()));
        bytes.extend(data);
    }
    ModelFile::of_parts(bytes, parts).expect("the sizes are those of the files")
}

fn spec(name: &str) -> ModelSpec {
    let pooling = if name == "bert" {
        Pooling::Mean
    } else {
        Pooling::Cls
    };
    ModelSpec {
        pooling: Some(pooling),
        ..ModelSpec::plain(128)
    }
}

fn load(name: &str, arithmetic: Arithmetic) -> Embedder {
    let spec = spec(name).with(arithmetic);
    Embedder::load(file(name), &read(name, "tokenizer.json"), spec).expect(name)
}

fn worst(name: &str, arithmetic: Arithmetic) -> f32 {
    let embedder = load(name, arithmetic);
    let reference: Value = serde_json::from_slice(&read(name, "reference.json")).expect("JSON");
    let rows = reference["rows"].as_array().expect("rows");
    let mut worst = 1f32;
    for row in rows {
        let text = row["text"].as_str().expect("a text");
        let ids: Vec<u32> = serde_json::from_value(row["ids"].clone()).expect("ids");
        let wanted: Vec<f32> = serde_json::from_value(row["vector"].clone()).expect("numbers");
        let encoded = embedder.tokenizer().encode(text, 128).expect("tokens");
        assert_eq!(encoded.ids, ids, "{name}: {text:?}");
        let found = embedder.embed(text).expect("a vector").vector;
        let cosine: f32 = found.iter().zip(&wanted).map(|(a, b)| a * b).sum();
        worst = worst.min(cosine);
    }
    worst
}

#[test]
fn the_fast_encoder_knows_these_shapes_and_agrees_with_onnxruntime() {
    for (name, least) in [
        ("xlmr-int8", 0.999), // the same weights
        ("ext", 0.999),       // in a file of their own
        ("bert", 0.999),      // segments as an input
        // onnxruntime rounds activations to eight bits, this encoder by other steps.
        ("xlmr-dynamic", 0.99),
        ("uint", 0.99),
    ] {
        let embedder = load(name, Arithmetic::Int8);
        assert_eq!(
            embedder.arithmetic(),
            Arithmetic::Int8,
            "{name}: {:?}",
            embedder.fallback()
        );
        assert_eq!(embedder.dim(), 32);
        let worst = worst(name, Arithmetic::Int8);
        assert!(worst > least, "{name}: cosine {worst}");
    }
}

#[test]
fn the_general_engine_reads_weights_that_lie_apart() {
    let worst = worst("ext", Arithmetic::Float32);
    assert!(worst > 0.9999, "cosine {worst}");
}

#[test]
fn what_is_no_embedding_model_is_told_by_what_it_is() {
    let tokenizer = read("ext", "tokenizer.json");
    let refused = |file: ModelFile, tokenizer: &[u8]| {
        let error = Embedder::load(file, tokenizer, spec("ext"))
            .err()
            .expect("refused");
        error.to_string()
    };
    let alone: ModelFile = read("ext", "model.onnx").into();
    let said = refused(alone, &tokenizer);
    assert!(said.contains("model.onnx_data, which is missing"), "{said}");

    let (graph, data) = (read("ext", "model.onnx"), read("ext", "model.onnx_data"));
    let cut = &data[..data.len() / 2];
    let parts = vec![
        ("model.onnx".to_owned(), graph.len()),
        ("model.onnx_data".to_owned(), cut.len()),
    ];
    let file = ModelFile::of_parts([graph, cut.to_vec()].concat(), parts).expect("sizes");
    let said = refused(file, &tokenizer);
    assert!(said.contains("it is cut or of another model"), "{said}");

    let mut other: Value = serde_json::from_slice(&tokenizer).expect("JSON");
    let vocabulary = other["model"]["vocab"].as_array_mut().expect("entries");
    vocabulary.extend((0..400).map(|n| serde_json::json!([format!("word{n}"), -9.0])));
    let said = refused(file_of("xlmr-int8"), other.to_string().as_bytes());
    assert!(said.contains("vocabulary has 320 tokens"), "{said}");

    // The name of an input or output, in place, of the same length.
    for (from, to, said) in [
        ("attention_mask", "past_key_value", "decoder"),
        ("last_hidden_state", "logits", "logits"),
    ] {
        let renamed = renamed(&read("xlmr-int8", "model.onnx"), from, to);
        let told = refused(renamed.into(), &read("xlmr-int8", "tokenizer.json"));
        assert!(told.contains(said), "{told}");
    }
}

fn file_of(name: &str) -> ModelFile {
    file(name)
}

/// The file with a name in it changed; names are padded, so that no length has to follow.
fn renamed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let length = from.len();
    let new: Vec<u8> = to
        .bytes()
        .chain(std::iter::repeat(b'_'))
        .take(length)
        .collect();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at + length <= out.len() {
        if &out[at..at + length] == from.as_bytes() {
            out[at..at + length].copy_from_slice(&new);
        }
        at += 1;
    }
    out
}
