//! What the parts of the view share: the given, what follows from it, and the few things that
//! are the view's own.

use super::props::{Actions, InstanceProps, RunView};
use crate::agent::trace::{Output, StageId, StageOutcome, StageRecord, System};
use crate::agent::trace_view::{self, Trail};
use crate::bench::ids::{RequirementId, SessionId};
use crate::run::focus::{Focus, Tab};
use crate::run::outcome::{self, Row};
use crate::run::qa;
use crate::run::record::{Mode, RunStatus};
use crate::run::timeline::{self, Revealed, Timeline};
use leptos::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A bundle of signals, passed on as an argument.
#[derive(Clone, Copy)]
pub(super) struct Page {
    pub given: StoredValue<InstanceProps>,
    pub timeline: StoredValue<Timeline>,
    pub run: RunView,
    pub focus: Signal<Focus>,
    pub on: Actions,
    /// The hidden half may be seen: revealed, or a run is finished.
    pub shown: Memo<bool>,
    /// Stages of the run that goes on, else of the record.
    pub stages: Memo<Arc<Vec<StageRecord>>>,
    pub trails: Memo<Arc<Vec<Trail>>>,
    /// Empty until shown.
    pub evidence: Memo<Arc<BTreeMap<SessionId, Revealed>>>,
    pub rows: Memo<Arc<Vec<Row>>>,
    /// Evidence sessions of the requirement in focus, else of all; empty until shown.
    pub wanted: Memo<Vec<SessionId>>,
    pub output: Memo<Option<Output>>,
    /// The quote marked in the output.
    pub quote: RwSignal<Option<String>>,
    /// Sessions unfolded beside the one in focus.
    pub open: RwSignal<BTreeSet<SessionId>>,
}

impl Page {
    pub fn new(props: InstanceProps) -> Self {
        let (run, focus, revealed, on) = (props.run, props.focus, props.revealed, props.on);
        let timeline = StoredValue::new(Timeline::new(&props.history));
        let given = StoredValue::new(props);
        let shown = Memo::new(move |_| revealed.get() || finished(run));
        let stages = Memo::new(move |_| stages(run));
        let mode = given.with_value(|given| given.mode);
        let hidden = move || given.with_value(|given| given.hidden.clone());
        let posed = move || {
            let mode = run.record.with(|record| match record {
                Some(record) => record.variant.mode,
                None => mode.get(),
            });
            match mode {
                Mode::Task => hidden(),
                Mode::Qa => Arc::new(qa::as_requirements(&hidden())),
            }
        };
        let rows = Memo::new(move |_| {
            let record = run.record.get().filter(|_| !running(run));
            Arc::new(outcome::rows(&posed(), record.as_deref()))
        });
        let wanted = Memo::new(move |_| match shown.get() {
            true => wanted(
                &rows.get(),
                focus.with(|focus| focus.requirement.clone()).as_ref(),
            ),
            false => Vec::new(),
        });
        Self {
            given,
            timeline,
            run,
            focus,
            on,
            shown,
            stages,
            trails: Memo::new(move |_| Arc::new(trace_view::trails(&stages.get()))),
            evidence: Memo::new(move |_| {
                let evidence = shown.get().then(|| timeline::evidence(&hidden()));
                Arc::new(evidence.unwrap_or_default())
            }),
            rows,
            wanted,
            output: Memo::new(move |_| {
                stages
                    .get()
                    .iter()
                    .rev()
                    .find_map(|record| match &record.outcome {
                        StageOutcome::Output { output } => Some(output.clone()),
                        _ => None,
                    })
            }),
            quote: RwSignal::new(None),
            open: RwSignal::new(BTreeSet::new()),
        }
    }

    pub fn running(self) -> bool {
        running(self.run)
    }

    /// Whether a session is unfolded.
    pub fn is_open(self, session: &SessionId) -> bool {
        self.focus
            .with(|focus| focus.session.as_ref() == Some(session))
            || self.open.with(|open| open.contains(session))
    }

