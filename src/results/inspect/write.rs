//! Run records to result files.

use super::events::name_of;
use super::sample;
use super::scores;
use super::time::{file_stamp, iso};
use super::usage;
use super::wire::{
    Config, Dataset, GenerateConfig, Log, Plan, Results, RoleModel, Spec, Stats, Step,
};
use super::{json, scores::names};
use crate::prompts::hash_of;
use crate::results::ResultsError;
use crate::run::record::{ModelRef, RunRecord, RunStatus};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// What a file needs that no record has.
#[derive(Clone, Debug, PartialEq)]
pub struct FileMeta {
    /// Unique id of the file; part of its name.
    pub id: String,
    /// Milliseconds since the Unix epoch.
    pub created_ms: f64,
}

/// One result file in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalLog {
    stem: String,
    text: String,
}

impl EvalLog {
    /// `YYYY-MM-DDTHH-MM-SS_<task>_<system>_<id>.json`, or `.json.gz`.
    pub fn file_name(&self, gzip: bool) -> String {
        format!("{}.json{}", self.stem, if gzip { ".gz" } else { "" })
    }

    /// The file as JSON; unscored verdicts are bare `NaN`, as Inspect writes them.
    pub fn json(&self) -> &str {
        &self.text
    }

    /// The file as gzip'd JSON; equal records give equal bytes.
    pub fn json_gz(&self) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(self.text.as_bytes())
            .expect("a Vec takes all bytes");
        out.finish().expect("a Vec takes all bytes")
    }
}

/// One file; fails when the records are of several systems, models or parameter sets, or hold
/// one instance and epoch twice.
pub fn write(records: &[RunRecord], meta: &FileMeta) -> Result<EvalLog, ResultsError> {
    let groups = split(records);
    match groups.as_slice() {
        [] => Err(ResultsError::NothingToWrite),
        [one] => Ok(log(one, meta)),
        several => Err(ResultsError::Mixed {
            groups: several.len(),
        }),
    }
}

/// As [`write`], without the events, which repeat for Inspect's viewer what the records hold: half
/// the size.
pub fn write_small(records: &[RunRecord], meta: &FileMeta) -> Result<EvalLog, ResultsError> {
    let groups = split(records);
    match groups.as_slice() {
        [] => Err(ResultsError::NothingToWrite),
        [one] => Ok(encode(one, meta, Events::Left)),
        several => Err(ResultsError::Mixed {
            groups: several.len(),
        }),
    }
}

/// Whether samples have their events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Events {
    Written,
    Left,
}

/// One file for each system, model, dataset and set of parameters among the records, in the order
/// of their first record. A second run of the same instance and epoch opens a further file, since
/// a log holds each pair once.
pub fn group(records: &[RunRecord], meta: &FileMeta) -> Vec<EvalLog> {
    let groups = split(records);
    let one = groups.len() == 1;
    let numbered = |n: usize| FileMeta {
        id: format!("{}-{}", meta.id, n + 1),
        ..meta.clone()
    };
    let logs = groups.iter().enumerate();
    logs.map(|(n, group)| log(group, &if one { meta.clone() } else { numbered(n) }))
        .collect()
}

