//! Gives the instance view its instance and its run, and does what it asks for.

use super::dead_ends::DeadEnds;
use super::instance::{
    Actions, Again, Change, ExportFormat, InstancePage, InstanceProps, Neighbours, Progress,
    RunView,
};
use super::instances::Waiting;
use crate::agent::system::SYSTEMS;
use crate::agent::trace::System;
use crate::bench::error::Warning;
use crate::bench::ids::{InstanceId, PersonaId, RequirementId, SessionId};
use crate::browser::clock;
use crate::browser::files::download;
use crate::judge::again::last_round;
use crate::judge::edit::{self, Note};
use crate::results::inspect::{FileMeta, write};
use crate::route::{DatasetKey, Query, RUN, Route};
use crate::run;
use crate::run::focus::{Focus, Tab};
use crate::run::record::{Mode, NOT_LOADED, RunRecord, RunStatus};
use crate::settings::Settings;
use crate::settings::retriever::ModelChoice;
use crate::ui::amend::amend;
use crate::ui::data::Open;
use crate::ui::models;
use crate::ui::parts::{Empty, Problem, ProblemBox};
use crate::ui::runner::{Choice, LiveRun, Subject, Wanted, Work};
use crate::ui::state::{Lab, lab};
use leptos::prelude::*;
use std::rc::Rc;
use std::sync::Arc;

/// Keys of the instance view, for the help.
pub const INSTANCE_KEYS: &[(&str, &str)] = super::instance::KEYS;

/// What of the address decides that the view is another one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Here {
    dataset: DatasetKey,
    id: InstanceId,
}

#[component]
pub fn InstanceHost() -> impl IntoView {
    let lab = lab();
    let here = Memo::new(move |old: Option<&Here>| {
        lab.route.with(|route| match route {
            Route::Instance { dataset, id, .. } => Here {
                dataset: dataset.clone(),
                id: id.clone(),
            },
            // The view is about to go.
            _ => old.cloned().unwrap_or_default(),
        })
    });
    view! {
        <div class="page wide">
            {move || {
                let here = here.get();
                match lab.data.of(&here.dataset) {
                    Some(open) => view! { <Loading open=open id=here.id /> }.into_any(),
                    None => view! { <Waiting key=here.dataset /> }.into_any(),
                }
            }}
        </div>
    }
}

/// Fetches the shard; one instance opens without the others.
#[component]
fn Loading(open: Open, id: InstanceId) -> impl IntoView {
    let lab = lab();
    let list = Route::instances(open.key.clone()).address();
    let wanted = id.clone();
    let work = LocalResource::new(move || load(lab, open.clone(), wanted.clone()));
    let empty = {
        let text =
            format!("“{id}” may belong to another dataset or an earlier version of this one.");
        move || {
            let (list, text) = (list.clone(), text.clone());
            view! {
                <Empty title="This dataset has no such instance" text=text>
                    <a class="button primary" href=list>"Browse instances"</a>
                </Empty>
            }
        }
    };
    // No `Suspense`: it would keep the last instance's view alive while the next one loads, after
    // the signals of that view are gone.
    move || {
        match work.get() {
        None => view! { <p class="muted waiting" aria-live="polite">"Opening the instance …"</p> }.into_any(),
        Some(Ok(Some(work))) => opened(lab, work),
        Some(Ok(None)) => empty().into_any(),
        Some(Err(problem)) => view! {
            <ProblemBox problem=problem>
                <button type="button" class="button" on:click=move |_| work.refetch()>"Try again"</button>
            </ProblemBox>
        }
        .into_any(),
    }
    }
}

/// The view, below what of its address leads nowhere.
fn opened(lab: Lab, work: Work) -> AnyView {
    name_the_run(lab, work.subject());
    let props = props(lab, work);
    view! {
        <DeadEnds props=StoredValue::new(props.clone()) />
        <InstancePage props=props />
    }
    .into_any()
}

/// Once a run has ended, the address of one of its steps names it, so that a later run does not
/// change what the link means.
fn name_the_run(lab: Lab, subject: Subject) {
    Effect::new(move |_| {
        let focus = focus(lab);
        let unnamed = lab.route.with(|route| route.named_run().is_none());
        if focus.stage.is_some() && unnamed && ended(lab, &subject).is_some() {
            lab.restate(focused(lab, &subject, &focus));
        }
    });
}

