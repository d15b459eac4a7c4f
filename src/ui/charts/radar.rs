//! A radar with the buttons that save it and a table with the same numbers.

use super::Picture;
use crate::browser::error::BrowserError;
use crate::chart::palette;
use crate::chart::svg::{self, Figure};
use crate::results::figure::percent;
use leptos::prelude::*;

/// Shows the figure and its numbers.
#[component]
pub fn RadarChart(
    #[prop(into)] figure: Signal<Figure>,
    /// Name of saved files, without extension.
    file_stem: &'static str,
    /// Told when a file could not be saved.
    #[prop(into)]
    on_error: Callback<BrowserError>,
) -> impl IntoView {
    let picture = Signal::derive(move || figure.with(svg::radar));
    let size = Signal::derive(move || figure.with(|figure| (svg::WIDTH, svg::height(figure))));
    view! {
        <Picture svg=picture size=size file_stem=file_stem on_error=on_error />
        <div class="chart-twin table-box" tabindex="0" role="region" aria-label="Numbers of the radar">
            {move || figure.with(twin)}
        </div>
    }
}

/// The table beside the picture: one row an axis, one column a series.
fn twin(figure: &Figure) -> AnyView {
    let heads = figure.series.iter().enumerate().map(|(n, series)| {
        let class = format!("swatch {}", palette::style(series.style).class);
        let (name, title) = (series.name.clone(), series.name.clone());
        view! {
            <th scope="col" title=title>
                <span class=class aria-hidden="true"></span>
                {n + 1}
                <span class="visually-hidden">{name}</span>
            </th>
        }
    });
    let rows = figure.axes.iter().enumerate().map(|(axis, name)| {
        let cells = figure.series.iter().map(|series| {
            let value = series.values.get(axis).copied().flatten();
            view! { <td>{percent(value, 1)}</td> }
        });
        view! { <tr><th scope="row">{name.clone()}</th>{cells.collect_view()}</tr> }
    });
    let names = figure.series.iter().map(|series| {
        view! { <li>{series.name.clone()}</li> }
    });
    view! {
        <table class="numbers">
            <caption>"The same in numbers, in percent"</caption>
            <thead><tr><th scope="col">"Domain"</th>{heads.collect_view()}</tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        <ol class="small muted">{names.collect_view()}</ol>
    }
    .into_any()
}
