//! One run, from the engine to the verdicts.

use super::{Choice, LiveRun, Work};
use crate::agent::memo::StageMemo;
use crate::agent::trace::{Output, System};
use crate::bench::shard::Shard;
use crate::browser::abort::Abort;
use crate::browser::clock::now_ms;
use crate::browser::engine::{EngineProgress, ModelInfo, OnEngineProgress};
use crate::browser::env::{BrowserEnv, EnvParts, Source};
use crate::browser::fetch::{OnProgress, Progress};
use crate::browser::transport::Endpoint as Target;
use crate::embed::Chunking;
use crate::judge::{JudgeModel, Panel};
use crate::run::again::judge_again;
use crate::run::drive::{Case, RunSpec, begin, judge_given, run_instance};
use crate::run::record::{
    DatasetRef, ModelRef, Params, RetrieverRef, RunRecord, RunStatus, Variant,
};
use crate::run::{RunEvent, StepError};
use crate::settings::retriever::Retriever;
use crate::ui::parts::Problem;
use crate::ui::state::{Edge, Lab};
use crate::words::sentence;
use crate::worker::protocol::SearchMethod;
use futures::channel::mpsc::UnboundedReceiver;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// What is decided before the engine is asked for anything.
pub struct Plan {
    pub id: String,
    pub system: System,
    pub epoch: u32,
    pub agent: ModelRef,
    pub panel: Panel,
    pub params: Params,
    /// Where answers come from.
    pub source: Source,
    pub variant: Variant,
    /// An output that is only to be judged.
    pub given: Option<Output>,
    /// A run whose output is to be judged again.
    pub again: Option<Arc<RunRecord>>,
}

/// One run with everything it needs.
pub struct Task {
    pub lab: Lab,
    pub edge: Edge,
    pub work: Work,
    pub plan: Plan,
    pub live: LiveRun,
    pub abort: Abort,
    /// What earlier runs on the instance found.
    pub memo: StageMemo,
    /// What the visitor chooses while the model is on its way.
    pub choices: RefCell<Option<UnboundedReceiver<Choice>>>,
    /// Whether there is anybody to choose.
    pub asks: Cell<bool>,
}

/// What passages are found with, once it is there.
pub(super) struct Ready {
    /// The embedding model; [`BY_WORDS`] where there is none.
    pub model: ModelInfo,
    /// Name of the history in the engine.
    pub history: String,
    pub by_words: bool,
}

impl Task {
    /// From the engine to the verdicts. Never fails: what went wrong is in the record's status.
    pub async fn run(&self) -> RunRecord {
        if let Some(before) = &self.plan.again {
            return self.again(before).await;
        }
        if let Some(output) = self.plan.given.clone() {
            return self.judge(output).await;
        }
        match self.prepare().await {
            Ok(ready) => {
                let mut spec = self.spec(&ready.model);
                if ready.by_words {
                    spec.retriever.method = "bm25".to_owned();
                }
                let (history, by_words) = (ready.history.clone(), ready.by_words);
                let env = self.env(history, by_words, self.draft(&spec));
                let record = run_instance(&env, &spec, self.case(), &self.memo).await;
                if by_words {
                    self.edge.engine.close(&ready.history).await;
                }
                record
            }
            Err(message) => self.unstarted(message),
        }
    }

    /// Verdicts alone: neither the embedding model nor the history is needed.
    async fn judge(&self, output: Output) -> RunRecord {
        let spec = self.spec(&no_model("none"));
        let env = self.env(String::new(), false, self.draft(&spec));
        judge_given(&env, &spec, self.case(), output).await
    }

    /// The run with the verdicts of this panel beside those it has; as it was when that fails.
    async fn again(&self, before: &RunRecord) -> RunRecord {
        let spec = self.spec(&no_model("none"));
        let env = self.env(String::new(), false, self.draft(&spec));
        match judge_again(&env, &spec, self.case(), before).await {
            Ok(record) => record,
            Err(StepError::Cancelled) => before.clone(),
            Err(error) => {
                let text = sentence(&error.to_string());
                self.lab.notices.bad(Problem::new(text, None::<&str>));
                before.clone()
            }
        }
    }

    /// Model loaded and history open; gives the history's name in the engine.
    async fn prepare(&self) -> Result<Ready, String> {
        let said = |error: &dyn std::error::Error, hint: Option<&str>| {
            format!(
                "{} {}",
                sentence(&error.to_string()),
                hint.unwrap_or_default()
            )
            .trim_end()
            .to_owned()
        };
        let open = &self.work.open;
        let (shard_id, read) = self.read_history().await?;
        let engine = &self.edge.engine;
        let (shown, chunking) = (self.engine_progress(), self.chunking());
        engine.set_arithmetic(self.retriever().arithmetic);
        let Some(model) = self.model_or_words(&shown).await? else {
            return self.prepare_words(&shard_id, &read.history).await;
        };
        let loaded = self.byte_progress("loading the history's vectors");
        let vectors = open.dataset.vectors(
            &shard_id,
            &model.onnx.sha256,
            chunking,
            &loaded,
            &self.abort,
        );
        let vectors = vectors.await.map_err(|error| said(&error, error.hint()))?;
        let key = open.dataset.history_key(&shard_id, chunking);
        let opened =
            engine.open_history(&key, &read.history, vectors, chunking, &shown, &self.abort);
        opened.await.map_err(|error| said(&error, error.hint()))?;
        self.live.progress.set(None);
        Ok(Ready {
            model,
            history: key,
            by_words: false,
        })
    }

