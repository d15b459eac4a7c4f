//! `lab eval`: the embedded baseline on every instance of a dataset, with the real engine.

use super::dataset::build::MANIFEST;
use super::dataset::open::Dataset;
use super::error::LabError;
use super::model::{Model, refused};
use super::native_env::{Cache, NativeEnv};
use super::recall::{self, Recall};
use crate::agent::memo::StageMemo;
use crate::agent::trace::System;
use crate::bench::hash;
use crate::bench::ids::{DomainId, InstanceId};
use crate::bench::limits::FileKind;
use crate::bench::manifest::{EmbeddingSet, ShardRef};
use crate::bench::visible::{History, Instance};
use crate::embed::{Chunking, Embedder, VectorFile, embed_sessions};
use crate::run::drive::{Case, RunSpec, run_instance};
use crate::run::record::{DatasetRef, ModelRef, Params, Reading, RetrieverRef, RunRecord, Variant};
use crate::score::{self, MeanScore, ScoreTable};
use crate::settings::retriever::Retriever;
use futures::executor::block_on;
use std::fmt::Write as _;
use std::path::Path;

/// What was measured.
pub struct Evaluation {
    pub records: Vec<RunRecord>,
    pub table: ScoreTable,
    pub recall: Recall,
}

/// Runs a system with the embedded baseline on the wanted instances of a dataset. `model` is a folder
/// with an ONNX file and `tokenizer.json`; `cache` keeps vectors from one evaluation to the next.
pub fn evaluate(
    dataset: &Dataset,
    model: &Path,
    system: System,
    params: &Params,
    wanted: &dyn Fn(&InstanceId) -> bool,
    cache: &Cache,
) -> Result<Evaluation, LabError> {
    let model = Model::load(model, None)?;
    let embedder = &model.embedder;
    let set = dataset
        .manifest
        .embeddings
        .iter()
        .find(|set| model.gives(set) && params.chunking().fits(set));
    if let Some(why) = system.refuses(&ModelRef::Embedded) {
        return Err(LabError::Refused(why.to_owned()));
    }
    if system == System::OtherHistory {
        let why = "the native tool opens one history at a time; run this system in the browser";
        return Err(LabError::Refused(why.to_owned()));
    }
    let spec = RunSpec {
        params: params.clone(),
        ..spec(dataset, &model, system)?
    };
    let (mut records, mut recall) = (Vec::new(), Recall::default());
    for shard in &dataset.manifest.shards {
        let (mut loaded, _) = dataset.shard(shard)?;
        loaded
            .instances
            .retain(|(instance, _)| wanted(&instance.id));
        if loaded.instances.is_empty() {
            continue;
        }
        let vectors = match set {
            Some(set) => shipped(dataset, set, shard)?,
            None => None,
        };
        let vectors = match vectors {
            Some(vectors) => vectors,
            None => embed(embedder, shard, &loaded.history, params.chunking())?,
        };
        let env = NativeEnv::open(embedder, cache, &loaded.history, vectors)?;
        for (instance, hidden) in &loaded.instances {
            let case = Case {
                instance,
                hidden,
                domain: &domain_of(dataset, instance),
                history: &loaded.history,
            };
            let record = one(&env, &spec, case);
            recall::add(&mut recall, &record, hidden);
            records.push(record);
        }
    }
    let entries: Vec<score::Entry> = records.iter().map(score::Entry::from).collect();
    Ok(Evaluation {
        table: score::table(&entries),
        records,
        recall,
    })
}

fn one(env: &NativeEnv<'_>, spec: &RunSpec, case: Case<'_>) -> RunRecord {
    let spec = RunSpec {
        id: format!("{}.{}", case.instance.id, spec.system.word()),
        ..spec.clone()
    };
    block_on(run_instance(env, &spec, case, &StageMemo::new()))
}

pub(super) fn domain_of(dataset: &Dataset, instance: &Instance) -> DomainId {
    let scenarios = &dataset.manifest.scenarios;
    let scenario = scenarios
        .iter()
        .find(|scenario| scenario.id == instance.scenario);
    scenario
        .map(|scenario| scenario.domain.clone())
        .unwrap_or_default()
}

fn spec(dataset: &Dataset, model: &Model, system: System) -> Result<RunSpec, LabError> {
    let manifest = read(&dataset.folder.join(MANIFEST))?;
    Ok(RunSpec {
        id: String::new(),
        system,
        epoch: 1,
        params: Params::default(),
        agent: ModelRef::Embedded,
        panel: Default::default(),
        dataset: DatasetRef {
            name: dataset.manifest.name.clone(),
            sha256: hash::sha256_hex(&manifest),
        },
        retriever: RetrieverRef {
            model: model.name.clone(),
            model_sha256: model.sha256.clone(),
            method: Retriever::default().name_by(model.embedder.arithmetic()),
            reading: Some(Reading::of(&model.embedder.reading(), model.embedder.dim())),
            ..RetrieverRef::default()
        },
        app_version: env!("CARGO_PKG_VERSION").to_owned(),
        variant: Variant::default(),
    })
}

/// The vectors that came with the dataset.
fn shipped(
    dataset: &Dataset,
    set: &EmbeddingSet,
    shard: &ShardRef,
) -> Result<Option<VectorFile>, LabError> {
    let Some(file) = set.files.get(&shard.id) else {
        return Ok(None);
    };
    let bytes = dataset.bytes(FileKind::Vectors, file)?;
    VectorFile::decode(&bytes).map(Some).map_err(refused)
}

fn embed(
    embedder: &Embedder,
    shard: &ShardRef,
    history: &History,
    chunking: Chunking,
) -> Result<VectorFile, LabError> {
    let made =
        embed_sessions(embedder, &history.sessions, chunking, &|_, _| {}).map_err(refused)?;
    eprintln!("{}: {} passages embedded", shard.id, made.spans.len());
    Ok(made)
}

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    std::fs::read(path).map_err(LabError::io("read", path))
}

impl Evaluation {
    /// Scores by domain and recall by stage, as lines of text.
    pub fn report(&self) -> String {
        let mut out = String::from("score   instances  scored  unscored  domain\n");
        for (domain, score) in &self.table.domains {
            line(&mut out, score, domain.as_str());
        }
        line(&mut out, &self.table.overall, "overall");
        for (action, score) in self.by_action() {
            line(&mut out, &score, &action);
        }
        out.push('\n');
        out.push_str(&self.recall.report());
        out
    }

    fn by_action(&self) -> Vec<(String, MeanScore)> {
        let of = |action| {
            let mine = self.records.iter().filter(|record| record.action == action);
            let entries: Vec<score::Entry> = mine.map(score::Entry::from).collect();
            score::table(&entries).overall
        };
        use crate::bench::taxonomy::Action::{CallApi, GenerateText};
        vec![
            ("calls".to_owned(), of(CallApi)),
            ("texts".to_owned(), of(GenerateText)),
        ]
    }
}

fn line(out: &mut String, score: &MeanScore, name: &str) {
    let mean = score
        .mean
        .map_or("  –  ".to_owned(), |mean| format!("{:5.1}", mean * 100.0));
    let _ = writeln!(
        out,
        "{mean}   {:9}  {:6}  {:8}  {name}",
        score.instances, score.scored, score.unscored
    );
}