    /// Unfolds a session and puts it into the address, or folds it.
    pub fn toggle_session(self, session: &SessionId) {
        if untrack(|| self.is_open(session)) {
            self.open.update(|open| _ = open.remove(session));
            self.change(|focus| focus.session = None);
        } else {
            self.open.update(|open| _ = open.insert(session.clone()));
            self.change(|focus| focus.session = Some(session.clone()));
        }
    }

    /// Leads to a session in the history.
    pub fn show_session(self, session: &SessionId) {
        self.open.update(|open| _ = open.insert(session.clone()));
        self.change(|focus| {
            focus.tab = Tab::History;
            focus.session = Some(session.clone());
        });
    }

    /// Leads to the first step of a stage.
    pub fn show_stage(self, stage: StageId) {
        self.show_step(stage, 0);
    }

    /// Leads to a step.
    pub fn show_step(self, stage: StageId, nth: u32) {
        self.change(|focus| {
            focus.tab = Tab::Trace;
            focus.stage = Some(stage);
            focus.nth = nth;
        });
    }

    pub fn toggle_step(self, stage: StageId, nth: u32) {
        self.change(|focus| {
            let open = focus.stage == Some(stage) && focus.nth == nth;
            focus.stage = (!open).then_some(stage);
            focus.nth = if open { 0 } else { nth };
        });
    }

    /// The chosen system and mode.
    pub fn chosen(self) -> (System, Mode) {
        let (system, mode) = self.given.with_value(|given| (given.system, given.mode));
        (system.get(), mode.get())
    }

    /// Leads to a requirement.
    pub fn show_requirement(self, requirement: &RequirementId) {
        self.change(|focus| {
            focus.tab = Tab::Outcome;
            focus.requirement = Some(requirement.clone());
        });
    }

    pub fn show_tab(self, tab: Tab) {
        self.change(|focus| focus.tab = tab);
    }

    /// Marks a quote in the output and leads there.
    pub fn show_quote(self, quote: &str) {
        self.quote.set(Some(quote.to_owned()));
        self.change(|focus| focus.tab = Tab::Outcome);
        super::scroll::to("output");
    }

    pub fn change(self, change: impl FnOnce(&mut Focus)) {
        let mut focus = self.focus.get_untracked();
        let before = focus.clone();
        change(&mut focus);
        if focus != before {
            self.on.focus.run(focus);
        }
    }

    /// Date of a session as `2 Mar`, for links to it.
    pub fn day(self, session: &SessionId) -> String {
        self.timeline.with_value(|timeline| {
            let row = timeline.position(session).map(|at| &timeline.rows[at]);
            row.map(|row| row.date.day_label())
                .unwrap_or_else(|| session.0.clone())
        })
    }

    /// Whether the session is one of this user's; a run may have read somebody else's.
    pub fn has_session(self, session: &SessionId) -> bool {
        self.timeline
            .with_value(|timeline| timeline.position(session).is_some())
    }
}

/// Evidence of one requirement, or, where none is in focus, of all.
fn wanted(rows: &[Row], focus: Option<&RequirementId>) -> Vec<SessionId> {
    let one = rows.iter().find(|row| Some(&row.id) == focus);
    let rows = one.map_or(rows, std::slice::from_ref);
    let sessions: BTreeSet<_> = rows
        .iter()
        .flat_map(|row| &row.evidence)
        .map(|link| link.session.clone())
        .collect();
    sessions.into_iter().collect()
}

fn running(run: RunView) -> bool {
    run.status.get() == Some(RunStatus::Running)
}

fn finished(run: RunView) -> bool {
    run.status.get() == Some(RunStatus::Done)
        || (!running(run)
            && run.record.with(|record| {
                record
                    .as_ref()
                    .is_some_and(|record| record.status == RunStatus::Done)
            }))
}

fn stages(run: RunView) -> Arc<Vec<StageRecord>> {
    let live = run.stages.get();
    match run.record.get() {
        Some(record) if !running(run) => Arc::new(record.stages.clone()),
        _ => Arc::new(live),
    }
}
