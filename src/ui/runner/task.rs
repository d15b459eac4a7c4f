//! One run, from the engine to the verdicts.

use super::retrieve::Searchable;
use super::{Choice, LiveRun, Work};
use crate::agent::memo::StageMemo;
use crate::agent::trace::{CallRecord, Output, System};
use crate::bench::shard::Shard;
use crate::browser::abort::Abort;
use crate::browser::clock::now_ms;
use crate::browser::engine::{EngineProgress, ModelInfo, OnEngineProgress};
use crate::browser::env::{BrowserEnv, EnvParts, Source};
use crate::browser::fetch::{OnProgress, Progress};
use crate::browser::remote::Remote;
use crate::browser::transport::Endpoint as Target;
use crate::embed::Chunking;
use crate::judge::{JudgeModel, Panel};
use crate::run::again::judge_again;
use crate::run::drive::{Case, RunSpec, begin, judge_given, run_instance};
use crate::run::record::{
    DatasetRef, ModelRef, NOT_LOADED, Params, RetrieverRef, RunRecord, RunStatus, Variant,
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
    /// As it was chosen when the run was started.
    pub retriever: Retriever,
    /// It goes on with a run that found its passages by words.
    pub began_by_words: bool,
    /// The embedding endpoint, once it is asked.
    pub remote: RefCell<Option<Rc<Remote>>>,
    /// What the visitor chooses while the model is on its way.
    pub choices: RefCell<Option<UnboundedReceiver<Choice>>>,
    /// Whether there is anybody to choose.
    pub asks: Cell<bool>,
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
        match self.searchable().await {
            Ok(found) => {
                let spec = self.spec(found.retriever.clone());
                let env = self.env(&found, self.draft(&spec));
                let mut record = run_instance(&env, &spec, self.case(), &self.memo).await;
                record.embedding_calls.extend(self.embedding_calls());
                if found.is_own {
                    found.engine.close(&found.history).await;
                }
                record
            }
            Err(message) => self.unstarted(message),
        }
    }

    /// Where nothing is searched.
    fn nothing(&self) -> Searchable {
        Searchable {
            engine: self.edge.engine.clone(),
            history: String::new(),
            remote: None,
            retriever: self.retriever_of(&ModelInfo::none("none")),
            by_words: false,
            is_own: false,
        }
    }

    /// Calls of an embedding endpoint so far.
    fn embedding_calls(&self) -> Vec<CallRecord> {
        let remote = self.remote.borrow();
        remote
            .as_ref()
            .map_or_else(Vec::new, |remote| remote.take_calls())
    }

    /// Verdicts alone: neither the embedding model nor the history is needed.
    async fn judge(&self, output: Output) -> RunRecord {
        let nothing = self.nothing();
        let spec = self.spec(nothing.retriever.clone());
        let env = self.env(&nothing, self.draft(&spec));
        judge_given(&env, &spec, self.case(), output).await
    }

    /// The run with the verdicts of this panel beside those it has; as it was when that fails.
    async fn again(&self, before: &RunRecord) -> RunRecord {
        let nothing = self.nothing();
        let spec = self.spec(nothing.retriever.clone());
        let env = self.env(&nothing, self.draft(&spec));
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

    /// The shard whose history the system reads: the user's own, or the donor's.
    pub(super) async fn read_history(&self) -> Result<(String, Rc<Shard>), String> {
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

    pub(super) fn chunking(&self) -> Chunking {
        self.plan.params.chunking()
    }

    pub(super) fn engine_progress(&self) -> OnEngineProgress {
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

    fn spec(&self, retriever: RetrieverRef) -> RunSpec {
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
            retriever,
            app_version: env!("CARGO_PKG_VERSION").to_owned(),
            variant: variant.clone(),
        }
    }

    /// Events go to the signals; after each stage the record so far is saved, so that closing the
    /// page loses no more than the stage at work.
    fn env(&self, found: &Searchable, draft: RunRecord) -> BrowserEnv {
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
            engine: found.engine.clone(),
            texts: self.edge.engine.clone(),
            remote: found.remote.clone(),
            history: found.history.clone(),
            method: match found.by_words {
                true => SearchMethod::Lexical,
                false => self.retriever.method,
            },
            by_words: found.by_words,
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
        let status = if self.abort.is_aborted() {
            RunStatus::Cancelled
        } else {
            RunStatus::Failed { message }
        };
        RunRecord {
            status,
            ended_ms: Some(now_ms()),
            embedding_calls: self.embedding_calls(),
            ..self.draft(&self.spec(self.retriever_of(&ModelInfo::none(NOT_LOADED))))
        }
    }
}
