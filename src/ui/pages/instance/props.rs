//! What the instance view is given, and what it asks of its owner. The owner (the application's
//! state) runs, stores and navigates; this view only shows and asks.

use crate::agent::trace::{StageId, StageRecord, System};
use crate::bench::hidden::{HiddenInstance, Persona};
use crate::bench::ids::{PersonaId, RequirementId, SessionId};
use crate::bench::taxonomy::Domain;
use crate::bench::visible::{History, Instance};
use crate::judge::VerdictState;
use crate::llm::price::PriceTable;
use crate::prompts::Edits;
use crate::run::focus::Focus;
use crate::run::record::{Mode, ModelRef, Params, RunRecord, RunStatus};
use leptos::prelude::{Callback, Signal};
use std::sync::Arc;

/// Everything [`super::InstancePage`] shows. One set for one instance: mount the page anew when
/// the instance changes.
#[derive(Clone)]
pub struct InstanceProps {
    pub instance: Arc<Instance>,
    pub domain: Domain,
    pub history: Arc<History>,
    /// Shown only when `revealed` is set or a run is finished.
    pub hidden: Arc<HiddenInstance>,
    /// Who the user is; hidden like the above. `None` where the data set does not say.
    pub persona: Option<Arc<Persona>>,
    /// The visitor asked to see the hidden half.
    pub revealed: Signal<bool>,
    pub run: RunView,
    /// What can be run, in the order of the menu.
    pub systems: Vec<System>,
    /// The system chosen; part of the address.
    pub system: Signal<System>,
    /// Act on the task or answer questions; part of the address.
    pub mode: Signal<Mode>,
    /// Every run on this instance, oldest first.
    pub runs: Signal<Vec<Arc<RunRecord>>>,
    /// Parameters and prompt texts of the runs to come.
    pub params: Signal<Params>,
    pub edits: Signal<Edits>,
    /// What tokens cost.
    pub prices: Signal<PriceTable>,
    /// Model that will do the work, as [`crate::run::record::ModelRef::label`] names it.
    pub model: Signal<String>,
    /// The same, for what a system says about it.
    pub agent: Signal<ModelRef>,
    /// Embedding models that can be chosen, as value and words, and the chosen one's value.
    pub retrievers: Signal<Vec<(String, String)>>,
    pub retriever: Signal<String>,
    /// Why a run cannot start now, in a sentence with the next step; `None` when it can.
    pub blocked: Signal<Option<String>>,
    /// Whether and how the run shown can be judged again.
    pub again: Signal<Again>,
    /// Part of the address.
    pub focus: Signal<Focus>,
    /// Address of a session of another user, whose history a run may have read.
    pub session_of: Callback<(PersonaId, SessionId), Option<String>>,
    /// Addresses of the neighbours in the list the visitor came from.
    pub neighbours: Neighbours,
    pub on: Actions,
}

/// The run of the chosen system on this instance, as it goes. All fields are empty before the
/// first run.
#[derive(Clone, Copy)]
pub struct RunView {
    /// `None` before the first run.
    pub status: Signal<Option<RunStatus>>,
    /// Finished stages so far, in order.
    pub stages: Signal<Vec<StageRecord>>,
    /// The stage that is running.
    pub current: Signal<Option<StageId>>,
    /// The stages are through and the judge is at work.
    pub judging: Signal<bool>,
    /// Text of the current model call so far.
    pub stream: Signal<String>,
    /// Work inside the current stage or before the first one, for example loading the model.
    pub progress: Signal<Option<Progress>>,
    /// What can be chosen while there is no embedding model: the reason, if it failed to load.
    pub offer: Signal<Option<Option<String>>>,
    /// The record, once there is one; live fields above win while the status is running.
    pub record: Signal<Option<Arc<RunRecord>>>,
    /// Milliseconds since the Unix epoch.
    pub started_ms: Signal<Option<f64>>,
    /// An interrupted run of this system and instance lies in the journal.
    pub resumable: Signal<bool>,
}

/// `done` of `total` bytes or passages; `total` 0 when it is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// For example `loading the embedding model`.
    pub what: String,
    pub done: u64,
    pub total: u64,
}

/// Addresses (`#/…`) of the previous and the next instance, and of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbours {
    pub list: String,
    pub previous: Option<String>,
    pub next: Option<String>,
    /// For example `12 of 110`.
    pub position: Option<String>,
}

/// Judging a run again, as it stands with the settings as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Again {
    /// Why it cannot start now, in a sentence with the next step.
    pub blocked: Option<String>,
    /// What would be asked, in words.
    pub plan: String,
    /// The last round that counts; 0 when it was never judged again.
    pub round: u32,
}

/// Forms a result can be saved in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExportFormat {
    /// Inspect `EvalLog` as JSON.
    Json,
    /// The same, gzip'd.
    JsonGz,
}

/// A person's verdict in place of the judges'.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub requirement: RequirementId,
    pub state: VerdictState,
    pub author: String,
    pub reason: String,
}

/// What the view asks of its owner.
#[derive(Clone, Copy)]
pub struct Actions {
    pub run: Callback<(System, Mode)>,
    pub cancel: Callback<()>,
    /// Go on by words, or else try to load the model again.
    pub by_words: Callback<bool>,
    pub resume: Callback<()>,
    /// Runs the pipeline with the calls of the run that is shown, without network.
    pub replay: Callback<()>,
    pub export: Callback<ExportFormat>,
    /// Puts the verdict down in the record shown; says what is missing, or nothing.
    pub overrule: Callback<Change, Option<String>>,
    /// Has the judges of the settings judge the output shown.
    pub judge_again: Callback<()>,
    /// Sets the verdicts of the last such round aside.
    pub take_back: Callback<()>,
    /// Takes the last such verdict back.
    pub undo_overrule: Callback<RequirementId>,
    /// Who changed a verdict last, to begin with.
    pub author: Callback<(), String>,
    /// The visitor confirmed that the hidden half may be shown.
    pub reveal: Callback<()>,
    pub choose: Callback<(System, Mode)>,
    /// Show this run.
    pub open_run: Callback<Arc<RunRecord>>,
    pub set_params: Callback<Params>,
    pub set_edits: Callback<Edits>,
    /// Chooses the embedding model of the runs to come.
    pub set_retriever: Callback<String>,
    /// Put this focus into the address (replacing the entry, not adding one).
    pub focus: Callback<Focus>,
    /// The same for a way the visitor took: "back" returns from it.
    pub visit: Callback<Focus>,
    /// Open another view's address.
    pub go: Callback<String>,
}
