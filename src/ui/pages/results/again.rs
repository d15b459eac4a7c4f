//! Many runs judged again, and the last judging taken back.

use crate::agent::trace_view::count;
use crate::run::record::RunRecord;
use leptos::prelude::*;
use std::sync::Arc;

/// Runs, as they are chosen above.
pub type Runs = Vec<Arc<RunRecord>>;

/// What the section asks of its owner.
#[derive(Clone, Copy)]
pub struct AgainMany {
    /// Why it cannot start now, in a sentence with the next step.
    pub blocked: Signal<Option<String>>,
    /// Calls it would take for these runs, at most, and who would be asked.
    pub plan: Callback<Runs, (u32, String)>,
    pub start: Callback<Runs>,
    /// Sets the last judging of each of these runs aside.
    pub take_back: Callback<Runs>,
}

#[component]
pub fn AgainSection(records: Memo<Runs>, again: AgainMany) -> impl IntoView {
    let with_output = Memo::new(move |_| {
        let judged = |record: &&Arc<RunRecord>| record.output.is_some();
        records.with(|records| records.iter().filter(judged).cloned().collect::<Runs>())
    });
    let rejudged = Memo::new(move |_| {
        let again = |record: &&Arc<RunRecord>| record.judgements.iter().any(|j| j.round > 0);
        records.with(|records| records.iter().filter(again).cloned().collect::<Runs>())
    });
    let plan = move || again.plan.run(with_output.get());
    let nothing = move || with_output.with(Vec::is_empty);
    let cannot = move || again.blocked.get().is_some() || nothing();
    let words = move || match again.blocked.get() {
        Some(why) => why,
        None => plan().1,
    };
    let n = move || with_output.with(Vec::len);
    view! {
        <section class="block" aria-labelledby="again-title">
            <h2 id="again-title">"Judge again"</h2>
            <p class="muted">
                "Other judges, more repeats or an edited judge’s prompt on the same outputs, from this browser or from a file: no agent runs again. All verdicts stay beside each other; what a judge has said already is not asked again."
            </p>
            <p class="actions">
                <button type="button" class="button" disabled=cannot on:click=move |_| again.start.run(with_output.get_untracked())>
                    {move || format!("Judge {} again", count(n(), "run", "runs"))}
                </button>
                <button
                    type="button"
                    class="button"
                    hidden=move || rejudged.with(Vec::is_empty)
                    on:click=move |_| again.take_back.run(rejudged.get_untracked())
                >
                    {move || format!("Take the last judging of {} back", count(rejudged.with(Vec::len), "run", "runs"))}
                </button>
                <span class="muted small">{words}</span>
            </p>
        </section>
    }
    .into_any()
}
