//! Many runs one after another, a few at a time: owned by the root, so that they go on while the
//! visitor looks at other pages. Each run is saved as it ends; what was done is never done again.

use super::task::Plan;
use super::{Runner, Work, new_id};
use crate::agent::trace::{Output, System};
use crate::bench::hash::sha256_hex;
use crate::bench::ids::InstanceId;
use crate::browser::env::Source;
use crate::run::again;
use crate::run::many::{MOST_FAILURES, Progress, Todo, Wanted, todo};
use crate::run::record::{Mode, ModelRef, RunRecord, RunStatus, Variant};
use crate::settings::Choice;
use crate::ui::data::Open;
use crate::ui::parts::Problem;
use crate::ui::state::Lab;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::collections::VecDeque;
use std::sync::Arc;

/// What is done with one instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Run a system and judge it.
    Run { system: System },
    /// Judge an output of another program.
    Judge {
        output: Output,
        by: String,
        epoch: u32,
    },
    /// Judge the instance's gold-labelled sample.
    Sample,
    /// Judge the output of a run again.
    Again { run: Arc<RunRecord> },
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub instance: InstanceId,
    pub kind: Kind,
}

/// How it stands with a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchState {
    pub progress: Progress,
    pub phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    Running,
    /// The runs at work end; no further one begins until the visitor goes on.
    Paused,
    /// Stopped by itself: the same failure again and again, in a sentence.
    Stuck(String),
    Finished,
}

/// Handle.
#[derive(Clone, Copy)]
pub struct Batch {
    pub state: RwSignal<Option<BatchState>>,
    queue: StoredValue<VecDeque<Item>, LocalStorage>,
    open: StoredValue<Option<Open>, LocalStorage>,
    /// Ids of the runs at work.
    at_work: StoredValue<Vec<String>>,
    /// Lanes that take work from the queue.
    lanes: StoredValue<u32>,
    failures_in_a_row: StoredValue<u32>,
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    pub fn new() -> Self {
        Self {
            state: RwSignal::new(None),
            queue: StoredValue::new_local(VecDeque::new()),
            open: StoredValue::new_local(None),
            at_work: StoredValue::new(Vec::new()),
            lanes: StoredValue::new(0),
            failures_in_a_row: StoredValue::new(0),
        }
    }

    /// Whether one is under way or waits to go on.
    pub fn busy(self) -> bool {
        let over = |state: &BatchState| state.phase == Phase::Finished;
        self.state
            .with(|state| state.as_ref().is_some_and(|state| !over(state)))
    }

    /// Begins a batch; one that is under way goes on first, so the new one is refused.
    pub fn start(self, lab: Lab, open: Open, title: String, items: Vec<Item>) {
        if untrack(|| self.busy()) {
            let text = "Another batch is under way";
            lab.notices.bad(Problem::new(
                text,
                Some("Cancel it, or wait until it is through."),
            ));
            return;
        }
        let progress = Progress {
            title,
            total: items.len() as u32,
            ..Progress::default()
        };
        self.queue.set_value(items.into());
        self.open.set_value(Some(open));
        self.state.set(Some(BatchState {
            progress,
            phase: Phase::Running,
        }));
        self.work(lab);
    }

    /// Lets the runs at work end and begins no further one.
    pub fn pause(self) {
        self.phase(Phase::Paused);
    }

    /// Goes on after a pause or after a failure was seen to.
    pub fn go_on(self, lab: Lab) {
        self.failures_in_a_row.set_value(0);
        self.phase(Phase::Running);
        self.work(lab);
    }

    /// Ends the batch; runs at work are cancelled and keep their stages.
    pub fn cancel(self, lab: Lab) {
        self.queue.update_value(VecDeque::clear);
        for id in self.at_work.get_value() {
            lab.runner.cancel(&id);
        }
        self.phase(Phase::Finished);
    }

    /// Takes the bar away.
    pub fn dismiss(self) {
        self.state.set(None);
    }

    fn phase(self, phase: Phase) {
        self.state.update(|state| {
            if let Some(state) = state {
                state.phase = phase;
            }
        });
    }

    fn running(self) -> bool {
        self.state.with_untracked(|state| {
            state
                .as_ref()
                .is_some_and(|state| state.phase == Phase::Running)
        })
    }

    /// Opens as many lanes as the work can use: the engine has one processor to itself, endpoints
    /// answer several calls at once.
    fn work(self, lab: Lab) {
        let local = lab.settings.with_untracked(|settings| {
            settings.agent == Choice::Embedded && settings.panel().judges.is_empty()
        });
        let wanted = if local { 1 } else { 3 };
        while self.lanes.get_value() < wanted {
            self.lanes.update_value(|lanes| *lanes += 1);
            spawn_local(async move {
                self.lane(lab).await;
                self.lanes.update_value(|lanes| *lanes -= 1);
                if self.lanes.get_value() == 0 && self.running() {
                    self.phase(Phase::Finished);
                }
            });
        }
    }

    async fn lane(self, lab: Lab) {
        while self.running() {
            let Some(item) = self.queue.try_update_value(VecDeque::pop_front).flatten() else {
                return;
            };
            match self.one(lab, item.clone()).await {
                Ok(RunStatus::Cancelled) => {}
                Ok(RunStatus::Failed { message }) => self.count(Some(message)),
                Ok(_) => self.count(None),
                Err(problem) => self.count(Some(problem.text)),
            }
        }
    }

