//! Runs: owned by the root, so that they go on while the visitor looks at other pages. Pages read
//! the signals and ask; nothing here draws.

use super::data::Open;
use super::parts::Problem;
use super::state::{Edge, Lab};
use crate::agent::trace::{StageId, StageRecord, System};
use crate::bench::hidden::HiddenInstance;
use crate::bench::ids::{DomainId, InstanceId};
use crate::bench::shard::Shard;
use crate::bench::visible::Instance;
use crate::browser::abort::Abort;
use crate::browser::clock::now_ms;
use crate::browser::engine::{EngineProgress, ModelInfo, OnEngineProgress};
use crate::browser::env::{BrowserEnv, EnvParts};
use crate::browser::fetch::{OnProgress, Progress};
use crate::browser::transport::Endpoint as Target;
use crate::embed::Chunking;
use crate::judge::GraderConfig;
use crate::route::DatasetKey;
use crate::run::RunEvent;
use crate::run::drive::{RunSpec, begin, run_instance};
use crate::run::record::{DatasetRef, ModelRef, RetrieverRef, RunRecord, RunStatus};
use crate::settings::Settings;
use crate::words::sentence;
use crate::worker::protocol::SearchMethod;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A run under way, as far as it can be seen. Clones show the same run.
#[derive(Clone, Debug)]
pub struct LiveRun {
    pub id: String,
    pub subject: Subject,
    /// Where the instance can be opened again.
    pub dataset: DatasetKey,
    pub system: System,
    pub started_ms: f64,
    pub stages: ArcRwSignal<Vec<StageRecord>>,
    pub current: ArcRwSignal<Option<StageId>>,
    pub judging: ArcRwSignal<bool>,
    /// Text of the current model call.
    pub stream: ArcRwSignal<String>,
    /// Work that is no stage, for example loading the model.
    pub progress: ArcRwSignal<Option<EngineProgress>>,
}

impl PartialEq for LiveRun {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// An instance of one version of a dataset: results of another version are not its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub dataset_sha256: String,
    pub instance: InstanceId,
}

/// What a run is about.
#[derive(Clone)]
pub struct Work {
    pub open: Open,
    /// Id of the shard within the dataset.
    pub shard_id: String,
    pub shard: Rc<Shard>,
    pub domain: DomainId,
    pub instance: Arc<Instance>,
    pub hidden: Arc<HiddenInstance>,
}

impl Work {
    pub fn subject(&self) -> Subject {
        Subject {
            dataset_sha256: self.open.dataset.manifest_sha256.clone(),
            instance: self.instance.id.clone(),
        }
    }
}

/// Handle.
#[derive(Clone, Copy)]
pub struct Runner {
    /// Runs that ended, in this visit or an earlier one, and interrupted ones; oldest first.
    pub records: RwSignal<Vec<Arc<RunRecord>>>,
    pub live: RwSignal<Vec<LiveRun>>,
    aborts: StoredValue<HashMap<String, Abort>, LocalStorage>,
}

impl Default for Runner {
    fn default() -> Self {
        Self::new()
    }
}

impl Runner {
    pub fn new() -> Self {
        Self {
            records: RwSignal::new(Vec::new()),
            live: RwSignal::new(Vec::new()),
            aborts: StoredValue::new_local(HashMap::new()),
        }
    }

    /// Takes the runs of earlier visits, latest first as the store gives them.
    pub fn restore(self, kept: Vec<RunRecord>) {
        self.records.update(|records| {
            let kept = kept.into_iter().rev().map(Arc::new);
            let newer = std::mem::take(records);
            records.extend(kept.chain(newer));
        });
    }

    /// The run under way on an instance, of one system or of any.
    pub fn live_of(&self, subject: &Subject, system: Option<System>) -> Option<LiveRun> {
        let fits = |run: &&LiveRun| {
            run.subject == *subject && system.is_none_or(|system| run.system == system)
        };
        self.live.with(|live| live.iter().find(fits).cloned())
    }

