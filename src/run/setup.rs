//! Runs that may stand in one mean, and the words that tell such groups apart.

use crate::prompts;
use crate::run::record::{ModelRef, Params, RetrieverRef, RunRecord};
use crate::words::numbered;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Runs by set-up, in the order of their first runs.
pub fn setups<'a>(records: impl IntoIterator<Item = &'a RunRecord>) -> Vec<Vec<&'a RunRecord>> {
    grouped(records, RunRecord::same_setup)
}

/// Runs by what `same` says of them.
pub fn grouped<'a>(
    records: impl IntoIterator<Item = &'a RunRecord>,
    same: impl Fn(&RunRecord, &RunRecord) -> bool,
) -> Vec<Vec<&'a RunRecord>> {
    let mut groups: Vec<Vec<&RunRecord>> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|group| same(group[0], record)) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

/// What is special about a set-up beyond system, model and judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// `name = value` of every parameter that is not as published.
    pub params: Vec<String>,
    /// How passages were found; empty where outputs were given.
    pub retriever: String,
    /// Edited prompts, each with the beginning of its hash.
    pub prompts: Vec<String>,
    /// Host of the model and data set, where runs beside it have others.
    pub apart: Vec<String>,
    /// Whether runs beside it have another retriever.
    pub retrievers_differ: bool,
}

impl Details {
    /// Of a run among others that stand beside it.
    pub fn of(record: &RunRecord, among: &[&RunRecord]) -> Self {
        let given = record.system.is_given();
        let retriever = |of: &RunRecord| retriever(&of.retriever);
        let finds = || among.iter().filter(|other| !other.system.is_given());
        Self {
            params: if given {
                Vec::new()
            } else {
                params(&record.params)
            },
            retriever: if given {
                String::new()
            } else {
                retriever(record)
            },
            prompts: edited(record),
            apart: apart(record, among),
            retrievers_differ: !given && finds().any(|other| retriever(other) != retriever(record)),
        }
    }

    /// All of it, for tables.
    pub fn all(&self) -> Vec<String> {
        let retriever = (!self.retriever.is_empty()).then(|| self.found_by());
        self.parts(retriever)
    }

    /// What is needed to tell it from those beside it, for legends and menus.
    pub fn short(&self) -> Vec<String> {
        let retriever = self.retrievers_differ.then(|| self.found_by());
        self.parts(retriever)
    }

    fn found_by(&self) -> String {
        format!("retriever {}", self.retriever)
    }

    fn parts(&self, retriever: Option<String>) -> Vec<String> {
        let prompts = self.prompts.iter().map(|edit| format!("prompt {edit}"));
        let fixed = self.params.iter().cloned().chain(prompts);
        let others = self.apart.iter().cloned();
        fixed.chain(retriever).chain(others).collect()
    }
}

/// Parameters that are not as published, under their names in result files.
fn params(params: &Params) -> Vec<String> {
    let fields = |params: &Params| match serde_json::to_value(params) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let published = fields(&Params::default());
    let differs = |(name, value): &(String, Value)| published.get(name) != Some(value);
    let words = |(name, value): (String, Value)| match value {
        Value::String(text) => format!("{name} = {text}"),
        other => match other.as_f64().filter(|number| number.fract() == 0.0) {
            Some(whole) => format!("{name} = {whole:.0}"),
            None => format!("{name} = {other}"),
        },
    };
    fields(params)
        .into_iter()
        .filter(differs)
        .map(words)
        .collect()
}

fn retriever(retriever: &RetrieverRef) -> String {
    let mut words = retriever.model.clone();
    if retriever.method != "exact" && !retriever.method.is_empty() {
        let _ = write!(words, ", {}", retriever.method);
    }
    if let Some(address) = &retriever.base_url {
        let _ = write!(words, " at {}", host(address));
    }
    words
}

fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

fn edited(record: &RunRecord) -> Vec<String> {
    let edits = &record.variant.edits;
    let words = |id: &str| format!("{id} {}", short(&prompts::hash_of(id, edits)));
    edits.ids().map(words).collect()
}

fn apart(record: &RunRecord, among: &[&RunRecord]) -> Vec<String> {
    let mut out = Vec::new();
    if let ModelRef::Endpoint { base_url, model } = &record.agent {
        let elsewhere = |other: &&&RunRecord| {
            matches!(&other.agent, ModelRef::Endpoint { base_url: theirs, model: same }
                if same == model && theirs != base_url)
        };
        if among.iter().any(|other| elsewhere(&other)) {
            out.push(format!("at {}", host(base_url)));
        }
    }
    let dataset = &record.dataset;
    let named: BTreeSet<&str> = among.iter().map(|r| r.dataset.name.as_str()).collect();
    let versions = |other: &&&RunRecord| {
        other.dataset.name == dataset.name && other.dataset.sha256 != dataset.sha256
    };
    match among.iter().find(|other| versions(other)) {
        Some(_) => out.push(format!("data {} {}", dataset.name, short(&dataset.sha256))),
        None if named.len() > 1 => out.push(format!("data {}", dataset.name)),
        None => {}
    }
    out
}

