//! Runs of a whole list whose answers come by OpenAI's batch files: a few rounds, one file each.

use super::View;
use crate::agent::system::System;
use crate::agent::trace_view::count;
use crate::bench::ids::InstanceId;
use crate::browser::abort::Abort;
use crate::browser::files::{self, MAX_FILE, PickedFile};
use crate::browser::{clock, fetch};
use crate::llm::provider::Provider;
use crate::run::batch::{self, Pending};
use crate::run::record::RunRecord;
use crate::settings::Choice;
use crate::ui::data::Open;
use crate::ui::files::ask;
use crate::ui::parts::{Dialog, Problem};
use crate::ui::runner::Work;
use crate::ui::state::Lab;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Where a pass stands: runs done, runs in all.
type Standing = Option<(usize, usize)>;

/// The button beside the list, and its dialog.
#[component]
pub(super) fn BatchButton(view: View) -> impl IntoView {
    let open = RwSignal::new(false);
    view! {
        <button type="button" class="button quiet" on:click=move |_| open.set(true)>"By batch file …"</button>
        <Dialog title="Run this list by batch file" open=open>
            <Body view=view />
        </Dialog>
    }
}

/// Handles of one dialog.
#[derive(Clone, Copy)]
struct Desk {
    lab: Lab,
    open: StoredValue<Open, LocalStorage>,
    standing: RwSignal<Standing>,
    stopped: RwSignal<bool>,
    said: RwSignal<Vec<String>>,
}

#[component]
fn Body(view: View) -> impl IntoView {
    let lab = view.lab;
    let desk = Desk {
        lab,
        open: view.open,
        standing: RwSignal::new(None),
        stopped: RwSignal::new(false),
        said: RwSignal::new(Vec::new()),
    };
    let system = RwSignal::new(System::IbaAgent);
    let shown = move || view.filtered.with(|filtered| filtered.rows.len());
    let ids = move || {
        view.open.with_value(|open| {
            view.filtered.with_untracked(|filtered| {
                let rows = filtered.rows.iter();
                rows.map(|row| open.dataset.index[*row].id.clone())
                    .collect::<Vec<InstanceId>>()
            })
        })
    };
    let missing = move || {
        lab.settings.with(|settings| match settings.agent {
            Choice::Endpoint => settings.endpoint.missing(),
            _ => Some("Choose “A model behind an endpoint” in Settings first; no key is needed."),
        })
    };
    let busy = move || desk.standing.with(Option::is_some);
    let write = move |_| desk.write(ids(), system.get_untracked());
    let read = move |_| ask(false, move |files| desk.read(files));
    let chosen = move |wanted: System| {
        let name = wanted.name();
        view! {
            <label class="inst-choice">
                <input type="radio" name="batch-system" prop:checked=move || system.get() == wanted on:change=move |_| system.set(wanted) />
                <span>{name}</span>
            </label>
        }
    };
    view! {
        <p>
            "Providers with OpenAI's batch format answer a file of requests within a day, at a lower price. "
            "A run asks several times, each time with the last answer in hand, so a list takes a few rounds: "
            "write a file, have it answered, read the file of results, and the next file is written by itself."
        </p>
        <fieldset class="inst-systems">
            <legend class="sr-only">"System"</legend>
            {chosen(System::IbaAgent)}
            {chosen(System::StandardRag)}
        </fieldset>
        <p class="muted small">{move || missing()}</p>
        <div class="actions">
            <button type="button" class="button primary" disabled=move || busy() || missing().is_some() || shown() == 0 on:click=write>
                {move || format!("Write a file for {}", count(shown(), "instance", "instances"))}
            </button>
            <button type="button" class="button" disabled=busy on:click=read>"Read a file of results …"</button>
        </div>
        <div aria-live="polite">
            {move || desk.standing.get().map(|(done, total)| view! {
                <div class="row">
                    <progress class="grow" max=total.to_string() value=done.to_string()></progress>
                    <span class="muted small">{format!("{done} of {}", count(total, "run", "runs"))}</span>
                    <button type="button" class="button small" on:click=move |_| desk.stop()>"Stop"</button>
                </div>
            })}
            <ul class="small">{move || desk.said.get().into_iter().map(|text| view! { <li>{text}</li> }).collect_view()}</ul>
        </div>
    }
}