fn split(records: &[RunRecord]) -> Vec<Vec<&RunRecord>> {
    let mut groups: Vec<Vec<&RunRecord>> = Vec::new();
    for record in records {
        let fits = |group: &&mut Vec<&RunRecord>| {
            alike(group[0], record) && !group.iter().any(|other| same_sample(other, record))
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

fn alike(a: &RunRecord, b: &RunRecord) -> bool {
    a.same_setup(b) && a.app_version == b.app_version
}

fn same_sample(a: &RunRecord, b: &RunRecord) -> bool {
    a.instance == b.instance && a.epoch == b.epoch
}

fn log(records: &[&RunRecord], meta: &FileMeta) -> EvalLog {
    encode(records, meta, Events::Written)
}

fn encode(records: &[&RunRecord], meta: &FileMeta, events: Events) -> EvalLog {
    let scorers = names(records);
    let of_record = |record: &&RunRecord| {
        let mut sample = sample::of_record(record, &scorers);
        if events == Events::Left {
            sample.events.clear();
        }
        sample
    };
    let mut sorted = records.to_vec();
    sorted.sort_by(|a, b| (a.epoch, &a.instance).cmp(&(b.epoch, &b.instance)));
    let first = sorted[0];
    let system = name_of(&first.system);
    let params = json!(first.params);
    let log = Log {
        version: 2,
        status: status(&sorted),
        eval: spec(&sorted, meta, &system, &params),
        plan: Plan {
            name: "plan",
            steps: vec![Step {
                solver: system.clone(),
                params,
            }],
            config: generate_config(first),
        },
        results: results(&sorted),
        stats: stats(&sorted),
        samples: sorted.iter().map(of_record).collect(),
    };
    let stamp = file_stamp(meta.created_ms);
    let parts = [slug(&first.dataset.name), slug(&system), slug(&meta.id)];
    EvalLog {
        stem: format!("{stamp}_{}", parts.join("_")),
        text: json::to_text(&log),
    }
}

/// Letters, digits, `.` and `-`; all else becomes `-`, so that the name is safe on every disk.
fn slug(text: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let name: String = text.chars().map(safe).take(60).collect();
    if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    }
}

fn status(records: &[&RunRecord]) -> &'static str {
    let any = |wanted: fn(&RunStatus) -> bool| records.iter().any(|r| wanted(&r.status));
    if any(|s| matches!(s, RunStatus::Running | RunStatus::Cancelled)) {
        "cancelled"
    } else if any(|s| matches!(s, RunStatus::Done)) {
        "success"
    } else {
        "error"
    }
}

fn spec(records: &[&RunRecord], meta: &FileMeta, system: &str, params: &Value) -> Spec {
    let first = records[0];
    Spec {
        eval_id: meta.id.clone(),
        run_id: meta.id.clone(),
        created: iso(meta.created_ms),
        task: first.dataset.name.clone(),
        task_id: meta.id.clone(),
        task_version: 1,
        task_args: task_args(first, system),
        solver: system.to_owned(),
        solver_args: params.clone(),
        dataset: dataset(records),
        model: first.agent.label(),
        model_generate_config: generate_config(first),
        model_base_url: base_url(&first.agent),
        model_roles: grader(records),
        config: Config {
            epochs: epochs(records),
            epochs_reducer: ["mean"],
        },
        packages: BTreeMap::from([("iba-lab".to_owned(), first.app_version.clone())]),
        metadata: metadata(records),
        scorers: scores::scorers(records),
    }
}

/// What was asked of whom; changed prompts by id and hash, their texts stand in every record.
fn task_args(first: &RunRecord, system: &str) -> Value {
    let mut args = json!({
        "dataset": first.dataset.name,
        "system": system,
        "mode": first.variant.mode,
    });
    let edits = &first.variant.edits;
    if !edits.is_empty() {
        let hashes = edits.ids().map(|id| (id, hash_of(id, edits)));
        args["edited_prompts"] = json!(hashes.collect::<BTreeMap<_, _>>());
    }
    args
}

fn dataset(records: &[&RunRecord]) -> Dataset {
    let ids: BTreeSet<&str> = records
        .iter()
        .map(|record| record.instance.as_str())
        .collect();
    Dataset {
        name: records[0].dataset.name.clone(),
        samples: ids.len(),
        sample_ids: ids.into_iter().map(str::to_owned).collect(),
        shuffled: false,
    }
}

fn epochs(records: &[&RunRecord]) -> u32 {
    records.iter().map(|record| record.epoch).max().unwrap_or(1)
}

fn base_url(model: &ModelRef) -> Option<String> {
    match model {
        ModelRef::Embedded | ModelRef::External { .. } => None,
        ModelRef::Endpoint { base_url, .. } => Some(base_url.clone()),
    }
}

fn generate_config(record: &RunRecord) -> GenerateConfig {
    match record.agent {
        ModelRef::Embedded | ModelRef::External { .. } => GenerateConfig::default(),
        ModelRef::Endpoint { .. } => GenerateConfig {
            max_tokens: Some(record.params.max_output_tokens),
            temperature: record.params.temperature,
            seed: Some(record.params.seed),
        },
    }
}

/// The judge's model under Inspect's name for its role, from the first call that was judged.
fn grader(records: &[&RunRecord]) -> BTreeMap<String, RoleModel> {
    let judgements = records.iter().flat_map(|record| &record.judgements);
    let call = judgements.flat_map(|judgement| &judgement.calls).next();
    let role = call.map(|call| RoleModel {
        model: call.request.model.clone(),
        config: GenerateConfig {
            max_tokens: call.request.max_tokens,
            temperature: call.request.temperature,
            seed: call.request.seed,
        },
        base_url: call.base_url.clone(),
    });
    role.map(|role| ("grader".to_owned(), role))
        .into_iter()
        .collect()
}

fn metadata(records: &[&RunRecord]) -> Value {
    let first = records[0];
    let calls = records.iter().flat_map(|record| record.calls());
    // Several hashes where judges were asked in different words.
    let mut prompts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for call in calls.filter(|call| !call.prompt.id.is_empty()) {
        let hashes = prompts.entry(&call.prompt.id).or_default();
        hashes.insert(&call.prompt.sha256);
    }
    let joined = |hashes: BTreeSet<&str>| hashes.into_iter().collect::<Vec<_>>().join(" ");
    let prompts: BTreeMap<&str, String> = prompts
        .into_iter()
        .map(|(id, hashes)| (id, joined(hashes)))
        .collect();
    json!({ "iba": {
        "format": "iba-result",
        "version": sample::VERSION,
        "app_version": first.app_version,
        "dataset": first.dataset,
        "retriever": first.retriever,
        "agent": first.agent,
        "params": first.params,
        "mode": first.variant.mode,
        "judges": names(records),
        "prompts": prompts,
    } })
}

fn results(records: &[&RunRecord]) -> Results {
    let done = records
        .iter()
        .filter(|record| record.status == RunStatus::Done);
    Results {
        total_samples: records.len(),
        completed_samples: done.count(),
        scores: scores::metrics(records),
    }
}

fn stats(records: &[&RunRecord]) -> Stats {
    let (model_usage, role_usage) = usage::of_records(records.iter().copied());
    let started = records
        .iter()
        .map(|record| record.started_ms)
        .fold(f64::INFINITY, f64::min);
    let ended = records
        .iter()
        .filter_map(|record| record.ended_ms)
        .fold(started, f64::max);
    Stats {
        started_at: iso(started),
        completed_at: iso(ended),
        model_usage,
        role_usage,
    }
}
