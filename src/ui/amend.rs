//! Changes to runs that have ended: a person's verdicts. A run of this browser is saved again; one
//! of an opened file changes in the tab and is saved with the next export.

use super::state::Lab;
use crate::results::LoadedResult;
use crate::run::record::RunRecord;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::sync::Arc;

/// Applies a change to the record of a run, wherever it is held.
pub fn amend(lab: Lab, run: &str, change: impl Fn(&mut RunRecord)) {
    let mut own = None;
    lab.runner.records.update(|records| {
        for record in records.iter_mut().filter(|record| record.id == run) {
            change(Arc::make_mut(record));
            own = Some(Arc::clone(record));
        }
    });
    if let Some(record) = own {
        save(lab, record);
    }
    let held = |file: &Arc<LoadedResult>| file.records().any(|record| record.id == run);
    if lab
        .opened
        .files
        .with_untracked(|files| files.iter().any(held))
    {
        lab.opened.files.update(|files| {
            for file in files.iter_mut().filter(|file| held(file)) {
                let rows = Arc::make_mut(file).file.rows.iter_mut();
                let records = rows.filter_map(|row| row.record.as_mut());
                records
                    .filter(|record| record.id == run)
                    .for_each(|record| change(Arc::make_mut(record)));
            }
        });
    }
}

fn save(lab: Lab, record: Arc<RunRecord>) {
    if let Some(edge) = lab.edge.get_untracked() {
        spawn_local(async move {
            edge.runs.save(&record).await;
            lab.tell_tabs(&record.id);
        });
    }
}