/// Names of set-ups by their first runs, no two alike. `system` names the system of a run.
pub fn names(firsts: &[&RunRecord], system: impl Fn(&RunRecord) -> String) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for record in firsts {
        let details = Details::of(record, firsts).short();
        let parts = [system(record), record.agent.label()]
            .into_iter()
            .chain(details);
        let name = parts.collect::<Vec<_>>().join(" · ");
        names.push(numbered(name, &names));
    }
    names
}

/// What a set-up is called in addresses: the same from one visit to the next, whatever stands
/// beside it.
pub fn key(record: &RunRecord) -> String {
    let (agent, dataset) = (&record.agent, &record.dataset);
    let retriever = &record.retriever;
    let found = (&retriever.model, &retriever.model_sha256, &retriever.method);
    let found = (!record.system.is_given()).then_some((found, &retriever.base_url, &record.params));
    let variant = (record.variant.mode, &record.variant.edits);
    let all = serde_json::to_string(&(record.system, agent, dataset, found, variant));
    let hash = Sha256::digest(all.unwrap_or_default());
    let hash: String = hash
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{} · {hash}", label(record))
}

/// System and model.
pub fn label(record: &RunRecord) -> String {
    format!("{} · {}", record.system_label(), record.agent.label())
}

/// Runs of the set-up that an address names: by its key, or by system and model alone, which means
/// the first set-up of that label.
pub fn of_key<'a>(groups: &'a [Vec<&'a RunRecord>], of: &str) -> Option<&'a [&'a RunRecord]> {
    let by = |name: fn(&RunRecord) -> String| groups.iter().find(|group| name(group[0]) == of);
    by(key).or_else(|| by(label)).map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(params: Value, retriever: &str, url: &str, edits: Value) -> RunRecord {
        serde_json::from_value(json!({
            "id": "x", "instance": "i", "persona": "p", "scenario": "s", "domain": "d",
            "action": "generate_text", "task": "t", "system": "iba_agent", "epoch": 1,
            "params": params, "agent": {"kind": "endpoint", "base_url": url, "model": "m"},
            "variant": {"edits": edits},
            "dataset": {"name": "n", "sha256": "0123456789"},
            "retriever": {"model": retriever, "model_sha256": "", "method": "exact"},
            "stages": [], "output": null, "requirements": [], "judgements": [],
            "status": {"state": "done"}, "started_ms": 0.0, "ended_ms": null, "app_version": "0",
        }))
        .expect("a record")
    }

    #[test]
    fn set_ups_that_differ_in_anything_have_names_that_say_what() {
        let plain = record(json!({}), "minilm", "https://a.example/v1", json!({}));
        let salience = json!({"min_salience": 7.0, "chunk_unit": "sentences"});
        let stricter = record(salience, "minilm", "https://a.example/v1", json!({}));
        let other = record(json!({}), "mpnet", "https://a.example/v1", json!({}));
        let elsewhere = record(json!({}), "minilm", "https://b.example/v1", json!({}));
        let text = json!({"salience": "Rate each passage."});
        let edited = record(json!({}), "minilm", "https://a.example/v1", text);
        let all = [&plain, &stricter, &other, &elsewhere, &edited, &plain];
        let groups = setups(all);
        assert_eq!(
            groups.iter().map(Vec::len).collect::<Vec<_>>(),
            [2, 1, 1, 1, 1]
        );
        let firsts: Vec<&RunRecord> = groups.iter().map(|group| group[0]).collect();
        let names = names(&firsts, RunRecord::system_label);
        assert_eq!(
            names[1],
            "IBA-Agent · m · min_salience = 7 · chunk_unit = sentences · retriever minilm · at a.example"
        );
        assert_eq!(names[2], "IBA-Agent · m · retriever mpnet · at a.example");
        assert_eq!(names[3], "IBA-Agent · m · retriever minilm · at b.example");
        // The hash by `printf 'Rate each passage.' | sha256sum`.
        assert_eq!(
            names[4],
            "IBA-Agent · edited prompts · m · prompt salience 88d82758 · retriever minilm · at a.example"
        );
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        let keys: BTreeSet<String> = firsts.iter().map(|record| key(record)).collect();
        assert_eq!(keys.len(), firsts.len());
        let found = of_key(&groups, &key(&other)).expect("there");
        assert_eq!(found[0].retriever.model, "mpnet");
        assert_eq!(of_key(&groups, "IBA-Agent · m").map(<[_]>::len), Some(2));
        assert!(of_key(&groups, "gone").is_none());
    }

    #[test]
    fn a_set_up_alone_needs_no_more_than_system_and_model() {
        let plain = record(json!({}), "minilm", "https://a.example", json!({}));
        assert_eq!(names(&[&plain], RunRecord::system_label), ["IBA-Agent · m"]);
        let details = Details::of(&plain, &[&plain]);
        assert_eq!(
            (details.short(), details.all()),
            (vec![], vec!["retriever minilm".to_owned()])
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_numbered() {
        let mut one = record(json!({}), "minilm", "https://a.example", json!({}));
        let mut two = one.clone();
        one.retriever.reading = Some(Default::default());
        two.retriever.reading = Some(crate::run::record::Reading {
            dim: 3,
            ..Default::default()
        });
        assert_eq!(
            names(&[&one, &two], RunRecord::system_label),
            ["IBA-Agent · m", "IBA-Agent · m (2)"]
        );
    }
}
