//! Takes the results home: result files of this tab's runs, and the table as CSV.

use crate::browser::error::BrowserError;
use crate::browser::{clock, files};
use crate::results::csv;
use crate::results::inspect::{self, FileMeta};
use crate::results::table::DomainTable;
use crate::run::record::RunRecord;
use leptos::prelude::*;
use std::sync::Arc;

/// Three buttons; what cannot be saved now is disabled.
#[component]
pub fn Exports(
    records: Signal<Vec<Arc<RunRecord>>>,
    table: Memo<DomainTable>,
    on_error: Callback<BrowserError>,
) -> impl IntoView {
    let no_runs = move || records.with(Vec::is_empty);
    let report = move |saved: Result<(), BrowserError>| {
        if let Err(error) = saved {
            on_error.run(error);
        }
    };
    let save = move |gzip: bool| records.with_untracked(|records| report(save_logs(records, gzip)));
    let save_csv = move |_| {
        let text = table.with_untracked(csv::domain_table);
        report(files::download(
            "iba-lab-domains.csv",
            "text/csv",
            &[text.as_bytes()],
        ));
    };
    view! {
        <button type="button" class="button" disabled=no_runs on:click=move |_| save(true)>
            "Save runs (.json.gz)"
        </button>
        <button type="button" class="button" disabled=no_runs on:click=move |_| save(false)>
            "Save runs (.json)"
        </button>
        <button type="button" class="button" disabled=move || table.with(|t| t.rows.is_empty()) on:click=save_csv>
            "Save table (.csv)"
        </button>
    }
    .into_any()
}

/// One file for each system and model.
fn save_logs(records: &[Arc<RunRecord>], gzip: bool) -> Result<(), BrowserError> {
    let records: Vec<RunRecord> = records
        .iter()
        .map(|record| RunRecord::clone(record))
        .collect();
    for log in inspect::group(&records, &meta()) {
        let (name, packed) = (log.file_name(gzip), gzip.then(|| log.json_gz()));
        let bytes = packed.as_deref().unwrap_or(log.json().as_bytes());
        files::download(&name, "application/octet-stream", &[bytes])?;
    }
    Ok(())
}

fn meta() -> FileMeta {
    let random = (js_sys::Math::random() * f64::from(u32::MAX)) as u32;
    FileMeta {
        id: format!("{random:08x}"),
        created_ms: clock::now_ms(),
    }
}
