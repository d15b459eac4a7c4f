//! Differences between rows, as the paper's ablation has them, and the curves of its Figure 5.

use crate::browser::error::BrowserError;
use crate::chart::{lines, svg};
use crate::results::curves::{Over, Panel, panel};
use crate::results::differences::{Difference, against, signed};
use crate::results::figure::{name, percent};
use crate::results::table::DomainTable;
use crate::run::record::RunRecord;
use crate::ui::charts::Picture;
use leptos::prelude::*;
use std::sync::Arc;

/// Rows against a chosen one: scores, and below each its distance.
#[component]
pub fn DifferencesSection(table: Memo<DomainTable>) -> impl IntoView {
    let chosen = RwSignal::new(String::new());
    let base = Memo::new(move |_| {
        table.with(|table| {
            let rows = &table.rows;
            rows.iter()
                .find(|row| row.key == chosen.get())
                .or(rows.first())
                .cloned()
        })
    });
    let options = move || {
        let own = base.get().map(|row| row.key);
        table.with(|table| {
            let option = |row: &crate::results::table::TableRow| {
                let selected = Some(&row.key) == own.as_ref();
                view! { <option value=row.key.clone() selected=selected>{name(row)}</option> }
            };
            table.rows.iter().map(option).collect_view()
        })
    };
    let body = move || {
        let base = base.get()?;
        Some(table.with(|table| {
            let found = against(table, &base);
            let none = found.is_empty();
            let rows = found.iter().map(line).collect_view();
            let heads = table.columns.iter().map(|column| view! { <th scope="col">{column.label.clone()}</th> });
            view! {
                <div class="table-box" tabindex="0" role="region" aria-labelledby="differences-title" hidden=none>
                    <table class="numbers domains">
                        <thead><tr><th scope="col">"Row"</th>{heads.collect_view()}<th scope="col">"Overall"</th><th scope="col">"n"</th></tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
                <p class="empty" hidden=!none>
                    "No other row has this judge. Run another system or an ablation, or add rows of the paper's Table 5 under Scores and choose one of them."
                </p>
            }
        }))
    };
    view! {
        <section class="block" aria-labelledby="differences-title">
            <h2 id="differences-title">"Differences"</h2>
            <p class="muted">"Each row minus the chosen one, in points: the layout of the paper's ablation (Table 5). Only rows of the same judge are compared, measured ones on the instances that both have; the interval (95 %) is by resampling these."</p>
            <div class="field runs-picker" hidden=move || table.with(|table| table.rows.is_empty())>
                <label for="base-row">"Compared with"</label>
                <select id="base-row" on:change=move |ev| chosen.set(event_target_value(&ev))>{options}</select>
            </div>
            {body}
        </section>
    }
    .into_any()
}

fn line(found: &Difference<'_>) -> AnyView {
    let row = found.row;
    let scores = row.cells.iter().chain([&row.overall]);
    let deltas = found.cells.iter().chain([&found.overall]);
    let cells = scores.zip(deltas).map(|(cell, delta)| {
        view! { <td>{percent(cell.percent, row.decimals)}<small class="muted">{signed(*delta)}</small></td> }
    });
    let reference = matches!(row.source, crate::results::table::Source::Paper(_));
    let pairs = found.pairs;
    let interval = pairs.and_then(|pairs| pairs.interval).map(|(low, high)| {
        let words = format!("{} to {}", signed(Some(low)), signed(Some(high)));
        view! { <small class="muted" title="95 % interval of the difference overall">{words}</small> }
    });
    view! {
        <tr class:reference=reference>
            <th scope="row">
                {name(row)}
                {found.caveat.clone().map(|caveat| view! { <span class="chip warn">"! "{caveat}</span> })}
            </th>
            {cells.collect_view()}
            <td>
                {pairs.map_or_else(|| "–".to_owned(), |pairs| pairs.both.to_string())}
                {interval}
            </td>
        </tr>
    }
    .into_any()
}

/// The four panels of Figure 5, each as a picture and as numbers.
#[component]
pub fn CurvesSection(
    records: Memo<Vec<Arc<RunRecord>>>,
    on_error: Callback<BrowserError>,
    /// The day on which figures are drawn.
    today: String,
) -> impl IntoView {
    let today = StoredValue::new(today);
    let panels = Over::ALL.into_iter().map(|over| {
        let found = Memo::new(move |_| {
            records.with(|records| panel(&records.iter().map(Arc::as_ref).collect::<Vec<_>>(), over))
        });
        let figure = Memo::new(move |_| found.with(|found| today.with_value(|today| draw(found, today))));
        let picture = Signal::derive(move || figure.with(lines::lines));
        let size = Signal::derive(move || figure.with(|figure| (svg::WIDTH, lines::height(figure))));
        let stem = match over {
            Over::Evidence => "iba-lab-over-evidence",
            Over::Constraints => "iba-lab-over-requirements",
            Over::Change => "iba-lab-static-changing",
            Over::Asked => "iba-lab-qa-task",
        };
        view! {
            <h3>{over.title()}</h3>
            <div class="radar-row" hidden=move || found.with(|found| found.curves.is_empty())>
                <Picture svg=picture size=size file_stem=stem on_error=on_error />
                <div class="table-box" tabindex="0" role="region" aria-label=over.title()>{move || found.with(twin)}</div>
            </div>
            <p class="muted small">{over.paper()}" As printed; other data, other judges."</p>
        }
    });
    view! {
        <section class="block" aria-labelledby="curves-title">
            <h2 id="curves-title">"What makes it hard"</h2>
            <p class="muted">"Percent of requirements met by finished runs, all judges with equal weight: the panels of the paper's Figure 5."</p>
            {panels.collect_view()}
        </section>
    }
    .into_any()
}

fn draw(found: &Panel, today: &str) -> lines::Lines {
    let series = found.curves.iter().map(|curve| {
        (
            curve.name.clone(),
            curve
                .spots
                .iter()
                .map(|spot| spot.percent)
                .collect::<Vec<_>>(),
        )
    });
    let said = found.curves.iter().map(|curve| {
        let spots = curve
            .spots
            .iter()
            .map(|spot| format!("{} {}", spot.x, percent(spot.percent, 1)));
        format!("{}: {}.", curve.name, spots.collect::<Vec<_>>().join(", "))
    });
    lines::Lines {
        id: format!("curves-{:?}", found.over),
        title: found.over.title().to_owned(),
        description: said.collect::<Vec<_>>().join(" "),
        xs: found.xs.clone(),
        max: 100.0,
        series: series.collect(),
        caption: vec![format!("IBA Lab {}, {today}", env!("CARGO_PKG_VERSION"))],
    }
}

fn twin(found: &Panel) -> AnyView {
    let heads = found
        .xs
        .iter()
        .map(|x| view! { <th scope="col">{x.clone()}</th> });
    let rows = found.curves.iter().map(|curve| {
        let cells = curve.spots.iter().map(|spot| {
            view! { <td>{percent(spot.percent, 1)}<small class="muted">{format!("n {}", spot.n)}</small></td> }
        });
        view! { <tr><th scope="row">{curve.name.clone()}</th>{cells.collect_view()}</tr> }
    });
    view! {
        <table class="numbers domains">
            <caption>"The same in numbers, in percent"</caption>
            <thead><tr><th scope="col">"System, model"</th>{heads.collect_view()}</tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
    .into_any()
}
