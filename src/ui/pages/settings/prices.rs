//! The price table: each price with the day it was written down.

use crate::browser::clock::now_ms;
use crate::llm::price::{Price, PriceTable};
use crate::ui::state::lab;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

/// All prices, folded away until they are wanted.
#[component]
pub fn Prices() -> impl IntoView {
    let lab = lab();
    let count = move || lab.settings.with(|settings| settings.prices.rows.len());
    let changed = move || {
        lab.settings
            .with(|settings| settings.prices != PriceTable::default())
    };
    let reset = move |_| lab.set(|settings| settings.prices = PriceTable::default());
    let add = move |_| {
        lab.set(|settings| {
            let endpoint = &settings.endpoint;
            let row = Price {
                model: endpoint.model.clone(),
                as_of: today(),
                ..Price::default()
            };
            settings.prices.rows.insert(0, row);
        });
    };
    view! {
        <details class="prices">
            <summary>"Prices ("{count}")"</summary>
            <p class="muted small">
                "US dollars for a million tokens. List prices change: compare them with your provider's page. "
                "A model that is not here has no known price, which is said and never counted as nothing; servers on this machine or in its network cost nothing. "
                "A name may end with * for all that begin so."
            </p>
            <div class="row">
                <button type="button" class="button" on:click=add>"Add a price"</button>
                <button type="button" class="button" disabled=move || !changed() on:click=reset>"Back to the list"</button>
            </div>
            <div class="scroll-x">
                <table class="table small">
                    <caption class="sr-only">"Prices of models"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"Host"</th>
                            <th scope="col">"Model"</th>
                            <th scope="col">"Input"</th>
                            <th scope="col">"Output"</th>
                            <th scope="col">"Cached"</th>
                            <th scope="col">"As of"</th>
                            <th scope="col"><span class="sr-only">"Remove"</span></th>
                        </tr>
                    </thead>
                    <tbody>
                        {move || {
                            let rows = lab.settings.with(|settings| settings.prices.rows.clone());
                            rows.into_iter().enumerate().map(|(at, row)| view! { <Row at row /> }).collect_view()
                        }}
                    </tbody>
                </table>
            </div>
        </details>
    }
}

/// One price, each field of it changed on its own.
#[component]
fn Row(at: usize, row: Price) -> impl IntoView {
    let lab = lab();
    let change = move |write: &dyn Fn(&mut Price)| {
        lab.set(|settings| {
            if let Some(row) = settings.prices.rows.get_mut(at) {
                write(row);
                row.as_of = today();
            }
        });
    };
    let remove = move |_| {
        lab.set(|settings| {
            if at < settings.prices.rows.len() {
                settings.prices.rows.remove(at);
            }
        });
    };
    // What is no price is an unknown one.
    let number = |typed: String| {
        let value = typed.trim().replace(',', ".").parse::<f64>().ok();
        value.filter(|value| value.is_finite() && *value >= 0.0)
    };
    let about = format!("of {}", row.model);
    let shown = |price: Option<f64>| price.map_or_else(String::new, |price| price.to_string());
    let cached = shown(row.cached);
    view! {
        <tr>
            <td><input type="text" aria-label=format!("Host {about}") placeholder="any" prop:value=row.host.clone()
                on:change=move |ev| change(&|row| row.host = event_target_value(&ev).trim().to_owned()) /></td>
            <td><input type="text" aria-label="Model" prop:value=row.model.clone()
                on:change=move |ev| change(&|row| row.model = event_target_value(&ev).trim().to_owned()) /></td>
            <td><input class="narrow" type="text" inputmode="decimal" aria-label=format!("Input price {about}") placeholder="unknown" prop:value=shown(row.input)
                on:change=move |ev| change(&|row| row.input = number(event_target_value(&ev))) /></td>
            <td><input class="narrow" type="text" inputmode="decimal" aria-label=format!("Output price {about}") placeholder="unknown" prop:value=shown(row.output)
                on:change=move |ev| change(&|row| row.output = number(event_target_value(&ev))) /></td>
            <td><input class="narrow" type="text" inputmode="decimal" aria-label=format!("Price of cached input {about}") placeholder="as input" prop:value=cached
                on:change=move |ev| change(&|row| row.cached = number(event_target_value(&ev))) /></td>
            <td>{row.as_of.clone()}</td>
            <td><button type="button" class="button small quiet" aria-label=format!("Remove the price {about}") on:click=remove>"Remove"</button></td>
        </tr>
    }
}

/// `2026-02-28`.
fn today() -> String {
    let date = js_sys::Date::new(&JsValue::from_f64(now_ms()));
    let text: String = date.to_iso_string().into();
    text.chars().take(10).collect()
}
