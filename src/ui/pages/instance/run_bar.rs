//! Choose a system, run it, watch it, stop it.

use super::page::Page;
use super::prompts::PromptsButton;
use super::props::Progress;
use crate::agent::trace::System;
use crate::agent::trace_view::{duration, name};
use crate::run::record::{Mode, RunStatus};
use leptos::prelude::*;
use std::time::Duration;

/// The bar above the zones.
#[component]
pub(super) fn RunBar(page: Page) -> impl IntoView {
    let (model, system) = page.given.with_value(|given| (given.model, given.system));
    view! {
        <section class="inst-run" aria-label="Run">
            <div class="inst-row">
                <Systems page />
                <Modes page />
                <Buttons page />
                <PromptsButton page />
                <MoreButtons page />
                <p class="inst-model">
                    <span class="muted">"with "</span>
                    <strong>{move || model.get()}</strong>
                </p>
                <Retriever page />
                <StatusLine page />
                <Elapsed page />
            </div>
            <p class="muted inst-about">{move || system.get().about()}</p>
            <ProgressLine page />
            <WordsOffer page />
        </section>
    }
}

#[component]
fn Systems(page: Page) -> impl IntoView {
    let (systems, chosen) = page
        .given
        .with_value(|given| (given.systems.clone(), given.system));
    let groups = systems
        .chunk_by(|a, b| a.group() == b.group())
        .map(|group| {
            let options = group.iter().map(|system| {
                let system = *system;
                view! {
                    <option value=system.word() selected=move || chosen.get() == system>
                        {system.name()}
                    </option>
                }
            });
            view! { <optgroup label=group[0].group().label()>{options.collect_view()}</optgroup> }
        });
    let choose = move |event| {
        if let Ok(system) = event_target_value(&event).parse::<System>() {
            let (_, mode) = untrack(|| page.chosen());
            page.on.choose.run((system, mode));
        }
    };
    view! {
        <select
            id="system"
            class="inst-system"
            aria-label="System"
            prop:value=move || chosen.get().word()
            prop:disabled=move || page.running()
            on:change=choose
        >
            {groups.collect_view()}
        </select>
    }
}

/// Act, or answer what the user prefers.
#[component]
fn Modes(page: Page) -> impl IntoView {
    let (chosen, questions) = page
        .given
        .with_value(|given| (given.mode, given.hidden.qa.len()));
    let choices = [
        (Mode::Task, "Task", "Carry out the task"),
        (
            Mode::Qa,
            "QA",
            "Answer questions about the preferences behind it",
        ),
    ];
    let options = choices.map(|(mode, label, title)| {
        let off = move || page.running() || (mode == Mode::Qa && questions == 0);
        let title = match (mode, questions) {
            (Mode::Qa, 0) => "The dataset has no questions for this instance",
            _ => title,
        };
        view! {
            <label class="inst-choice" title=title>
                <input
                    type="radio"
                    name="mode"
                    prop:checked=move || chosen.get() == mode
                    prop:disabled=off
                    on:change=move |_| {
                        let (system, _) = untrack(|| page.chosen());
                        page.on.choose.run((system, mode));
                    }
                />
                <span>{label}</span>
            </label>
        }
    });
    view! {
        <fieldset class="inst-systems">
            <legend class="sr-only">"What is asked"</legend>
            {options.collect_view()}
        </fieldset>
    }
}

/// Who makes the vectors that passages are found by; nothing where there is no choice.
#[component]
fn Retriever(page: Page) -> impl IntoView {
    let (all, chosen) = page
        .given
        .with_value(|given| (given.retrievers, given.retriever));
    let options = move || {
        let option = |(word, name): (String, String)| {
            let own = word.clone();
            view! {
                <option value=word selected=move || chosen.get() == own>
                    {name}
                </option>
            }
        };
        all.get().into_iter().map(option).collect_view()
    };
    view! {
        <Show when=move || all.with(|all| all.len() > 1)>
            <p class="inst-model">
                <label class="muted" for="retriever">
                    "embedding by "
                </label>
                <select
                    id="retriever"
                    prop:value=move || chosen.get()
                    prop:disabled=move || page.running()
                    on:change=move |event| page.on.set_retriever.run(event_target_value(&event))
                >
                    {options}
                </select>
            </p>
        </Show>
    }
}

/// One button that runs and cancels, so that the focus stays where it is.
#[component]
fn Buttons(page: Page) -> impl IntoView {
    let blocked = page.given.with_value(|given| given.blocked);
    let label = move || match page.run.status.get() {
        None => "Run",
        Some(RunStatus::Running) => "Cancel",
        Some(_) => "Run again",
    };
    view! {
        <button
            type="button"
            class="button run-button"
            class:primary=move || !page.running()
            title="Run or cancel (r)"
            aria-keyshortcuts="r"
            prop:disabled=move || !page.running() && blocked.get().is_some()
            on:click=move |_| page.run_or_cancel()
        >
            {label}
        </button>
    }
}

