//! How often the judge is asked, and the judges beside it.

use super::endpoint::EndpointForm;
use crate::judge::panel::MOST_REPEATS;
use crate::settings::panel::MoreJudge;
use crate::settings::{Endpoint, Settings};
use crate::ui::parts::Field;
use crate::ui::state::lab;
use leptos::prelude::*;

/// Names of the forms: a form's fields need ids that live as long as the page.
const SEATS: [&str; 6] = [
    "judge-2", "judge-3", "judge-4", "judge-5", "judge-6", "judge-7",
];

/// Repeats of the first judge, all further judges, and a button for one more.
#[component]
pub fn Judges() -> impl IntoView {
    let lab = lab();
    let shown = Memo::new(move |_| {
        lab.settings
            .with(|settings| settings.judge_endpoint().is_some())
    });
    let first = Signal::derive(move || lab.settings.with(|settings| settings.judge_repeats.max(1)));
    let more = Memo::new(move |_| lab.settings.with(|settings| settings.more_judges.len()));
    let calls = move || lab.settings.with(|settings| settings.panel().calls());
    let add = move |_| lab.set(|settings| settings.more_judges.push(MoreJudge::default()));
    let forms = move || {
        (0..more.get().min(SEATS.len()))
            .map(|n| view! { <More n /> })
            .collect_view()
    };
    view! {
        <Show when=move || shown.get()>
            <Repeats
                id="judge-repeats"
                value=first
                on_change=Callback::new(move |n| lab.set(|settings| settings.judge_repeats = n))
            />
            {forms}
            <p class="row">
                <button type="button" class="button" disabled=move || SEATS.len() <= more.get() on:click=add>
                    "Add another judge"
                </button>
            </p>
            <p class="muted small">
                "Repeats of one judge are averaged first, then all judges count equally, as in the paper. "
                "Criteria and verdicts are shown in an order shuffled under the seed below. "
                {move || match calls() {
                    1 => "One judge call for each output.".to_owned(),
                    n => format!("{n} judge calls for each output."),
                }}
            </p>
        </Show>
    }
}

#[component]
fn More(n: usize) -> impl IntoView {
    let lab = lab();
    let of = move |settings: &Settings| settings.more_judges.get(n).cloned().unwrap_or_default();
    let endpoint: Signal<Endpoint> = Signal::derive(move || lab.settings.with(|s| of(s).endpoint));
    let repeats = Signal::derive(move || lab.settings.with(|s| of(s).repeats));
    let change = move |change: &dyn Fn(&mut MoreJudge)| {
        lab.set(|settings| {
            if let Some(judge) = settings.more_judges.get_mut(n) {
                change(judge);
            }
        });
    };
    let remove = move |_| {
        lab.set(|settings| {
            if n < settings.more_judges.len() {
                settings.more_judges.remove(n);
            }
        })
    };
    let title = format!("Judge {}", n + 2);
    view! {
        <section aria-label=title.clone()>
            <div class="row">
                <h3 class="grow">{title.clone()}</h3>
                <button type="button" class="button quiet small" on:click=remove>"Remove"</button>
            </div>
            <EndpointForm
                name=SEATS[n]
                endpoint=endpoint
                on_change=Callback::new(move |endpoint: Endpoint| change(&|judge| judge.endpoint = endpoint.clone()))
            />
            <Repeats
                id=format!("{}-repeats", SEATS[n])
                value=repeats
                on_change=Callback::new(move |n| change(&|judge| judge.repeats = n))
            />
        </section>
    }
}

#[component]
fn Repeats(
    #[prop(into)] id: String,
    value: Signal<u32>,
    on_change: Callback<u32>,
) -> impl IntoView {
    let take = move |ev| {
        let typed = event_target_value(&ev).trim().parse::<u32>();
        on_change.run(typed.unwrap_or(1).clamp(1, MOST_REPEATS));
    };
    view! {
        <Field id=id.clone() label="Repeats" about="How often this judge is asked about each output. The paper asks one of its judges five times.">
            <input
                id=id
                type="number"
                min="1"
                max=MOST_REPEATS.to_string()
                step="1"
                prop:value=move || value.get().to_string()
                on:change=take
            />
        </Field>
    }
}
