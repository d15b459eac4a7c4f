//! A figure as it is drawn, with the buttons that save it.

use super::save;
use crate::browser::error::BrowserError;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Shows a figure. The picture is text from `chart`, in which every name is escaped.
#[component]
pub fn Picture(
    svg: Signal<String>,
    /// Width and height in the figure's own units.
    size: Signal<(f64, f64)>,
    /// Name of saved files, without extension.
    file_stem: &'static str,
    /// Told when a file could not be saved.
    on_error: Callback<BrowserError>,
) -> impl IntoView {
    let report = move |saved: Result<(), BrowserError>| {
        if let Err(error) = saved {
            on_error.run(error);
        }
    };
    let save_svg = move |_| {
        report(svg.with_untracked(|text| save::svg(&format!("{file_stem}.svg"), text)));
    };
    let save_png = move |_| {
        let (text, (width, height)) = (svg.get_untracked(), size.get_untracked());
        spawn_local(async move {
            report(save::png(&format!("{file_stem}.png"), &text, width, height).await);
        });
    };
    view! {
        <figure class="chart-box">
            <div class="chart-picture" inner_html=move || svg.get()></div>
            <div class="actions">
                <button type="button" class="button" on:click=save_svg>"Save as SVG"</button>
                <button type="button" class="button" on:click=save_png>"Save as PNG"</button>
            </div>
        </figure>
    }
}
