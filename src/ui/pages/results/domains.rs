//! The domain table in the layout of the paper.

use crate::results::figure::percent;
use crate::results::table::{Cell, DomainTable, Source, TableRow};
use leptos::prelude::*;
use std::collections::BTreeSet;

/// One row for each system, model and judge; scrolls within its own box when it is too wide.
#[component]
pub fn DomainsTable(
    table: Memo<DomainTable>,
    /// Keys of rows that the radar leaves out.
    hidden: RwSignal<BTreeSet<String>>,
    /// Rows of the paper; a row can be taken out here.
    overlay: RwSignal<Vec<String>>,
) -> impl IntoView {
    let heads = move || {
        table.with(|table| {
            let label = |column: &crate::results::table::Column| view! { <th scope="col">{column.label.clone()}</th> };
            table.columns.iter().map(label).collect_view()
        })
    };
    let rows = move || {
        table.with(|table| {
            table
                .rows
                .iter()
                .map(|row| line(row, hidden, overlay))
                .collect_view()
        })
    };
    view! {
        <div class="table-box" tabindex="0" role="region" aria-label="Scores by domain" hidden=move || table.with(|t| t.rows.is_empty())>
            <table class="numbers domains">
                <thead>
                    <tr>
                        <th scope="col">"Radar"</th>
                        <th scope="col">"System, model"</th>
                        <th scope="col">"Judge"</th>
                        {heads}
                        <th scope="col">"Overall"</th>
                        <th scope="col">"Corrected"</th>
                        <th scope="col">"n"</th>
                        <th scope="col">"Unscored"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn line(
    row: &TableRow,
    hidden: RwSignal<BTreeSet<String>>,
    overlay: RwSignal<Vec<String>>,
) -> AnyView {
    let printed = matches!(row.source, Source::Paper(_));
    let details = !row.details.all().is_empty();
    let key = row.key.clone();
    let drawn = move || hidden.with(|hidden| !hidden.contains(&key));
    let key = row.key.clone();
    let toggle = move |_| {
        hidden.update(|hidden| {
            if !hidden.remove(&key) {
                hidden.insert(key.clone());
            }
        })
    };
    let key = row.key.clone();
    let drop_row = move |_| overlay.update(|rows| rows.retain(|row| *row != key));
    let cells = row
        .cells
        .iter()
        .chain([&row.overall])
        .map(|cell| score(cell, row.decimals));
    view! {
        <tr class:reference=printed>
            <td>
                <input type="checkbox" prop:checked=drawn on:change=toggle aria-label=format!("Draw {} {}", row.system, row.model) />
            </td>
            <th scope="row">
                <span class="tag">{row.source.label()}</span>
                " "{row.system.clone()}
                <span class="muted">" · "{row.model.clone()}</span>
                {details.then(|| view! { <small class="muted setup">{row.details.all().join(" · ")}</small> })}
                {row.partial.clone().map(|missing| view! {
                    <span class="chip warn" title=missing.clone()>"! partial: "{missing.clone()}</span>
                })}
                {printed.then(|| view! {
                    <button type="button" class="button quiet small" on:click=drop_row>"Remove"</button>
                })}
            </th>
            <td class="judge">
                {row.judge.clone()}
                {row.prompt.clone().map(|hash| {
                    let short: String = hash.chars().take(8).collect();
                    view! { <small class="muted" title=hash>"prompt "<code>{short}</code></small> }
                })}
                {row.error.clone().map(|error| view! { <small>{error}</small> })}
            </td>
            {cells.collect_view()}
            {corrected(row)}
            <td>{count(row.overall.instances)}</td>
            <td>{count(row.overall.unscored.or(row.overall.without_score))}</td>
        </tr>
    }
    .into_any()
}

/// Overall with the judge's error taken out of what it decided.
fn corrected(row: &TableRow) -> AnyView {
    let title = row.corrected.map_or_else(
        || "Overall if the judge errs here as it did on the labelled samples".to_owned(),
        |found| {
            format!(
                "Overall if the judge errs here as it did on the labelled samples. Only what it decided is corrected, {:.0} % of the score; rules decided the rest. The interval (95 %) is for the instances drawn and for the labels behind the judge’s error.",
                100.0 * found.weight
            )
        },
    );
    let share = row.corrected.map(|found| 100.0 * found.share);
    let interval = row.corrected.and_then(|found| found.interval);
    view! {
        <td title=title>
            {percent(share, row.decimals)}
            {interval.map(|(low, high)| view! {
                <small class="muted">{format!("{:.1} to {:.1}", 100.0 * low, 100.0 * high)}</small>
            })}
        </td>
    }
    .into_any()
}

fn score(cell: &Cell, decimals: usize) -> AnyView {
    let n = cell.instances.filter(|n| *n > 0);
    view! {
        <td>
            {percent(cell.percent, decimals)}
            {cell.sd.map(|sd| view! { <small title="standard deviation over the judge’s repeats">{format!("± {sd:.2}")}</small> })}
            {n.map(|n| view! { <small class="muted">{format!("n {n}")}</small> })}
        </td>
    }
    .into_any()
}

/// A number the paper does not print is a dash, not a zero.
fn count(n: Option<u32>) -> String {
    n.map_or_else(|| "–".to_owned(), |n| n.to_string())
}