/// The run that is shown, once it has ended.
fn ended(lab: Lab, subject: &Subject) -> Option<Arc<RunRecord>> {
    let live = lab.runner.live_of(subject, Some(wanted(lab)));
    record(lab, subject).filter(|record| live.is_none() && record.status != RunStatus::Running)
}

/// The instance with its shard; says what was odd about the shard.
async fn load(lab: Lab, open: Open, id: InstanceId) -> Result<Option<Work>, Problem> {
    let dataset = Rc::clone(&open.dataset);
    let work = Work::load(open, id).await;
    if let Some(odd) = odd(&dataset.take_odd()) {
        lab.notices.odd(odd);
    }
    work
}

/// What was odd about a file that was read all the same.
fn odd(warnings: &[Warning]) -> Option<Problem> {
    let more = match warnings.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let hint = "The file was read all the same; `lab dataset validate` lists what is odd about it.";
    let text = format!("{}{more}", warnings.first()?);
    Some(Problem::new(text, Some(hint)))
}

fn props(lab: Lab, work: Work) -> InstanceProps {
    let id = work.instance.id.clone();
    let entry = work
        .open
        .entry(&id)
        .expect("the work was made from this entry")
        .clone();
    let shown = id.to_string();
    InstanceProps {
        instance: Arc::clone(&work.instance),
        domain: work.open.domain(&entry),
        history: Arc::new(work.shard.history.clone()),
        hidden: Arc::clone(&work.hidden),
        persona: Some(Arc::new(work.shard.persona.clone())),
        revealed: Signal::derive(move || lab.revealed.with(|ids| ids.contains(&shown))),
        run: run_view(lab, work.subject()),
        systems: SYSTEMS.to_vec(),
        system: Signal::derive(move || system(lab)),
        mode: Signal::derive(move || mode(lab)),
        runs: {
            let subject = work.subject();
            Signal::derive(move || lab.runner.all(&subject))
        },
        params: Signal::derive(move || lab.settings.with(|settings| settings.params.clone())),
        edits: Signal::derive(move || lab.settings.with(|settings| settings.prompts.clone())),
        prices: Signal::derive(move || lab.settings.with(|settings| settings.prices.clone())),
        agent: Signal::derive(move || lab.settings.with(|settings| settings.agent_ref())),
        model: Signal::derive(move || lab.settings.with(|settings| settings.agent_ref().label())),
        retrievers: Signal::derive(move || models::choices(lab)),
        retriever: Signal::derive(move || {
            lab.settings
                .with(|settings| settings.retriever.model.word())
        }),
        blocked: Signal::derive(move || blocked(lab)),
        again: {
            let subject = work.subject();
            Signal::derive(move || again(lab, &subject))
        },
        focus: Signal::derive(move || focus(lab)),
        session_of: {
            let open = StoredValue::new_local(work.open.clone());
            Callback::new(move |(persona, session)| {
                open.with_value(|open| session_of(open, &persona, session))
            })
        },
        neighbours: neighbours(lab, &work.open, &id),
        on: actions(lab, work),
    }
}

/// Where a session of another user can be read: in the history of one of that user's instances.
fn session_of(open: &Open, persona: &PersonaId, session: SessionId) -> Option<String> {
    let mut entries = open.dataset.index.iter();
    let entry = entries.find(|entry| entry.persona == *persona)?;
    let focus = Focus {
        tab: Tab::History,
        session: Some(session),
        ..Focus::default()
    };
    let mut route = Route::instance(open.key.clone(), entry.id.clone());
    if let Route::Instance { query, .. } = &mut route {
        *query = focus.pairs().into_iter().collect();
    }
    Some(route.address())
}

/// What is missing before a run can start: an address, a model, a key, or a model that can.
fn blocked(lab: Lab) -> Option<String> {
    let system = system(lab);
    lab.settings.with(|settings| {
        let refused = || system.refuses(&settings.agent_ref()).map(str::to_owned);
        settings
            .blocked()
            .or_else(|| lab.keys.missing(settings))
            .or_else(refused)
    })
}

/// What the address asks of the system.
fn mode(lab: Lab) -> Mode {
    lab.route.with(|route| match route {
        Route::Instance { query, .. } if query.get(MODE) == Some("qa") => Mode::Qa,
        _ => Mode::Task,
    })
}

