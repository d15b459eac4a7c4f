//! What the parts of the view share: the given, what follows from it, and the few things that
//! are the view's own.

use super::props::{Actions, InstanceProps, RunView};
use crate::agent::trace::{Output, StageId, StageOutcome, StageRecord, System};
use crate::agent::trace_view::{self, Trail};
use crate::bench::ids::{PersonaId, RequirementId, SessionId};
use crate::browser::clock::now_ms;
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
    /// Steps unfolded beside the one in focus.
    pub open_steps: RwSignal<BTreeSet<(StageId, u32)>>,
    /// When Run or Cancel was last pressed, in milliseconds, and for what.
    pressed: StoredValue<Option<(f64, (System, Mode))>>,
}

/// Presses within this many milliseconds are one double click.
const DOUBLE_CLICK: f64 = 500.0;

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
            open_steps: RwSignal::new(BTreeSet::new()),
            pressed: StoredValue::new(None),
        }
    }

    pub fn running(self) -> bool {
        running(self.run)
    }

    /// Runs what is chosen, or cancels the run. Both are one button in one place, so the second half
    /// of a double click does nothing.
    pub fn run_or_cancel(self) {
        let (now, chosen) = (now_ms(), untrack(|| self.chosen()));
        let before = self.pressed.get_value();
        if before.is_some_and(|(at, what)| what == chosen && now - at < DOUBLE_CLICK) {
            return;
        }
        self.pressed.set_value(Some((now, chosen)));
        match untrack(|| self.running()) {
            true => self.on.cancel.run(()),
            false => self.on.run.run(chosen),
        }
    }

    /// Whether a run can start now.
    pub fn can_run(self) -> bool {
        !self.running() && self.given.with_value(|given| given.blocked).get().is_none()
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
            self.visit(|focus| focus.session = Some(session.clone()));
        }
    }

    /// Leads to a session in the history.
    pub fn show_session(self, session: &SessionId) {
        self.open.update(|open| _ = open.insert(session.clone()));
        self.visit(|focus| {
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
        self.visit(|focus| focus.step_to(stage, nth));
    }

    /// Whether a step is unfolded.
    pub fn is_step_open(self, stage: StageId, nth: u32) -> bool {
        self.focus
            .with(|focus| focus.stage == Some(stage) && focus.nth == nth)
            || self.open_steps.with(|open| open.contains(&(stage, nth)))
    }

    /// Unfolds a step beside the others and puts it into the address, or folds it.
    pub fn toggle_step(self, stage: StageId, nth: u32) {
        if untrack(|| self.is_step_open(stage, nth)) {
            self.open_steps
                .update(|open| _ = open.remove(&(stage, nth)));
            self.change(|focus| {
                if focus.stage == Some(stage) && focus.nth == nth {
                    focus.stage = None;
                    focus.nth = 0;
                }
            });
        } else {
            // The one in focus so far stays as it is.
            let last = self
                .focus
                .with_untracked(|focus| focus.stage.map(|stage| (stage, focus.nth)));
            self.open_steps.update(|open| {
                open.extend(last);
                open.insert((stage, nth));
            });
            self.visit(|focus| {
                focus.stage = Some(stage);
                focus.nth = nth;
            });
        }
    }

    /// Folds everything, and takes all of it out of the address.
    pub fn fold_all(self) {
        self.open.update(BTreeSet::clear);
        self.open_steps.update(BTreeSet::clear);
        self.change(|focus| {
            focus.requirement = None;
            focus.stage = None;
            focus.nth = 0;
            focus.session = None;
        });
    }

    /// The chosen system and mode.
    pub fn chosen(self) -> (System, Mode) {
        let (system, mode) = self.given.with_value(|given| (given.system, given.mode));
        (system.get(), mode.get())
    }

    /// Leads to a requirement.
    pub fn show_requirement(self, requirement: &RequirementId) {
        self.visit(|focus| {
            focus.tab = Tab::Outcome;
            focus.requirement = Some(requirement.clone());
        });
    }

    pub fn show_tab(self, tab: Tab) {
        self.visit(|focus| focus.tab = tab);
    }

    /// Marks a quote in the output and leads there.
    pub fn show_quote(self, quote: &str) {
        self.quote.set(Some(quote.to_owned()));
        self.visit(|focus| focus.tab = Tab::Outcome);
        super::scroll::to("output");
    }

    /// Changes the focus in place, as folding does; "back" leaves the view.
    pub fn change(self, change: impl FnOnce(&mut Focus)) {
        if let Some(focus) = self.changed(change) {
            self.on.focus.run(focus);
        }
    }

    /// Goes to another focus; "back" returns from it.
    pub fn visit(self, change: impl FnOnce(&mut Focus)) {
        if let Some(focus) = self.changed(change) {
            self.on.visit.run(focus);
        }
    }

    fn changed(self, change: impl FnOnce(&mut Focus)) -> Option<Focus> {
        let before = self.focus.get_untracked();
        let mut focus = before.clone();
        change(&mut focus);
        (focus != before).then_some(focus)
    }

    /// Date of a session as `2 Mar`, for links to it.
    pub fn day(self, session: &SessionId) -> String {
        self.timeline.with_value(|timeline| {
            let row = timeline.position(session).map(|at| &timeline.rows[at]);
            row.map(|row| row.date.day_label())
                .unwrap_or_else(|| session.0.clone())
        })
    }

    /// Whose history the run that is shown read in place of this user's.
    pub fn donor(self) -> Option<PersonaId> {
        self.run
            .record
            .with(|record| record.as_ref()?.variant.donor.clone())
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