    /// The shard whose history the system reads: the user's own, or the donor's.
    async fn read_history(&self) -> Result<(String, Rc<Shard>), String> {
        let Work {
            open,
            shard_id,
            shard,
            instance,
            ..
        } = &self.work;
        if self.plan.system != System::OtherHistory {
            return Ok((shard_id.clone(), Rc::clone(shard)));
        }
        let donor = self.plan.variant.donor.as_ref();
        let shards = &open.dataset.manifest.shards;
        let found = donor.and_then(|donor| shards.iter().find(|shard| shard.persona == *donor));
        let Some(found) = found else {
            return Err(format!(
                "{} has no other user whose history could be read for {}. Choose another system, or a dataset of several users.",
                open.dataset.manifest.name, instance.id
            ));
        };
        let shown = self.byte_progress("loading another user's history");
        let shard = open.dataset.shard(&found.id, &shown, &self.abort).await;
        let shard = shard.map_err(|error| sentence(&error.to_string()))?;
        Ok((found.id.clone(), shard))
    }

    fn case(&self) -> Case<'_> {
        let Work {
            instance,
            hidden,
            domain,
            shard,
            ..
        } = &self.work;
        Case {
            instance,
            hidden,
            domain,
            history: &shard.history,
        }
    }

    fn retriever(&self) -> Retriever {
        self.lab
            .settings
            .with_untracked(|settings| settings.retriever)
    }

    pub(super) fn chunking(&self) -> Chunking {
        self.plan.params.chunking()
    }

    fn engine_progress(&self) -> OnEngineProgress {
        let shown = self.live.progress.clone();
        Rc::new(move |progress| shown.set(Some(progress)))
    }

    pub(super) fn byte_progress(&self, what: &'static str) -> OnProgress {
        let shown = self.live.progress.clone();
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
            panel,
            params,
            source: _,
            variant,
            given: _,
            again: _,
        } = &self.plan;
        let dataset = &self.work.open.dataset;
        RunSpec {
            id: id.clone(),
            system: *system,
            epoch: *epoch,
            params: params.clone(),
            agent: agent.clone(),
            panel: panel.clone(),
            dataset: DatasetRef {
                name: dataset.manifest.name.clone(),
                sha256: dataset.manifest_sha256.clone(),
            },
            retriever: RetrieverRef {
                model: model.name.clone(),
                model_sha256: model.onnx.sha256.clone(),
                method: self.retriever().name(),
            },
            app_version: env!("CARGO_PKG_VERSION").to_owned(),
            variant: variant.clone(),
        }
    }

    /// Events go to the signals; after each stage the record so far is saved, so that closing the
    /// page loses no more than the stage at work.
    fn env(&self, history: String, by_words: bool, draft: RunRecord) -> BrowserEnv {
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
            method: match by_words {
                true => SearchMethod::Lexical,
                false => self.retriever().method,
            },
            by_words,
            transport: self.edge.transport.clone(),
            agent: self.target(Some(&self.plan.agent)),
            graders: self.grader_targets(),
            source: self.plan.source.clone(),
            on_ask: self.lab.desk.on_ask(&self.live.id),
            store: self.edge.store.clone(),
            abort: self.abort.clone(),
            on_event: Rc::new(on_event),
        })
    }

    fn target(&self, model: Option<&ModelRef>) -> Option<Target> {
        match model? {
            ModelRef::Embedded | ModelRef::External { .. } => None,
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

    fn grader_targets(&self) -> Vec<Target> {
        let judges = self.plan.panel.judges.iter();
        let target = |judge: &JudgeModel| {
            self.lab.keys.target(&crate::settings::Endpoint {
                preset: String::new(),
                base_url: judge.base_url.clone(),
                model: judge.model.clone(),
            })
        };
        judges.map(target).collect()
    }

    /// The record as it stands before the first stage.
    fn draft(&self, spec: &RunSpec) -> RunRecord {
        begin(self.live.started_ms, spec, self.case())
    }

    /// The record of a run whose engine or data could not be had.
    fn unstarted(&self, message: String) -> RunRecord {
        let model = no_model("not loaded");
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

/// Stands for the embedding model where none was used.
pub(super) fn no_model(name: &str) -> ModelInfo {
    let nothing = crate::bench::manifest::FileRef {
        path: String::new(),
        bytes: 0,
        sha256: String::new(),
        unpacked: None,
        unpacked_sha256: None,
    };
    ModelInfo {
        name: name.to_owned(),
        dim: 0,
        max_tokens: 0,
        onnx: nothing.clone(),
        tokenizer: nothing,
        pool: None,
        query_prefix: String::new(),
        passage_prefix: String::new(),
    }
}
