//! Nothing hidden reaches a system: neither through types nor through text.

use crate::support::{obliging, path, sessions, sources, visible};
use futures::executor::block_on;
use iba_lab::agent::embedded::EmbeddedMind;
use iba_lab::agent::llm_mind::LlmMind;
use iba_lab::agent::pipeline::{Job, run};
use iba_lab::agent::trace::System;
use iba_lab::bench::visible::{Instance, Session};
use iba_lab::prompts;
use iba_lab::run::fake::FakeEnv;
use iba_lab::run::record::Params;
use serde_json::Value;
use std::path::Path;

/// Shorter strings are words of the language rather than secrets.
const SHORTEST: usize = 12;

/// Lower case, white space as single spaces: so that wrapping does not hide a leak.
fn plain(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(plain(text)),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, out)),
        _ => {}
    }
}

/// Every string of the hidden half: preferences, requirements with their checks and accepted
/// values, evidence links, questions and answers, the sample, the persona, the dimensions; and
/// each list of accepted values as one string.
fn secrets(source: &Value, scenario: &Value, persona: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for field in [
        "preferences",
        "requirements",
        "api_reference",
        "qa",
        "sample",
    ] {
        strings(&source[field], &mut out);
    }
    for evidence in source["evidence"].as_array().unwrap() {
        strings(&evidence["reveals"], &mut out);
    }
    strings(&scenario["dimensions"], &mut out);
    for field in ["background", "traits", "states", "roles", "summary"] {
        strings(&persona[field], &mut out);
    }
    if let Some(reference) = source["api_reference"].as_object() {
        out.extend(
            reference
                .values()
                .map(|slot| plain(&slot["accept"].to_string())),
        );
    }
    out.retain(|secret| secret.chars().count() >= SHORTEST);
    out
}

/// What anybody may see: task, scenario name, API template (its options also in words, `soft_food`
/// as "soft food"), history, our own prompt templates.
fn public(instance: &Instance, history: &[Session]) -> String {
    let mut out = vec![instance.task.text(), instance.scenario_name.clone()];
    let api = instance
        .api
        .as_ref()
        .map(prompts::quote::api)
        .unwrap_or_default();
    out.push(api.replace('_', " "));
    out.push(api);
    out.extend(history.iter().map(Session::render));
    out.extend(prompts::all().iter().map(|prompt| prompt.text.to_owned()));
    plain(&out.join("\n"))
}

/// Two public words side by side, `mexican` from the API's options and `food` from the scenario's
/// name: no secret, and a system may come to it by itself.
fn is_put_together(secret: &str, public: &str) -> bool {
    let words: Vec<&str> = secret.split(' ').collect();
    words.len() == 2 && words.iter().all(|word| public.contains(word))
}

fn said_by(system: System, instance: &Instance, history: &[Session]) -> String {
    let env = FakeEnv::with_sessions(history).answering(obliging);
    let llm = LlmMind {
        model: "m".to_owned(),
        base_url: String::new(),
    };
    let params = Params::default();
    let job = Job::new(system, instance, &params);
    let with_model = block_on(run(&env, &llm, &job));
    let without = block_on(run(&env, &EmbeddedMind, &job));
    assert!(
        with_model.output.is_ok() && without.output.is_ok(),
        "{}",
        instance.id
    );
    plain(&env.everything_said())
}

#[test]
fn no_hidden_string_reaches_a_model_or_the_retriever() {
    let (instances, scenarios, personas) = (
        sources("instances"),
        sources("scenarios"),
        sources("personas"),
    );
    assert_eq!(instances.len(), 110);
    let (mut checked, mut also_public) = (0, 0);
    for source in instances.values() {
        let scenario = &scenarios[source["scenario"].as_str().unwrap()];
        let instance = visible(source, scenario);
        let own = instances
            .values()
            .filter(|other| other["persona"] == source["persona"]);
        let history = sessions(own);
        let public = public(&instance, &history);
        let secrets = secrets(source, scenario, &personas[instance.persona.as_str()]);
        for system in [
            System::IbaAgent,
            System::WoBtDa,
            System::WoSynthesis,
            System::StandardRag,
        ] {
            let said = said_by(system, &instance, &history);
            assert!(
                said.contains(&plain(&instance.task.instruction)),
                "the run asked nothing"
            );
            for secret in &secrets {
                if public.contains(secret) || is_put_together(secret, &public) {
                    also_public += 1;
                    continue;
                }
                checked += 1;
                assert!(
                    !said.contains(secret),
                    "{}: {system:?} let out: {secret}",
                    instance.id
                );
            }
        }
    }
    assert!(
        checked > 10 * also_public,
        "{checked} strings were secret, {also_public} public"
    );
}

#[test]
fn a_leak_would_be_noticed() {
    let instances = sources("instances");
    let source = &instances["food_ordering-a"];
    let scenario = &sources("scenarios")["food_ordering"];
    let secret = plain(source["preferences"][0]["text"].as_str().unwrap());
    let mut instance = visible(source, scenario);
    instance
        .task
        .content
        .push_str(source["preferences"][0]["text"].as_str().unwrap());
    let said = said_by(
        System::StandardRag,
        &instance,
        &sessions(std::iter::once(source)),
    );
    assert!(said.contains(&secret));
}

fn rust_files(dir: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Names by which agent code could reach the hidden half or the judge.
const FORBIDDEN: [&str; 4] = ["hidden", "judge", "Requirement", "HiddenInstance"];

#[test]
fn the_agents_code_cannot_name_the_hidden_half() {
    let mut files = Vec::new();
    rust_files(&path("src/agent"), &mut files);
    assert!(files.len() > 10);
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        for (number, line) in source.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            let words: Vec<&str> = code
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .collect();
            let named = FORBIDDEN.iter().find(|name| words.contains(name));
            assert!(
                named.is_none(),
                "{}:{}: {}",
                file.display(),
                number + 1,
                line.trim()
            );
            let glob = code.contains("bench::*") || code.contains("crate::*");
            assert!(
                !glob,
                "{}:{}: a glob import could bring in anything",
                file.display(),
                number + 1
            );
        }
    }
}
