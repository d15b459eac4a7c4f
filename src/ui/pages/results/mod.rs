//! The results: domain table, radar, instances, exports.

use crate::results::LoadedResult;
use crate::run::record::RunRecord;
use crate::score::paper::PaperResults;
use leptos::prelude::*;
use std::sync::Arc;

/// Shows what was run in this tab and what was opened from files, side by side.
#[component]
pub fn ResultsPage(
    /// Runs of this tab, oldest first.
    #[prop(into)]
    records: Signal<Vec<Arc<RunRecord>>>,
    /// Files opened from disk or by address.
    #[prop(into)]
    opened: Signal<Vec<Arc<LoadedResult>>>,
    /// The published rows, once `paper/results.json` is loaded.
    #[prop(into)]
    paper: Signal<Option<Arc<PaperResults>>>,
    /// Ids of the paper's rows that are overlaid; the owner keeps them in the address.
    overlay: RwSignal<Vec<String>>,
    /// Address of the instance view that shows a run.
    #[prop(into)]
    instance_href: Callback<RunRecord, String>,
    /// Asks the visitor for a file to open.
    #[prop(into)]
    on_open_file: Callback<()>,
) -> impl IntoView {
    let _ = (records, opened, paper, overlay, instance_href, on_open_file);
}