fn wanted(lab: Lab) -> Wanted {
    (system(lab), mode(lab))
}

fn system(lab: Lab) -> System {
    lab.route.with(|route| match route {
        Route::Instance { system, .. } => *system,
        _ => System::IbaAgent,
    })
}

fn focus(lab: Lab) -> Focus {
    lab.route.with(|route| match route {
        Route::Instance { query, .. } => Focus::from_pairs(query.pairs()),
        _ => Focus::default(),
    })
}

/// The record the address names, else the latest of the system.
fn record(lab: Lab, subject: &Subject) -> Option<Arc<RunRecord>> {
    let named = lab.route.with(|route| route.named_run().map(str::to_owned));
    let opened = |run: &str| {
        lab.opened.files.with(|files| {
            files
                .iter()
                .flat_map(|file| file.records())
                .find(|record| record.id == run)
                .cloned()
        })
    };
    let named = named.and_then(|run| {
        let own = lab
            .runner
            .records
            .with(|records| records.iter().find(|record| record.id == run).cloned());
        own.or_else(|| opened(&run))
    });
    named.or_else(|| lab.runner.latest(subject, Some(wanted(lab))))
}

fn run_view(lab: Lab, subject: Subject) -> RunView {
    let own = subject.clone();
    let live = Memo::new(move |_| lab.runner.live_of(&own, Some(wanted(lab))));
    let record = Memo::new(move |_| record(lab, &subject));
    let status = move || {
        live.with(|live| live.as_ref().map(|_| RunStatus::Running))
            .or_else(|| {
                record
                    .with(|record| record.as_ref().map(|record| record.status.clone()))
                    .filter(|status| *status != RunStatus::Running)
            })
    };
    let stages = move || match live.get() {
        Some(live) => live.stages.get(),
        None => record
            .with(|record| record.as_ref().map(|record| record.stages.clone()))
            .unwrap_or_default(),
    };
    let progress = move |live: LiveRun| {
        let progress = live.progress.get()?;
        Some(Progress {
            what: progress.what,
            done: progress.done,
            total: progress.total.unwrap_or(0),
        })
    };
    let interrupted = move |record: &Arc<RunRecord>| {
        let stopped = matches!(
            record.status,
            RunStatus::Running | RunStatus::Cancelled | RunStatus::Failed { .. }
        );
        stopped && record.retriever.model != NOT_LOADED
    };
    let started = move || {
        live.with(|live| live.as_ref().map(|live| live.started_ms))
            .or_else(|| record.with(|record| Some(record.as_ref()?.started_ms)))
    };
    RunView {
        status: Signal::derive(status),
        stages: Signal::derive(stages),
        current: Signal::derive(move || live.get().and_then(|live| live.current.get())),
        judging: Signal::derive(move || live.get().is_some_and(|live| live.judging.get())),
        stream: Signal::derive(move || {
            live.get().map(|live| live.stream.get()).unwrap_or_default()
        }),
        progress: Signal::derive(move || live.get().and_then(progress)),
        offer: Signal::derive(move || Some(live.get()?.offer.get()?.failed)),
        record: Signal::derive(move || {
            record
                .get()
                .filter(|record| record.status != RunStatus::Running)
        }),
        started_ms: Signal::derive(started),
        resumable: Signal::derive(move || {
            live.with(Option::is_none)
                && record.with(|record| record.as_ref().is_some_and(interrupted))
        }),
    }
}

/// Neighbours in the list the visitor came from, or in the whole dataset.
fn neighbours(lab: Lab, open: &Open, id: &InstanceId) -> Neighbours {
    let trail = lab.trail.get_untracked();
    let at = trail.ids.iter().position(|other| other == id);
    let (ids, at, list) = match at {
        Some(at) => (trail.ids, Some(at), trail.address),
        None => {
            let ids: Vec<InstanceId> = open
                .dataset
                .index
                .iter()
                .map(|entry| entry.id.clone())
                .collect();
            let at = ids.iter().position(|other| other == id);
            (
                Arc::new(ids),
                at,
                Route::instances(open.key.clone()).address(),
            )
        }
    };
    let address =
        |at: usize| Some(Route::instance(open.key.clone(), ids.get(at)?.clone()).address());
    Neighbours {
        list,
        previous: at.and_then(|at| address(at.checked_sub(1)?)),
        next: at.and_then(|at| address(at + 1)),
        position: at.map(|at| format!("{} of {}", at + 1, ids.len())),
    }
}