/// Other ways to run. They stand last and stay where they are while a run goes on, so that no
/// other button slips under a double click.
#[component]
fn MoreButtons(page: Page) -> impl IntoView {
    view! {
        <Show when=move || called_models(page)>
            <button
                type="button"
                class="button"
                title="Drives the pipeline with the calls of this run, without network"
                prop:disabled=move || page.running()
                on:click=move |_| page.on.replay.run(())
            >
                "Replay"
            </button>
        </Show>
        <Show when=move || !page.running() && page.run.resumable.get()>
            <button type="button" class="button" on:click=move |_| page.on.resume.run(())>
                "Resume"
            </button>
        </Show>
    }
}

/// Whether the run that is shown asked a model anything.
fn called_models(page: Page) -> bool {
    page.run.record.with(|record| {
        let called = |record: &std::sync::Arc<crate::run::record::RunRecord>| {
            record.stages.iter().any(|stage| !stage.calls.is_empty())
        };
        record.as_ref().is_some_and(called)
    })
}

/// Time since the start, counted on while the run goes on.
#[component]
fn Elapsed(page: Page) -> impl IntoView {
    let now = RwSignal::new(js_sys::Date::now());
    let tick = move || {
        if untrack(|| page.running()) {
            now.set(js_sys::Date::now());
        }
    };
    if let Ok(handle) = set_interval_with_handle(tick, Duration::from_millis(200)) {
        on_cleanup(move || handle.clear());
    }
    let text = move || {
        let (start, end) = match page.run.record.get().filter(|_| !page.running()) {
            Some(record) => (record.started_ms, record.ended_ms?),
            None if page.running() => (page.run.started_ms.get()?, now.get()),
            None => return None,
        };
        Some(duration((end - start).max(0.0)))
    };
    view! { <p class="inst-elapsed">{text}</p> }
}

/// What goes on, in a sentence; read out when it changes.
#[component]
fn StatusLine(page: Page) -> impl IntoView {
    let blocked = page.given.with_value(|given| given.blocked);
    let sentence = Memo::new(move |_| sentence(page).or_else(|| blocked.get()));
    let bad = move || matches!(page.run.status.get(), Some(RunStatus::Failed { .. }));
    view! {
        <p class="inst-status" role="status" aria-live="polite" class:bad=bad>
            {move || sentence.get()}
            {move || journal_note(page)}
        </p>
    }
}

fn sentence(page: Page) -> Option<String> {
    let run = page.run;
    Some(match run.status.get()? {
        RunStatus::Running if run.judging.get() => "Judging the output …".to_owned(),
        RunStatus::Running => match run.current.get() {
            Some(stage) => format!("{} …", name(stage)),
            None => "Getting ready …".to_owned(),
        },
        RunStatus::Done => match run.record.get() {
            Some(record) => format!("Done by {}.", record.agent.label()),
            None => "Done.".to_owned(),
        },
        RunStatus::Cancelled => "Cancelled; finished stages are kept.".to_owned(),
        RunStatus::Failed { message } => message,
    })
}

/// How many calls were not paid again: answered before a reload, or shared with another run.
fn journal_note(page: Page) -> Option<String> {
    let stages = page.stages.get();
    let answers = |shared: bool| {
        let stages = stages.iter().filter(|s| s.shared_from.is_some() == shared);
        let calls = stages.flat_map(|stage| &stage.calls);
        let n = calls.filter(|call| call.from_journal).count();
        (n > 0).then(|| crate::agent::trace_view::count(n, "answer", "answers"))
    };
    let journal =
        answers(false).map(|n| format!(" {n} came from the journal and cost nothing again."));
    let shared =
        answers(true).map(|n| format!(" {n} shared with earlier runs and not paid again."));
    match (journal, shared) {
        (None, None) => None,
        (journal, shared) => Some(journal.unwrap_or_default() + &shared.unwrap_or_default()),
    }
}

/// Work of known or unknown size inside the current step.
#[component]
fn ProgressLine(page: Page) -> impl IntoView {
    move || {
        let progress = page.run.progress.get().filter(|_| page.running())?;
        let label = progress_label(&progress);
        let bar = match progress.total {
            0 => view! { <progress aria-label=progress.what></progress> }.into_any(),
            total => view! {
                <progress
                    aria-label=progress.what
                    max=total.to_string()
                    value=progress.done.min(total).to_string()
                ></progress>
            }
            .into_any(),
        };
        Some(view! {
            <p class="inst-progress">
                {bar} <span class="muted">{label}</span>
            </p>
        })
    }
}

/// While the embedding model is on its way, or could not be had: words find passages without it.
#[component]
fn WordsOffer(page: Page) -> impl IntoView {
    move || {
        let failed = page.run.offer.get().filter(|_| page.running())?;
        let again = failed.is_some().then(|| {
            view! {
                <button type="button" class="button small" on:click=move |_| page.on.by_words.run(false)>
                    "Try again"
                </button>
            }
        });
        let text = failed.unwrap_or_else(|| {
            "The run waits for the embedding model; words find passages without it.".to_owned()
        });
        Some(view! {
            <p class="inst-offer" role="status">
                <span>{text}</span>
                {again}
                <button type="button" class="button small" on:click=move |_| page.on.by_words.run(true)>
                    "Go on by words"
                </button>
            </p>
        })
    }
}

fn progress_label(progress: &Progress) -> String {
    match progress.total {
        0 => progress.what.clone(),
        total => {
            let share = 100.0 * progress.done.min(total) as f64 / total as f64;
            format!("{}, {share:.0} %", progress.what)
        }
    }
}