    /// The latest record on an instance, of one system or of any.
    pub fn latest(&self, subject: &Subject, system: Option<System>) -> Option<Arc<RunRecord>> {
        let fits = |record: &&Arc<RunRecord>| {
            record.instance == subject.instance
                && record.dataset.sha256 == subject.dataset_sha256
                && system.is_none_or(|system| record.system == system)
        };
        self.records
            .with(|records| records.iter().rev().find(fits).cloned())
    }

    /// Starts a run with the settings as they are.
    pub fn start(self, lab: Lab, work: Work, system: System) {
        let settings = lab.settings.get_untracked();
        let spec = Plan {
            id: new_id(),
            system,
            epoch: self.next_epoch(&work, system, &settings),
            grader: grader(&settings),
            agent: settings.agent_ref(),
            params: settings.params,
        };
        self.launch(lab, work, spec);
    }

    /// Goes on with an interrupted run: same id, so that calls already answered are not paid again.
    pub fn resume(self, lab: Lab, work: Work, record: &RunRecord) {
        let spec = Plan {
            id: record.id.clone(),
            system: record.system,
            epoch: record.epoch,
            grader: grader(&lab.settings.get_untracked()),
            agent: record.agent.clone(),
            params: record.params.clone(),
        };
        self.launch(lab, work, spec);
    }

    /// Stops a run; its stages so far are kept.
    pub fn cancel(self, id: &str) {
        if let Some(abort) = self.aborts.with_value(|aborts| aborts.get(id).cloned()) {
            abort.abort();
        }
    }

    fn launch(self, lab: Lab, work: Work, plan: Plan) {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        let (live, abort) = (LiveRun::new(&plan, &work), Abort::new());
        self.aborts
            .update_value(|aborts| drop(aborts.insert(plan.id.clone(), abort.clone())));
        self.live.update(|all| all.push(live.clone()));
        let task = Task {
            lab,
            edge,
            work,
            plan,
            live,
            abort,
        };
        spawn_local(async move {
            let record = task.run().await;
            task.edge.runs.save(&record).await;
            self.finish(lab, record);
        });
    }

    fn finish(self, lab: Lab, record: RunRecord) {
        self.aborts
            .update_value(|aborts| drop(aborts.remove(&record.id)));
        if let RunStatus::Failed { message } = &record.status {
            lab.notices
                .bad(Problem::new(sentence(message), None::<&str>));
        }
        let id = record.id.clone();
        self.records.update(|records| {
            records.retain(|old| old.id != id);
            records.push(Arc::new(record));
        });
        self.live.update(|all| all.retain(|run| run.id != id));
    }

    /// Repeats count from 1 for each system, model and set of parameters.
    fn next_epoch(self, work: &Work, system: System, settings: &Settings) -> u32 {
        let (agent, dataset) = (settings.agent_ref(), &work.open.dataset.manifest_sha256);
        let same = |record: &&Arc<RunRecord>| {
            record.instance == work.instance.id
                && record.system == system
                && record.agent == agent
                && record.params == settings.params
                && record.dataset.sha256 == *dataset
                && record.status == RunStatus::Done
        };
        let last = self
            .records
            .with_untracked(|records| records.iter().filter(same).map(|record| record.epoch).max());
        last.unwrap_or(0) + 1
    }
}

impl LiveRun {
    fn new(plan: &Plan, work: &Work) -> Self {
        Self {
            id: plan.id.clone(),
            subject: work.subject(),
            dataset: work.open.key.clone(),
            system: plan.system,
            started_ms: now_ms(),
            stages: ArcRwSignal::new(Vec::new()),
            current: ArcRwSignal::new(None),
            judging: ArcRwSignal::new(false),
            stream: ArcRwSignal::new(String::new()),
            progress: ArcRwSignal::new(None),
        }
    }