fn actions(lab: Lab, work: Work) -> Actions {
    let subject = work.subject();
    let revealed = subject.instance.to_string();
    // Work holds what the browser's side made, which stays on this thread.
    let work = StoredValue::new_local(work);
    let replayed = subject.clone();
    let (resumed, exported, chosen) = (subject.clone(), subject.clone(), subject.clone());
    let (overruled, undone) = (subject.clone(), subject.clone());
    let (judged, taken) = (subject.clone(), subject.clone());
    let (folded, visited) = (subject.clone(), subject.clone());
    Actions {
        run: Callback::new(move |chosen| {
            choose(lab, chosen, None);
            lab.runner.start(lab, work.get_value(), chosen);
        }),
        cancel: Callback::new(move |()| {
            if let Some(live) = lab.runner.live_of(&subject, Some(wanted(lab))) {
                lab.runner.cancel(&live.id);
            }
        }),
        by_words: Callback::new(move |by_words| {
            let live = lab.runner.live_of(&chosen, Some(wanted(lab)));
            let choice = match by_words {
                true => Choice::ByWords,
                false => Choice::TryAgain,
            };
            if let Some(live) = live {
                live.choose(choice);
            }
        }),
        resume: Callback::new(move |()| {
            if let Some(record) = record(lab, &resumed) {
                lab.runner.resume(lab, work.get_value(), &record);
            }
        }),
        replay: Callback::new(move |()| {
            if let Some(record) = record(lab, &replayed) {
                choose(lab, (record.system, record.variant.mode), None);
                lab.runner.replay(lab, work.get_value(), &record);
            }
        }),
        export: Callback::new(move |format| {
            if let Some(record) = record(lab, &exported) {
                export(lab, &record, format);
            }
        }),
        overrule: Callback::new(move |change| overrule(lab, &overruled, change)),
        judge_again: Callback::new(move |()| {
            if let Some(record) = untrack(|| record(lab, &judged)) {
                choose(lab, (record.system, record.variant.mode), Some(&record.id));
                lab.runner.judge_again(lab, work.get_value(), record);
            }
        }),
        take_back: Callback::new(move |()| {
            if let Some(record) = untrack(|| record(lab, &taken)) {
                amend(lab, &record.id, |record| {
                    run::again::take_back(record);
                });
                lab.notices
                    .info("Set aside, not lost: judging again brings it back without a call");
            }
        }),
        undo_overrule: Callback::new(move |id| undo_overrule(lab, &undone, &id)),
        author: Callback::new(move |()| lab.settings.with_untracked(|s| s.author.clone())),
        reveal: Callback::new(move |()| {
            lab.revealed.update(|ids| {
                if !ids.contains(&revealed) {
                    ids.push(revealed.clone());
                }
            })
        }),
        choose: Callback::new(move |chosen| choose(lab, chosen, None)),
        open_run: Callback::new(move |record: Arc<RunRecord>| {
            let chosen = (record.system, record.variant.mode);
            lab.push(chosen_route(lab, chosen, Some(&record.id)));
        }),
        set_params: Callback::new(move |params| lab.set(|settings| settings.params = params)),
        set_edits: Callback::new(move |edits| lab.set(|settings| settings.prompts = edits)),
        set_retriever: Callback::new(move |word: String| {
            lab.set(|settings| settings.retriever.model = ModelChoice::from_word(&word));
        }),
        focus: Callback::new(move |focus: Focus| lab.replace(focused(lab, &folded, &focus))),
        visit: Callback::new(move |focus: Focus| lab.push(focused(lab, &visited, &focus))),
        go: Callback::new(move |address: String| lab.go_to(&address)),
    }
}

/// Judging the run shown again, with the judges as they are set.
fn again(lab: Lab, subject: &Subject) -> Again {
    let Some(record) = record(lab, subject) else {
        return Again::default();
    };
    let panel = lab.settings.with(Settings::panel);
    let (calls, waiting) = (
        run::again::calls(&panel, &record),
        run::again::waiting(&record),
    );
    let blocked = lab.settings.with(|settings| {
        if panel.judges.is_empty() {
            return Some(
                "To have other judges decide, choose a judge model under Settings.".to_owned(),
            );
        }
        settings.blocked().or_else(|| lab.keys.missing(settings))
    });
    let nothing = (calls == 0 && waiting == 0).then(|| {
        "These judges have answered all they can: choose other judges or more repeats under Settings, or edit the judge’s prompt under Prompts.".to_owned()
    });
    Again {
        blocked: blocked.or(nothing),
        plan: format!("{}: {}", panel.names().join(", "), calls_words(calls)),
        round: last_round(&record.judgements),
    }
}

