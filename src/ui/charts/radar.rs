//! A radar with the buttons that save it and a table with the same numbers.

use super::save;
use crate::browser::error::BrowserError;
use crate::chart::palette;
use crate::chart::svg::{self, Figure};
use crate::results::figure::percent;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Shows a figure. The picture is text from `chart::svg`, in which every name is escaped.
#[component]
pub fn RadarChart(
    #[prop(into)] figure: Signal<Figure>,
    /// Name of saved files, without extension.
    file_stem: &'static str,
    /// Told when a file could not be saved.
    #[prop(into)]
    on_error: Callback<BrowserError>,
) -> impl IntoView {
    let report = move |saved: Result<(), BrowserError>| {
        if let Err(error) = saved {
            on_error.run(error);
        }
    };
    let save_svg = move |_| {
        let text = figure.with_untracked(svg::radar);
        report(save::svg(&format!("{file_stem}.svg"), &text));
    };
    let save_png = move |_| {
        let (text, height) =
            figure.with_untracked(|figure| (svg::radar(figure), svg::height(figure)));
        spawn_local(async move {
            report(save::png(&format!("{file_stem}.png"), &text, svg::WIDTH, height).await);
        });
    };
    view! {
        <figure class="chart-box">
            <div class="chart-picture" inner_html=move || figure.with(svg::radar)></div>
            <div class="actions">
                <button type="button" class="button" on:click=save_svg>"Save as SVG"</button>
                <button type="button" class="button" on:click=save_png>"Save as PNG"</button>
            </div>
        </figure>
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