    fn hear(&self, event: RunEvent) {
        match event {
            RunEvent::StageStarted { stage } => {
                self.progress.set(None);
                self.current.set(Some(stage));
                self.stream.update(String::clear);
            }
            RunEvent::StageDone { record } => {
                self.current.set(None);
                self.stream.update(String::clear);
                self.stages.update(|stages| stages.push(*record));
            }
            RunEvent::Retrying {
                reason,
                wait_seconds,
            } => {
                self.stream.update(String::clear);
                let what = format!("{} Next attempt in {wait_seconds:.0} s", sentence(&reason));
                self.progress.set(Some(EngineProgress {
                    what,
                    done: 0,
                    total: None,
                }));
            }
            RunEvent::Delta { text } => {
                self.progress.set(None);
                self.stream.update(|stream| stream.push_str(&text));
            }
            RunEvent::JudgeStarted => self.judging.set(true),
        }
    }
}

/// What is decided before the engine is asked for anything.
struct Plan {
    id: String,
    system: System,
    epoch: u32,
    agent: ModelRef,
    grader: Option<GraderConfig>,
    params: crate::run::record::Params,
}

/// One run with everything it needs.
struct Task {
    lab: Lab,
    edge: Edge,
    work: Work,
    plan: Plan,
    live: LiveRun,
    abort: Abort,
}

impl Task {
    async fn run(&self) -> RunRecord {
        match self.prepare().await {
            Ok((model, history)) => {
                let spec = self.spec(&model);
                let env = self.env(history, self.draft(&spec));
                let Work {
                    instance,
                    hidden,
                    domain,
                    ..
                } = &self.work;
                run_instance(&env, &spec, instance, hidden, domain).await
            }
            Err(message) => self.unstarted(message),
        }
    }

    /// Model loaded and history open; gives the history's name in the engine.
    async fn prepare(&self) -> Result<(ModelInfo, String), String> {
        let said = |error: &dyn std::error::Error, hint: Option<&str>| {
            format!(
                "{} {}",
                sentence(&error.to_string()),
                hint.unwrap_or_default()
            )
            .trim_end()
            .to_owned()
        };
        let Work {
            open,
            shard_id,
            shard,
            ..
        } = &self.work;
        let engine = &self.edge.engine;
        let (shown, chunking) = (self.engine_progress(), self.chunking());
        let model = engine
            .ensure_model(&shown, &self.abort)
            .await
            .map_err(|error| said(&error, error.hint()))?;
        let loaded = self.byte_progress();
        let vectors =
            open.dataset
                .vectors(shard_id, &model.onnx.sha256, chunking, &loaded, &self.abort);
        let vectors = vectors.await.map_err(|error| said(&error, error.hint()))?;
        let key = open.dataset.history_key(shard_id, chunking);
        let opened =
            engine.open_history(&key, &shard.history, vectors, chunking, &shown, &self.abort);
        opened.await.map_err(|error| said(&error, error.hint()))?;
        self.live.progress.set(None);
        Ok((model, key))
    }

    fn chunking(&self) -> Chunking {
        Chunking {
            tokens: self.plan.params.chunk_tokens,
            overlap: self.plan.params.chunk_overlap,
        }
    }

    fn engine_progress(&self) -> OnEngineProgress {
        let shown = self.live.progress.clone();
        Rc::new(move |progress| shown.set(Some(progress)))
    }

    fn byte_progress(&self) -> OnProgress {
        let shown = self.live.progress.clone();
        let what = "loading the history's vectors";
        Rc::new(move |Progress { done, total }| {
            shown.set(Some(EngineProgress {
                what: what.to_owned(),
                done,
                total,
            }))
        })
    }