fn calls_words(calls: u32) -> String {
    match calls {
        0 => "what was taken back comes back, without a call".to_owned(),
        1 => "one call at most; the agent does not run again".to_owned(),
        n => format!("{n} calls at most; the agent does not run again"),
    }
}

/// Puts a person's verdict in the place of the judges'; says what is missing for it.
fn overrule(lab: Lab, subject: &Subject, change: Change) -> Option<String> {
    let note = Note {
        author: change.author,
        at_ms: clock::now_ms(),
        reason: change.reason,
    };
    if let Some(missing) = note.missing() {
        return Some(missing.to_owned());
    }
    let record = untrack(|| record(lab, subject))?;
    lab.set(|settings| settings.author = note.author.trim().to_owned());
    amend(lab, &record.id, |record| {
        edit::overrule(
            &mut record.judgements,
            &change.requirement,
            change.state,
            &note,
        );
    });
    None
}

fn undo_overrule(lab: Lab, subject: &Subject, id: &RequirementId) {
    let Some(record) = untrack(|| record(lab, subject)) else {
        return;
    };
    let note = Note {
        author: lab
            .settings
            .with_untracked(|settings| settings.author.clone()),
        at_ms: clock::now_ms(),
        reason: "taken back".to_owned(),
    };
    amend(lab, &record.id, |record| {
        edit::undo(&mut record.judgements, id, &note);
    });
}

/// Name of the mode in the query; like the run's, no part of the focus.
const MODE: &str = "mode";

/// The address with another focus. That of a step names the run, if it has ended.
fn focused(lab: Lab, subject: &Subject, focus: &Focus) -> Route {
    let mut route = lab.route.get_untracked();
    let step = focus.stage.is_some() && route.named_run().is_none();
    let run = step
        .then(|| untrack(|| ended(lab, subject)))
        .flatten()
        .map(|record| (RUN.to_owned(), record.id.clone()));
    if let Route::Instance { query, .. } = &mut route {
        let kept = [MODE, RUN].into_iter().filter_map(|name| {
            let value = query.get(name)?;
            Some((name.to_owned(), value.to_owned()))
        });
        let pairs = focus
            .pairs()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        *query = kept.chain(run).chain(pairs).collect();
    }
    route
}

/// Puts a system in a mode into the address: its latest run, or the one named.
fn choose(lab: Lab, chosen: Wanted, run: Option<&str>) {
    lab.replace(chosen_route(lab, chosen, run));
}

fn chosen_route(lab: Lab, (chosen, mode): Wanted, run: Option<&str>) -> Route {
    let mut route = lab.route.get_untracked();
    if let Route::Instance { system, query, .. } = &mut route {
        *system = chosen;
        let mode = (mode == Mode::Qa).then_some((MODE, "qa"));
        let named = mode.into_iter().chain(run.map(|run| (RUN, run)));
        let named = named.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let others = query
            .0
            .drain(..)
            .filter(|(name, _)| ![RUN, MODE, "system"].contains(&name.as_str()));
        let pairs: Vec<(String, String)> = named.chain(others).collect();
        *query = Query(pairs);
    }
    route
}

fn export(lab: Lab, record: &RunRecord, format: ExportFormat) {
    let meta = FileMeta {
        id: record.id.clone(),
        created_ms: clock::now_ms(),
    };
    let log = match write(std::slice::from_ref(record), &meta) {
        Ok(log) => log,
        Err(error) => return lab.notices.bad(Problem::new(&error, Some(error.hint()))),
    };
    let done = match format {
        ExportFormat::Json => download(
            &log.file_name(false),
            "application/json",
            &[log.json().as_bytes()],
        ),
        ExportFormat::JsonGz => {
            download(&log.file_name(true), "application/gzip", &[&log.json_gz()])
        }
    };
    if let Err(error) = done {
        lab.notices.bad(Problem::new(&error, None::<&str>));
    }
}
