//! Runs: owned by the root, so that they go on while the visitor looks at other pages. Pages read
//! the signals and ask; nothing here draws.

mod batch;
mod live;
mod retrieve;
mod task;
mod words;
mod work;

pub use batch::{Batch, BatchState, Item, Kind, Phase};
pub use live::{Choice, LiveRun, Offer};
pub use work::Work;

use super::parts::Problem;
use super::state::Lab;
use crate::agent::memo::StageMemo;
use crate::agent::trace::System;
use crate::bench::ids::InstanceId;
use crate::browser::abort::Abort;
use crate::browser::clock::now_ms;
use crate::browser::env::Source;
use crate::judge::panel::{JudgeModel, Panel};
use crate::run::batch::Pending;
use crate::run::record::{BY_WORDS, Mode, RunRecord, RunStatus, Variant};
use crate::run::replay::Tape;
use crate::run::supply;
use crate::settings::Settings;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use task::{Plan, Task};

/// An instance of one version of a dataset: results of another version are not its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub dataset_sha256: String,
    pub instance: InstanceId,
}

/// A system, and what is asked of it.
pub type Wanted = (System, Mode);

/// Handle.
#[derive(Clone, Copy)]
pub struct Runner {
    /// Runs that ended, in this visit or an earlier one, and interrupted ones; oldest first.
    pub records: RwSignal<Vec<Arc<RunRecord>>>,
    pub live: RwSignal<Vec<LiveRun>>,
    /// The runs of earlier visits are among the records.
    pub restored: RwSignal<bool>,
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
            restored: RwSignal::new(false),
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
        self.restored.set(true);
    }

    /// The run under way on an instance: of one system in one mode, or of any.
    pub fn live_of(&self, subject: &Subject, wanted: Option<Wanted>) -> Option<LiveRun> {
        let fits = |run: &&LiveRun| {
            run.subject == *subject && wanted.is_none_or(|w| w == (run.system, run.mode))
        };
        self.live.with(|live| live.iter().find(fits).cloned())
    }

    /// The latest record on an instance: of one system in one mode, or of any system on the task.
    pub fn latest(&self, subject: &Subject, wanted: Option<Wanted>) -> Option<Arc<RunRecord>> {
        let fits = |record: &&Arc<RunRecord>| match wanted {
            Some(wanted) => wanted == (record.system, record.variant.mode),
            None => record.variant.mode == Mode::Task,
        };
        self.records
            .with(|records| on(records, subject).rev().find(fits).cloned())
    }

    /// Every record on an instance, oldest first.
    pub fn all(&self, subject: &Subject) -> Vec<Arc<RunRecord>> {
        self.records
            .with(|records| on(records, subject).cloned().collect())
    }

    /// Starts a run with the settings as they are.
    pub fn start(self, lab: Lab, work: Work, (system, mode): Wanted) {
        let settings = lab.settings.get_untracked();
        let variant = variant(&work, system, mode, &settings);
        let spec = Plan {
            id: new_id(),
            system,
            epoch: self.next_epoch(&work, system, &variant, &settings),
            panel: settings.panel(),
            agent: settings.agent_ref(),
            params: settings.params,
            source: Source::Live,
            variant,
            given: None,
            again: None,
        };
        self.launch(lab, work, spec);
    }

    /// Has the judges of the settings judge a run's output, without running the agent again. A run
    /// of an opened file is kept in this browser from then on.
    pub fn judge_again(self, lab: Lab, work: Work, record: Arc<RunRecord>) {
        let plan = again(record, lab.settings.with_untracked(Settings::panel));
        self.launch(lab, work, plan);
    }

    /// What earlier runs on an instance found, so that equal stages are not paid again.
    fn memo(&self, work: &Work) -> StageMemo {
        let mut memo = StageMemo::new();
        let subject = work.subject();
        self.records.with_untracked(|records| {
            for record in on(records, &subject) {
                memo.add(&record.id, &record.stages);
            }
        });
        memo
    }

    /// Goes on with an interrupted run: same id, so that calls already answered are not paid again.
    pub fn resume(self, lab: Lab, work: Work, record: &RunRecord) {
        let spec = Plan {
            id: record.id.clone(),
            system: record.system,
            epoch: record.epoch,
            panel: lab.settings.with_untracked(Settings::panel),
            agent: record.agent.clone(),
            params: record.params.clone(),
            source: Source::Live,
            variant: record.variant.clone(),
            given: record.output.clone().filter(|_| record.system.is_given()),
            again: None,
        };
        self.launch(lab, work, spec);
    }

    /// Drives the pipeline of this release with the calls of a run, without network.
    pub fn replay(self, lab: Lab, work: Work, record: &RunRecord) {
        let tape = Tape::of(record);
        if tape.is_empty() {
            return lab
                .notices
                .info("This run called no model, so there is nothing to replay");
        }
        let plan = Plan {
            id: format!("replay-{}", new_id()),
            system: record.system,
            epoch: record.epoch,
            panel: recorded_panel(record, lab.settings.with_untracked(Settings::panel)),
            agent: record.agent.clone(),
            params: record.params.clone(),
            source: Source::Replay(Rc::new(RefCell::new(tape))),
            variant: record.variant.clone(),
            given: record.output.clone().filter(|_| record.system.is_given()),
            again: None,
        };
        self.launch(lab, work, plan);
    }

    /// One pass over several runs whose answers come by file: each goes on until it needs one that
    /// is not there. `step` hears how many are done, and says whether to go on. Gives the calls that
    /// wait.
    pub async fn batch_pass(
        self,
        lab: Lab,
        works: Vec<(Work, Option<RunRecord>)>,
        system: System,
        step: impl Fn(usize) -> bool,
    ) -> Vec<Pending> {
        let waiting = Rc::new(RefCell::new(Vec::new()));
        for (done, (work, record)) in works.into_iter().enumerate() {
            if !step(done) {
                break;
            }
            let settings = lab.settings.get_untracked();
            let (panel, source) = (settings.panel(), Source::Batch(Rc::clone(&waiting)));
            let variant = variant(&work, system, Mode::Task, &settings);
            let plan = match record {
                Some(record) => Plan {
                    id: record.id,
                    system: record.system,
                    epoch: record.epoch,
                    panel,
                    agent: record.agent,
                    params: record.params,
                    source,
                    variant: record.variant,
                    given: None,
                    again: None,
                },
                None => Plan {
                    id: new_id(),
                    system,
                    epoch: self.next_epoch(&work, system, &variant, &settings),
                    panel,
                    agent: settings.agent_ref(),
                    params: settings.params,
                    source,
                    variant,
                    given: None,
                    again: None,
                },
            };
            let Some(task) = self.task(lab, work, plan) else {
                break;
            };
            self.complete(lab, task, true).await;
        }
        waiting.take()
    }

    /// Stops a run; its stages so far are kept.
    pub fn cancel(self, id: &str) {
        if let Some(abort) = self.aborts.with_value(|aborts| aborts.get(id).cloned()) {
            abort.abort();
        }
    }

    fn launch(self, lab: Lab, work: Work, plan: Plan) {
        if let Some(task) = self.task(lab, work, plan) {
            // Somebody is there to choose; many runs in a row wait for nobody.
            task.asks.set(true);
            spawn_local(async move { drop(self.complete(lab, task, false).await) });
        }
    }

    fn task(self, lab: Lab, work: Work, plan: Plan) -> Option<Task> {
        let edge = lab.edge.get_untracked()?;
        let ((live, choices), abort) = (LiveRun::new(&plan, &work), Abort::new());
        if let Some(before) = &plan.again {
            live.stages.set(before.stages.clone());
            live.judging.set(true);
        }
        self.aborts
            .update_value(|aborts| drop(aborts.insert(plan.id.clone(), abort.clone())));
        self.live.update(|all| all.push(live.clone()));
        // A replay is about what the pipeline makes of the recorded calls, so it shares nothing.
        let memo = match plan.source {
            Source::Replay(_) => StageMemo::new(),
            _ => self.memo(&work),
        };
        let began_by_words = self.records.with_untracked(|records| {
            let mut before = records.iter().filter(|record| record.id == plan.id);
            before.any(|record| record.retriever.model == BY_WORDS)
        });
        Some(Task {
            began_by_words,
            memo,
            lab,
            edge,
            work,
            plan,
            live,
            abort,
            choices: RefCell::new(Some(choices)),
            asks: Cell::new(false),
            retriever: lab
                .settings
                .with_untracked(|settings| settings.retriever.clone()),
            remote: RefCell::default(),
        })
    }

    /// Runs to the end and keeps the record. `quiet` where a run that ends early is no news.
    async fn complete(self, lab: Lab, task: Task, quiet: bool) -> Arc<RunRecord> {
        let record = task.run().await;
        task.edge.runs.save(&record).await;
        self.finish(lab, record, quiet || task.plan.again.is_some())
    }

    fn finish(self, lab: Lab, record: RunRecord, quiet: bool) -> Arc<RunRecord> {
        self.aborts
            .update_value(|aborts| drop(aborts.remove(&record.id)));
        lab.desk.forget(&record.id);
        if let RunStatus::Failed { message } = &record.status
            && !quiet
        {
            lab.notices.bad(Problem::new(message, None::<&str>));
        }
        let record = Arc::new(record);
        self.put(Arc::clone(&record));
        self.live
            .update(|all| all.retain(|run| run.id != record.id));
        lab.tell_tabs(&record.id);
        record
    }

    /// Takes a run that another tab saved.
    pub fn take(self, record: RunRecord) {
        let here = |all: &Vec<LiveRun>| all.iter().any(|run| run.id == record.id);
        if !self.live.with_untracked(here) {
            self.put(Arc::new(record));
        }
    }

    /// Puts a run among the records, in the place of what was known of it.
    fn put(self, record: Arc<RunRecord>) {
        self.records.update(|records| {
            let known = records.iter().position(|old| old.id == record.id);
            match known.filter(|at| records[*at].status == RunStatus::Done) {
                // Judged again: it keeps its place among the others.
                Some(at) => records[at] = record,
                None => {
                    records.retain(|old| old.id != record.id);
                    records.push(record);
                }
            }
        });
    }

    /// Repeats count from 1 for each system, model, set of parameters and wording of prompts.
    fn next_epoch(
        self,
        work: &Work,
        system: System,
        variant: &Variant,
        settings: &Settings,
    ) -> u32 {
        let (agent, subject) = (settings.agent_ref(), work.subject());
        let same = |record: &&Arc<RunRecord>| {
            record.system == system
                && record.agent == agent
                && record.params == settings.params
                && record.variant == *variant
                && record.status == RunStatus::Done
        };
        let last = self.records.with_untracked(|records| {
            let same = on(records, &subject).filter(same);
            same.map(|record| record.epoch).max()
        });
        last.unwrap_or(0) + 1
    }
}