    fn spec(&self, model: &ModelInfo) -> RunSpec {
        let Plan {
            id,
            system,
            epoch,
            agent,
            grader,
            params,
        } = &self.plan;
        let dataset = &self.work.open.dataset;
        RunSpec {
            id: id.clone(),
            system: *system,
            epoch: *epoch,
            params: params.clone(),
            agent: agent.clone(),
            grader: grader.clone(),
            dataset: DatasetRef {
                name: dataset.manifest.name.clone(),
                sha256: dataset.manifest_sha256.clone(),
            },
            retriever: RetrieverRef {
                model: model.name.clone(),
                model_sha256: model.onnx.sha256.clone(),
                method: "exact".to_owned(),
            },
            app_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Events go to the signals; after each stage the record so far is saved, so that closing the
    /// page loses no more than the stage at work.
    fn env(&self, history: String, draft: RunRecord) -> BrowserEnv {
        let (live, runs) = (self.live.clone(), self.edge.runs.clone());
        let on_event = move |event: RunEvent| {
            let saves = matches!(event, RunEvent::StageDone { .. });
            live.hear(event);
            if saves {
                let (runs, stages) = (runs.clone(), live.stages.get_untracked());
                let record = RunRecord {
                    stages,
                    ..draft.clone()
                };
                spawn_local(async move { runs.save(&record).await });
            }
        };
        BrowserEnv::new(EnvParts {
            run_id: self.plan.id.clone(),
            engine: self.edge.engine.clone(),
            history,
            method: SearchMethod::Exact,
            transport: self.edge.transport.clone(),
            agent: self.target(Some(&self.plan.agent)),
            grader: self.grader_target(),
            store: self.edge.store.clone(),
            abort: self.abort.clone(),
            on_event: Rc::new(on_event),
        })
    }

    fn target(&self, model: Option<&ModelRef>) -> Option<Target> {
        match model? {
            ModelRef::Embedded => None,
            ModelRef::Endpoint { base_url, model } => {
                let (base_url, model) = (base_url.clone(), model.clone());
                Some(self.lab.keys.target(&crate::settings::Endpoint {
                    preset: String::new(),
                    base_url,
                    model,
                }))
            }
        }
    }

    fn grader_target(&self) -> Option<Target> {
        let grader = self.plan.grader.as_ref()?;
        let model = ModelRef::Endpoint {
            base_url: grader.base_url.clone(),
            model: grader.model.clone(),
        };
        self.target(Some(&model))
    }

    /// The record as it stands before the first stage.
    fn draft(&self, spec: &RunSpec) -> RunRecord {
        let Work {
            instance,
            hidden,
            domain,
            ..
        } = &self.work;
        begin(self.live.started_ms, spec, instance, hidden, domain)
    }

    /// The record of a run whose engine or data could not be had.
    fn unstarted(&self, message: String) -> RunRecord {
        let nothing = crate::bench::manifest::FileRef {
            path: String::new(),
            bytes: 0,
            sha256: String::new(),
            unpacked: None,
            unpacked_sha256: None,
        };
        let model = ModelInfo {
            name: "not loaded".to_owned(),
            dim: 0,
            max_tokens: 0,
            onnx: nothing.clone(),
            tokenizer: nothing,
        };
        let status = if self.abort.is_aborted() {
            RunStatus::Cancelled
        } else {
            RunStatus::Failed { message }
        };
        RunRecord {
            status,
            ended_ms: Some(now_ms()),
            ..self.draft(&self.spec(&model))
        }
    }
}

/// The judge's model as the settings name it.
fn grader(settings: &Settings) -> Option<GraderConfig> {
    let endpoint = settings.judge_endpoint()?;
    Some(GraderConfig {
        model: endpoint.model.trim().to_owned(),
        base_url: endpoint.base_url.trim().trim_end_matches('/').to_owned(),
        temperature: None,
        seed: Some(settings.params.seed),
        max_output_tokens: settings.params.max_output_tokens,
        judge_checkable: false,
    })
}

/// Time and chance: unique among one visitor's runs, and sorts by time.
fn new_id() -> String {
    let chance = (js_sys::Math::random() * f64::from(u32::MAX)) as u32;
    format!("{:011x}-{chance:08x}", now_ms() as u64)
}
