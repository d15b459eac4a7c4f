//! Chooses rows of the paper to compare with.

use crate::results::paper::Paper;
use crate::results::table::{paper_key, table_title};
use leptos::prelude::*;
use std::sync::Arc;

/// All printed rows by table; choosing one adds it to the overlay.
#[component]
pub fn PaperPicker(
    paper: Signal<Option<Arc<Paper>>>,
    overlay: RwSignal<Vec<String>>,
) -> impl IntoView {
    let choose = move |event| {
        let key = event_target_value(&event);
        let chosen = match key.strip_suffix(ALL) {
            Some(table) => paper.with_untracked(|paper| all_of(paper.as_deref(), table)),
            None if key.is_empty() => Vec::new(),
            None => vec![key],
        };
        let known = |row: &String| overlay.with_untracked(|rows| rows.contains(row));
        let new: Vec<String> = chosen.into_iter().filter(|row| !known(row)).collect();
        if !new.is_empty() {
            overlay.update(|rows| rows.extend(new));
        }
    };
    let options = move || paper.get().map(|paper| groups(&paper));
    view! {
        <div class="field paper-picker" hidden=move || paper.with(Option::is_none)>
            <label for="paper-row">"Compare with rows of the paper"</label>
            <select id="paper-row" prop:value="" on:change=choose>
                <option value="">"Choose a row or a table…"</option>
                {options}
            </select>
            <p class="small muted">
                "As printed in arXiv 2608.02171, Tables 4 to 10: measured on IBA-Bench with the paper's judges, not on the data set opened here."
            </p>
        </div>
    }
    .into_any()
}

/// Ends the value of a choice that means a whole table.
const ALL: &str = "/*";

fn all_of(paper: Option<&Paper>, table: &str) -> Vec<String> {
    let rows = paper.and_then(|paper| paper.tables.get(table));
    let rows = rows.into_iter().flat_map(|table| &table.rows);
    rows.map(|row| paper_key(table, &row.id)).collect()
}

fn groups(paper: &Paper) -> AnyView {
    let mut ids: Vec<&String> = paper.tables.keys().collect();
    // "table10" comes after "table9".
    ids.sort_by_key(|id| (id.len(), id.as_str()));
    let group = |id: &String| {
        let table = &paper.tables[id];
        let option = |row: &crate::score::paper::PaperRow| {
            let text = format!(
                "{} · overall {:.2$}",
                row.name, row.overall, row.decimals as usize
            );
            view! { <option value=paper_key(id, &row.id)>{text}</option> }
        };
        let label = format!("{}: {}", table_title(id), table.what);
        let all = format!("all {} rows of {}", table.rows.len(), table_title(id));
        view! { <optgroup label=label><option value=format!("{id}{ALL}")>{all}</option>{table.rows.iter().map(option).collect_view()}</optgroup> }
    };
    ids.into_iter().map(group).collect_view().into_any()
}
