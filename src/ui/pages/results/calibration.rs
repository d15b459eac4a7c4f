//! Judges against gold-labelled samples, and the button that has them judged.

use crate::results::calibration::{Calibration, of};
use crate::run::record::RunRecord;
use leptos::prelude::*;
use std::sync::Arc;

/// What the section asks of its owner.
#[derive(Clone, Copy)]
pub struct Calibrate {
    /// Labelled samples of the open dataset; 0 while none is open.
    pub samples: Signal<usize>,
    /// Why it cannot start now, in a sentence with the next step.
    pub blocked: Signal<Option<String>>,
    /// What would be asked: judges and calls.
    pub plan: Signal<String>,
    pub start: Callback<()>,
}

/// Everything of `records` but gold-labelled samples is passed over.
#[component]
pub fn CalibrationSection(
    records: Memo<Vec<Arc<RunRecord>>>,
    calibrate: Calibrate,
) -> impl IntoView {
    let found = Memo::new(move |_| records.with(|records| of(records.iter().map(Arc::as_ref))));
    let cannot = move || calibrate.blocked.get().is_some() || calibrate.samples.get() == 0;
    view! {
        <section class="block" aria-labelledby="calibration-title">
            <h2 id="calibration-title">"Judges against labels"</h2>
            <p class="muted">
                "Each instance of IBA-Mini comes with an output whose requirements its author labelled as met or not met. A judge that is asked about them shows how often it is wrong, and in which direction."
            </p>
            <p class="actions">
                <button type="button" class="button" disabled=cannot on:click=move |_| calibrate.start.run(())>
                    {move || format!("Calibrate on {} samples", calibrate.samples.get())}
                </button>
                <span class="muted small">{move || calibrate.blocked.get().unwrap_or_else(|| calibrate.plan.get())}</span>
            </p>
            <div class="table-box" tabindex="0" role="region" aria-labelledby="calibration-title" hidden=move || found.with(Vec::is_empty)>
                <table class="numbers">
                    <caption>"False met: of what is labelled not met, the share the judge calls met. False not met: of what is labelled met, the share it calls not met. Every repeat counts."</caption>
                    <thead>
                        <tr>
                            <th scope="col">"Judge"</th>
                            <th scope="col">"Prompt"</th>
                            <th scope="col">"Samples"</th>
                            <th scope="col">"Verdicts"</th>
                            <th scope="col">"Agreement"</th>
                            <th scope="col">"AC1"</th>
                            <th scope="col">"False met"</th>
                            <th scope="col">"False not met"</th>
                            <th scope="col">"Unscored"</th>
                        </tr>
                    </thead>
                    <tbody>{move || found.with(|found| found.iter().map(line).collect_view())}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

fn line(found: &Calibration) -> AnyView {
    let agreement = found.agreement();
    let percent = |value: Option<f64>| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{:.1} %", 100.0 * value))
    };
    let of = |n: u32, all: u32| format!("{n} of {all}");
    let ac1 = agreement.as_ref().and_then(|agreement| agreement.ac1);
    let prompt: String = found.prompt.chars().take(8).collect();
    view! {
        <tr>
            <th scope="row">{found.judge.clone()}</th>
            <td title=found.prompt.clone()><code>{prompt}</code></td>
            <td>{found.samples}</td>
            <td>{found.judged()}</td>
            <td>{percent(agreement.map(|agreement| agreement.raw))}</td>
            <td>{ac1.map_or_else(|| "–".to_owned(), |ac1| format!("{ac1:.2}"))}</td>
            <td>{percent(found.false_met_rate())}<small class="muted">{of(found.false_met, found.false_met + found.true_not_met)}</small></td>
            <td>{percent(found.false_not_met_rate())}<small class="muted">{of(found.false_not_met, found.false_not_met + found.true_met)}</small></td>
            <td>{found.unscored}</td>
        </tr>
    }
    .into_any()
}
