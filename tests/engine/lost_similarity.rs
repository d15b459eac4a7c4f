//! How far similarity can be trusted when it follows a wish through the later stages: measured on
//! IBA-Mini with the shipped embedding model, against what its author wrote.

use crate::files::{path, sources};
use iba_lab::embed::{Embedder, ModelSpec};
use iba_lab::run::lost::links::SIMILAR;

/// A preference, and the requirement the author derived from it: the same wish in other words.
struct Pair {
    preference: Vec<f32>,
    requirement: Vec<f32>,
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum()
}

fn pairs(embedder: &Embedder) -> Vec<Vec<Pair>> {
    let embed = |text: &str| embedder.embed(text).unwrap().vector;
    let of_instance = |source: &serde_json::Value| {
        let requirements = source["requirements"].as_array().unwrap().iter();
        let pair = |requirement: &serde_json::Value| {
            let preferences = source["preferences"].as_array().unwrap();
            let of_it = |p: &&serde_json::Value| p["id"] == requirement["preference"];
            let preference = preferences.iter().find(of_it).unwrap();
            Pair {
                preference: embed(preference["text"].as_str().unwrap()),
                requirement: embed(requirement["text"].as_str().unwrap()),
            }
        };
        requirements.map(pair).collect()
    };
    // Every fifth instance: enough to measure, quick enough for every run of the tests.
    sources("instances")
        .values()
        .step_by(5)
        .map(of_instance)
        .collect()
}

#[test]
fn similarity_finds_most_wishes_and_takes_few_others_for_them() {
    let folder = path("public/models/all-minilm-l6-v2");
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let embedder = Embedder::load(
        read("model_int8.onnx"),
        &read("tokenizer.json"),
        ModelSpec::plain(256),
    )
    .unwrap();
    let (mut same, mut other) = (Vec::new(), Vec::new());
    for instance in pairs(&embedder) {
        for (n, pair) in instance.iter().enumerate() {
            same.push(cosine(&pair.preference, &pair.requirement));
            let others = instance.iter().enumerate().filter(|(m, _)| *m != n);
            other.extend(others.map(|(_, other)| cosine(&pair.preference, &other.requirement)));
        }
    }
    let share = |values: &[f64], at: f64| {
        values.iter().filter(|v| **v >= at).count() as f64 / values.len() as f64
    };
    for at in [0.3, 0.35, 0.4, 0.45, 0.5, 0.55] {
        println!(
            "{at}: {:.3} of {} same, {:.3} of {} other",
            share(&same, at),
            same.len(),
            share(&other, at),
            other.len()
        );
    }
    assert!(share(&same, SIMILAR) >= 0.75, "{}", share(&same, SIMILAR));
    assert!(share(&other, SIMILAR) <= 0.08, "{}", share(&other, SIMILAR));
}