    fn count(self, failure: Option<String>) {
        let in_a_row = match failure {
            Some(_) => self.failures_in_a_row.get_value() + 1,
            None => 0,
        };
        self.failures_in_a_row.set_value(in_a_row);
        self.state.update(|state| {
            let Some(state) = state else { return };
            state.progress.done += 1;
            state.progress.failed += u32::from(failure.is_some());
            if let Some(why) =
                failure.filter(|_| in_a_row >= MOST_FAILURES && state.phase == Phase::Running)
            {
                state.phase = Phase::Stuck(why);
            }
        });
    }

    async fn one(self, lab: Lab, item: Item) -> Result<RunStatus, Problem> {
        let gone = || Problem::new("The dataset is not open any more", Some("Open it again."));
        let open = self.open.get_value().ok_or_else(gone)?;
        let work = Work::load(open, item.instance.clone()).await?;
        let Some(work) = work else {
            let text = format!("The dataset has no instance “{}”", item.instance);
            return Err(Problem::new(text, None::<&str>));
        };
        let Some(plan) = plan(lab, &work, item.kind) else {
            return Ok(RunStatus::Done);
        };
        let id = plan.id.clone();
        self.at_work.update_value(|ids| ids.push(id.clone()));
        let task = lab.runner.task(lab, work, plan);
        let record = match task {
            Some(task) => Some(lab.runner.complete(lab, task, true).await),
            None => None,
        };
        self.at_work
            .update_value(|ids| ids.retain(|other| *other != id));
        record.map(|record| record.status.clone()).ok_or_else(|| {
            Problem::new("The browser’s storage is not open yet", Some("Try again."))
        })
    }
}

/// What makes two runs of a system the same work, under the settings as they are.
fn wanted(lab: Lab, system: System, open: &Open) -> Wanted {
    let settings = lab.settings.get();
    let retriever = lab.shelf.list.with(|kept| settings.retriever.finder(kept));
    Wanted {
        system,
        agent: settings.agent_ref(),
        params: settings.params.clone(),
        edits: settings.prompts.of_agents(),
        retriever,
        dataset_sha256: open.dataset.manifest_sha256.clone(),
    }
}

/// `None` for what was done already, or cannot be.
fn plan(lab: Lab, work: &Work, kind: Kind) -> Option<Plan> {
    let settings = lab.settings.get_untracked();
    let (panel, params) = (settings.panel(), settings.params.clone());
    let given = |system: System, by: String, epoch: u32, output: Output| {
        let dataset = &work.open.dataset.manifest_sha256;
        let what = serde_json::to_string(&output).unwrap_or_default();
        let key = format!("{dataset}/{}/{by}/{epoch}/{what}", work.instance.id);
        // The same output is the same run: judging it again asks only what was not asked before.
        let id = format!("given-{}", &sha256_hex(key.as_bytes())[..24]);
        let before = lab.runner.records.with_untracked(|records| {
            let same = |old: &&Arc<RunRecord>| old.id == id && old.status == RunStatus::Done;
            records.iter().find(same).cloned()
        });
        if let Some(before) = before {
            return super::again(before, panel.clone());
        }
        Plan {
            id,
            system,
            epoch,
            agent: ModelRef::External { name: by },
            panel: panel.clone(),
            params: params.clone(),
            source: Source::Live,
            variant: Variant::default(),
            given: Some(output),
            again: None,
        }
    };
    match kind {
        Kind::Run { system } => {
            let wanted = untrack(|| wanted(lab, system, &work.open));
            let records = lab.runner.records.get_untracked();
            let id = match todo(&wanted, &work.instance.id, &records) {
                Todo::Done => return None,
                Todo::Resume { id } => id,
                Todo::Run => new_id(),
            };
            Some(Plan {
                id,
                system,
                epoch: 1,
                agent: wanted.agent,
                panel,
                params,
                source: Source::Live,
                variant: super::variant(work, system, Mode::Task, &settings),
                given: None,
                again: None,
            })
        }
        Kind::Again { run } => {
            let open = again::calls(&panel, &run) > 0 || again::waiting(&run) > 0;
            open.then(|| super::again(run, panel))
        }
        Kind::Judge { output, by, epoch } => Some(given(System::Imported, by, epoch, output)),
        Kind::Sample => {
            let output = sample(work)?;
            Some(given(
                System::Samples,
                "the dataset’s authors".to_owned(),
                1,
                output,
            ))
        }
    }
}

/// The gold-labelled output of an instance.
fn sample(work: &Work) -> Option<Output> {
    use serde_json::Value;
    match &work.hidden.sample.as_ref()?.output {
        Value::String(text) => Some(Output::GenerateText { text: text.clone() }),
        Value::Object(slots) => Some(Output::CallApi {
            slots: slots.clone(),
            description: String::new(),
        }),
        _ => None,
    }
}

impl Runner {
    /// Instances of a list that a system has not been run on yet, under the settings as they are.
    pub fn left(
        &self,
        lab: Lab,
        open: &Open,
        system: System,
        ids: &[InstanceId],
    ) -> Vec<InstanceId> {
        let wanted = wanted(lab, system, open);
        self.records.with(|records| {
            let left = |id: &&InstanceId| todo(&wanted, id, records) != Todo::Done;
            ids.iter().filter(left).cloned().collect()
        })
    }
}