/// The judges of a recorded run, as far as its calls tell, else those of the settings.
fn recorded_panel(record: &RunRecord, chosen: Panel) -> Panel {
    let mut judges: Vec<JudgeModel> = Vec::new();
    for judgement in &record.judgements {
        let Some(call) = judgement.calls.first() else {
            continue;
        };
        let same = |judge: &&mut JudgeModel| {
            judge.model == call.request.model
                && judge.base_url == call.base_url
                && judge.wording == judgement.wording
        };
        match judges.iter_mut().find(same) {
            Some(judge) => judge.repeats += 1,
            None => judges.push(JudgeModel {
                model: call.request.model.clone(),
                base_url: call.base_url.clone(),
                repeats: 1,
                temperature: call.request.temperature,
                seed: call.request.seed,
                max_output_tokens: call
                    .request
                    .max_tokens
                    .unwrap_or(record.params.max_output_tokens),
                wording: judgement.wording.clone(),
            }),
        }
    }
    match judges.is_empty() {
        true => Panel {
            judges: Vec::new(),
            ..chosen
        },
        false => Panel { judges, ..chosen },
    }
}

/// What is special about a run with the settings as they are.
fn variant(work: &Work, system: System, mode: Mode, settings: &Settings) -> Variant {
    let donor = || {
        let shards = &work.open.dataset.manifest.shards;
        let personas = shards.iter().map(|shard| &shard.persona);
        let (id, own) = (&work.instance.id, &work.instance.persona);
        supply::donor(settings.params.seed, id, own, personas)
    };
    Variant {
        mode,
        donor: (system == System::OtherHistory).then(donor).flatten(),
        edits: settings.prompts.of_agents(),
    }
}

/// The plan that asks a panel about the output of a run.
fn again(record: Arc<RunRecord>, panel: Panel) -> Plan {
    Plan {
        id: record.id.clone(),
        system: record.system,
        epoch: record.epoch,
        agent: record.agent.clone(),
        panel,
        params: record.params.clone(),
        source: Source::Live,
        variant: record.variant.clone(),
        given: None,
        again: Some(record),
    }
}

/// The records on one instance of one version of a dataset.
fn on<'a>(
    records: &'a [Arc<RunRecord>],
    subject: &'a Subject,
) -> impl DoubleEndedIterator<Item = &'a Arc<RunRecord>> {
    records.iter().filter(|record| {
        record.instance == subject.instance && record.dataset.sha256 == subject.dataset_sha256
    })
}

/// Time and chance: unique among one visitor's runs, and sorts by time.
fn new_id() -> String {
    let chance = (js_sys::Math::random() * f64::from(u32::MAX)) as u32;
    format!("{:011x}-{chance:08x}", now_ms() as u64)
}