impl Desk {
    fn say(self, text: impl Into<String>) {
        // The dialog may be closed by now.
        let _ = self.said.try_update(|said| said.push(text.into()));
    }

    fn stop(self) {
        self.stopped.set(true);
        let live = self.lab.runner.live.get_untracked();
        live.iter().for_each(|run| self.lab.runner.cancel(&run.id));
    }

    /// First round: every instance of the list, up to its first call.
    fn write(self, ids: Vec<InstanceId>, system: System) {
        self.said.set(Vec::new());
        spawn_local(async move {
            let mut works = Vec::new();
            let _ = self.standing.try_set(Some((0, ids.len())));
            for id in ids {
                if let Some(work) = self.work(id).await {
                    works.push((work, None));
                }
            }
            self.pass(works, system).await;
        });
    }

    /// A later round: what was answered goes on.
    fn read(self, picked: Vec<PickedFile>) {
        self.said.set(Vec::new());
        spawn_local(async move {
            let Some(edge) = self.lab.edge.get_untracked() else {
                return;
            };
            let mut runs: Vec<RunRecord> = Vec::new();
            for file in picked {
                let bytes = files::read(&file, MAX_FILE, &fetch::silent(), &Abort::new()).await;
                let bytes = match bytes {
                    Ok(bytes) => bytes.to_vec(),
                    Err(error) => {
                        self.say(error.to_string());
                        continue;
                    }
                };
                if !batch::is_results(&bytes) {
                    self.say(format!(
                        "{} is no result file of a batch: its lines name no custom_id.",
                        file.path
                    ));
                    continue;
                }
                let (more, problems) = edge.runs.take_answers(batch::read(&bytes)).await;
                problems.into_iter().for_each(|problem| self.say(problem));
                runs.extend(more);
            }
            if runs.is_empty() {
                return self.say("No run goes on with this.");
            }
            let mut works = Vec::new();
            for run in runs {
                match self.work(run.instance.clone()).await {
                    Some(work) if work.open.dataset.manifest_sha256 == run.dataset.sha256 => {
                        works.push((work, Some(run)));
                    }
                    _ => self.say(format!(
                        "{} belongs to another dataset; open that one first.",
                        run.instance
                    )),
                }
            }
            self.pass(works, System::IbaAgent).await;
        });
    }

    async fn work(self, id: InstanceId) -> Option<Work> {
        let open = self.open.try_get_value()?;
        match Work::load(open, id).await {
            Ok(work) => work,
            Err(problem) => {
                self.say(problem.text);
                None
            }
        }
    }

    async fn pass(self, works: Vec<(Work, Option<RunRecord>)>, system: System) {
        let total = works.len();
        let _ = self.stopped.try_set(false);
        let step = move |done: usize| {
            let _ = self.standing.try_set(Some((done, total)));
            !self.stopped.try_get_untracked().unwrap_or(true)
        };
        let waiting = self
            .lab
            .runner
            .batch_pass(self.lab, works, system, step)
            .await;
        let _ = self.standing.try_set(None);
        match waiting.is_empty() {
            true => self.say(format!(
                "{} need no further answer.",
                count(total, "run", "runs")
            )),
            false => self.save(&waiting),
        }
    }

    fn save(self, waiting: &[Pending]) {
        let provider = Provider::from_url(&waiting[0].base_url);
        let text = match batch::write(waiting, &provider.quirks()) {
            Ok(text) => text,
            Err(error) => return self.say(error.to_string()),
        };
        let name = format!("iba-lab-batch-{:.0}.jsonl", clock::now_ms());
        match files::download(&name, "application/jsonl", &[text.as_bytes()]) {
            Ok(()) => self.say(format!(
                "{} saved as {name}. Hand it to your provider's batch service, then read its file of results here.",
                count(waiting.len(), "request", "requests")
            )),
            Err(error) => self.lab.notices.bad(Problem::new(&error, None::<&str>)),
        }
    }
}
