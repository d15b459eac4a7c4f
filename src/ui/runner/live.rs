//! A run under way, as pages see it.

use super::task::Plan;
use super::{Subject, Work};
use crate::agent::trace::{StageId, StageRecord, System};
use crate::browser::clock::now_ms;
use crate::browser::engine::EngineProgress;
use crate::route::DatasetKey;
use crate::run::RunEvent;
use crate::run::record::Mode;
use crate::words::sentence;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use leptos::prelude::*;

/// A run under way, as far as it can be seen. Clones show the same run.
#[derive(Clone, Debug)]
pub struct LiveRun {
    pub id: String,
    pub subject: Subject,
    /// Where the instance can be opened again.
    pub dataset: DatasetKey,
    pub system: System,
    pub mode: Mode,
    pub started_ms: f64,
    pub stages: ArcRwSignal<Vec<StageRecord>>,
    pub current: ArcRwSignal<Option<StageId>>,
    pub judging: ArcRwSignal<bool>,
    /// Text of the current model call.
    pub stream: ArcRwSignal<String>,
    /// Work that is no stage, for example loading the model.
    pub progress: ArcRwSignal<Option<EngineProgress>>,
    /// What can be chosen while there is no embedding model.
    pub offer: ArcRwSignal<Option<Offer>>,
    /// Takes the choice.
    pub(super) choice: UnboundedSender<Choice>,
}

/// Says that a run waits for the embedding model, and why in vain if so.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub failed: Option<String>,
}

/// What the visitor answers to an [`Offer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    ByWords,
    TryAgain,
}

impl PartialEq for LiveRun {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl LiveRun {
    /// A run that has just begun, and where the visitor's choices come out.
    pub(super) fn new(plan: &Plan, work: &Work) -> (Self, UnboundedReceiver<Choice>) {
        let (choice, choices) = unbounded();
        let live = Self {
            id: plan.id.clone(),
            subject: work.subject(),
            dataset: work.open.key.clone(),
            system: plan.system,
            mode: plan.variant.mode,
            started_ms: now_ms(),
            stages: ArcRwSignal::new(Vec::new()),
            current: ArcRwSignal::new(None),
            judging: ArcRwSignal::new(false),
            stream: ArcRwSignal::new(String::new()),
            progress: ArcRwSignal::new(None),
            offer: ArcRwSignal::new(None),
            choice,
        };
        (live, choices)
    }

    /// Answers the offer.
    pub fn choose(&self, choice: Choice) {
        // A run that has ended waits for nothing.
        let _ = self.choice.unbounded_send(choice);
    }

    pub(super) fn hear(&self, event: RunEvent) {
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
