//! Says which parts of an instance's address lead nowhere, and offers a way on.

use super::instance::InstanceProps;
use crate::bench::ids::RequirementId;
use crate::route::Route;
use crate::run::dead_ends::{Known, dead_ends};
use crate::run::qa::as_requirements;
use crate::run::record::{Mode, RunStatus};
use crate::ui::files::{ask, is_example};
use crate::ui::parts::after_frames;
use crate::ui::state::{Lab, lab};
use leptos::prelude::*;

/// The lines; nothing where everything the address names is there.
#[component]
pub fn DeadEnds(props: StoredValue<InstanceProps>) -> impl IntoView {
    let lab = lab();
    let run = Memo::new(move |_| missing_run(lab));
    let lines = Memo::new(move |_| match lab.followed.get() {
        true => lines(lab, props, run.with(Option::is_some)),
        false => Vec::new(),
    });
    // The lines stand above all the rest, and a link may open far below.
    Effect::new(move |_| {
        if run.with(Option::is_some) || lines.with(|lines| !lines.is_empty()) {
            after_frames(1, || window().scroll_to_with_x_and_y(0.0, 0.0));
        }
    });
    let said = move || {
        let lines = lines.get().into_iter();
        lines
            .map(|line| view! { <p class="dead-end" role="status">{line}</p> })
            .collect_view()
    };
    view! {
        {move || run.get().map(|run| missing(lab, run))}
        {said}
    }
}

/// The run the address names, where neither this browser nor an opened file has it.
fn missing_run(lab: Lab) -> Option<String> {
    let run = lab
        .route
        .with(|route| route.named_run().map(str::to_owned))?;
    let kept = lab
        .runner
        .records
        .with(|records| records.iter().any(|record| record.id == run));
    let live = lab
        .runner
        .live
        .with(|live| live.iter().any(|live| live.id == run));
    // Until the runs of earlier visits are there, it may be one of them.
    let known = !lab.runner.restored.get() || kept || live || lab.opened.has(&run);
    (!known).then_some(run)
}

fn missing(lab: Lab, run: String) -> impl IntoView {
    let words = format!(
        "Run {run} is not kept in this browser; {}",
        match is_example(&run) {
            true => "it is one of the recorded runs.",
            false => "it may be in a result file.",
        }
    );
    let (sought, own) = (run.clone(), run.clone());
    let way = match is_example(&run) {
        true => view! {
            <button
                type="button"
                class="button small"
                on:click=move |_| {
                    lab.opened.seek(&own);
                    lab.opened.open_examples(lab);
                }
            >
                "Load recorded runs"
            </button>
        }
        .into_any(),
        false => view! {
            <button
                type="button"
                class="button small"
                on:click=move |_| {
                    lab.opened.seek(&sought);
                    ask(false, move |files| lab.opened.open(lab, files));
                }
            >
                "Open a file"
            </button>
        }
        .into_any(),
    };
    view! {
        <p class="dead-end" role="status">
            <span>{words}</span>
            {way}
        </p>
    }
}

/// What else leads nowhere. Where the run is missing, its steps are no news.
fn lines(lab: Lab, props: StoredValue<InstanceProps>, no_run: bool) -> Vec<String> {
    let (run, history, hidden) =
        props.with_value(|props| (props.run, props.history.clone(), props.hidden.clone()));
    if run.status.get() == Some(RunStatus::Running) || !lab.runner.restored.get() {
        return Vec::new();
    }
    let steps = run.record.with(|record| {
        let record = record.as_ref()?;
        Some(
            record
                .stages
                .iter()
                .map(|step| step.stage)
                .collect::<Vec<_>>(),
        )
    });
    let posed = match props.with_value(|props| props.mode).get() {
        Mode::Task => hidden.requirements.clone(),
        Mode::Qa => as_requirements(&hidden).requirements,
    };
    let requirements: Vec<RequirementId> = posed.into_iter().map(|posed| posed.id).collect();
    let known = Known {
        steps: steps.as_deref(),
        requirements: &requirements,
        has_session: &|id| history.sessions.iter().any(|session| session.id == *id),
        questions: !hidden.qa.is_empty(),
    };
    lab.route.with(|route| match route {
        Route::Instance { query, .. } => {
            let told = |name: &str| no_run && matches!(name, "stage" | "nth");
            dead_ends(query.pairs().filter(|(name, _)| !told(name)), &known)
        }
        _ => Vec::new(),
    })
}
