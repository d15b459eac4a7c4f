//! What calls have cost, by role, and a cap that no call passes.

use super::prices::Prices;
use crate::llm::budget::dollars;
use crate::run::spend::{self, Spent};
use crate::ui::parts::Field;
use crate::ui::state::lab;
use leptos::prelude::*;

#[component]
pub fn Spending() -> impl IntoView {
    let lab = lab();
    let recounted = RwSignal::new(0_u32);
    let spent = move || {
        recounted.track();
        lab.runner.records.track();
        lab.edge.with(|edge| {
            edge.as_ref()
                .map_or(0.0, |edge| edge.transport.meter.spent())
        })
    };
    let reset = move |_| {
        if let Some(edge) = lab.edge.get_untracked() {
            edge.transport.meter.reset();
        }
        recounted.update(|count| *count += 1);
    };
    let wrong = RwSignal::new(None::<&'static str>);
    let cap = move || lab.settings.with(|settings| settings.cap_usd);
    let written = move || cap().map_or_else(String::new, |cap| cap.to_string());
    let change = move |ev| match parse_cap(&event_target_value(&ev)) {
        Ok(cap) => {
            wrong.set(None);
            lab.set(|settings| settings.cap_usd = cap);
        }
        Err(why) => wrong.set(Some(why)),
    };
    let unpriced = Memo::new(move |_| {
        let prices = lab.settings.with(|settings| settings.prices.clone());
        let records = lab.runner.records.get();
        let spent = spend::by_role(records.iter().map(|record| &**record), &prices);
        spent.values().map(|spent| spent.unpriced).sum::<u32>()
    });
    let unknown = move || match unpriced.get() {
        0 => String::new(),
        1 => " The price of one call of the runs kept is unknown.".to_owned(),
        n => format!(" The price of {n} calls of the runs kept is unknown."),
    };
    let so_far = move || {
        let sum = match (cap(), spent()) {
            (None, spent) if spent == 0.0 && unpriced.get() > 0 => {
                "Nothing of known price was spent.".to_owned()
            }
            (Some(cap), spent) => format!("{} of {} spent.", dollars(spent), dollars(cap)),
            (None, spent) => format!("{} spent.", dollars(spent)),
        };
        sum + &unknown()
    };
    view! {
        <section class="block" aria-labelledby="spending-head">
            <h2 id="spending-head">"Spending"</h2>
            <p class="muted">
                "What models cost is reckoned from the tokens that providers count and the prices below. "
                "Before each call its worst case is set aside, so that calls under way together stay below the cap, too."
            </p>
            <div class="card form">
                <Field id="cap" label="Cap in US dollars">
                    <div class="row">
                        <input
                            id="cap"
                            class="grow"
                            type="text"
                            inputmode="decimal"
                            autocomplete="off"
                            placeholder="no cap"
                            aria-describedby="cap-about"
                            aria-invalid=move || wrong.with(Option::is_some).to_string()
                            prop:value=written
                            on:change=change
                        />
                        <button type="button" class="button" on:click=reset>"Count from nothing"</button>
                    </div>
                    <p class="wrong small" role="alert">{wrong}</p>
                    <p class="muted small" id="cap-about">
                        {so_far}
                        " A run that would pass the cap stops with its work kept. With a cap, models without a price are not called."
                    </p>
                </Field>
                <ByRole />
                <Prices />
            </div>
        </section>
    }
    .into_any()
}

/// Calls of the runs that are kept, by role and model.
#[component]
fn ByRole() -> impl IntoView {
    let lab = lab();
    let rows = Memo::new(move |_| {
        let prices = lab.settings.with(|settings| settings.prices.clone());
        let records = lab.runner.records.get();
        let spent = spend::by_role(records.iter().map(|record| &**record), &prices);
        spent.into_iter().collect::<Vec<_>>()
    });
    let row = |((role, model), spent): ((String, String), Spent)| {
        let calls = match spent.calls {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        };
        let role = if role == "grader" {
            "judge".to_owned()
        } else {
            role
        };
        view! {
            <tr>
                <th scope="row">{role}</th>
                <td>{model}</td>
                <td>{calls}</td>
                <td>{spent.tokens()}</td>
                <td>{spent.words()}</td>
            </tr>
        }
    };
    move || {
        let rows = rows.get();
        if rows.is_empty() {
            let none = "No model was called in the runs that are kept.";
            return view! { <p class="muted small">{none}</p> }.into_any();
        }
        view! {
            <div class="scroll-x">
                <table class="table small">
                    <caption class="sr-only">"Calls, tokens and cost by role and model"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"Role"</th>
                            <th scope="col">"Model"</th>
                            <th scope="col">"Calls"</th>
                            <th scope="col">"Tokens"</th>
                            <th scope="col">"Cost"</th>
                        </tr>
                    </thead>
                    <tbody>{rows.into_iter().map(row).collect_view()}</tbody>
                </table>
            </div>
        }
        .into_any()
    }
}

fn parse_cap(typed: &str) -> Result<Option<f64>, &'static str> {
    let typed = typed.trim().trim_start_matches('$').replace(',', ".");
    if typed.is_empty() {
        return Ok(None);
    }
    let cap = typed.parse::<f64>().ok();
    cap.filter(|cap| cap.is_finite() && *cap >= 0.0)
        .map(Some)
        .ok_or("The cap is an amount such as 5 or 0.50, or nothing.")
}
