//! Several systems on one instance, side by side.

use super::outcome;
use super::qa;
use super::record::{Mode, RunRecord, RunStatus};
use crate::agent::trace::{Output, StageRecord};
use crate::bench::hidden::HiddenInstance;
use crate::bench::ids::RequirementId;
use crate::judge::opinion::Standing;
use crate::run::setup::Details;
use crate::score;
use std::sync::Arc;

/// One run in the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub record: Arc<RunRecord>,
    /// What it was made with, as far as that is not as published or not as beside it.
    pub details: Details,
    /// Mean over judged requirements, 0 to 1.
    pub score: Option<f64>,
    pub cost: Cost,
    pub output: Option<Output>,
}

/// What a run took. Calls taken over from other runs were paid there and are counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub calls: usize,
    pub shared_calls: usize,
    /// `None` where no provider counted.
    pub tokens: Option<u64>,
    pub duration_ms: Option<f64>,
}

/// A requirement and each column's verdict on it; `None` where it was not judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub id: RequirementId,
    pub text: String,
    pub states: Vec<Option<Standing>>,
}

impl Line {
    /// Whether the columns do not agree: one met it, another did not.
    pub fn differs(&self) -> bool {
        let any = |state| self.states.contains(&Some(state));
        any(Standing::Met) && any(Standing::NotMet)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    pub columns: Vec<Column>,
    pub lines: Vec<Line>,
}

/// The latest run of every set-up in one mode, in the order of the systems' menu. Runs that gave no
/// output are columns too, so that a failure is not mistaken for a system that was not run; but not
/// those that were called off before their first stage, which say nothing.
pub fn compare(hidden: &HiddenInstance, records: &[Arc<RunRecord>], mode: Mode) -> Comparison {
    let mut latest: Vec<Arc<RunRecord>> = Vec::new();
    let ended = |record: &&Arc<RunRecord>| {
        let called_off = record.status == RunStatus::Cancelled && record.stages.is_empty();
        record.variant.mode == mode && record.status != RunStatus::Running && !called_off
    };
    for record in records.iter().filter(ended) {
        latest.retain(|old| !old.same_setup(record));
        latest.push(Arc::clone(record));
    }
    latest.sort_by_key(|record| record.system);
    let asked = match mode {
        Mode::Task => hidden.clone(),
        Mode::Qa => qa::as_requirements(hidden),
    };
    let judged: Vec<Vec<outcome::Row>> = latest
        .iter()
        .map(|record| outcome::rows(&asked, Some(record)))
        .collect();
    let line = |(n, requirement): (usize, &crate::bench::hidden::Requirement)| Line {
        id: requirement.id.clone(),
        text: requirement.text.clone(),
        states: judged
            .iter()
            .map(|rows| rows.get(n).and_then(|row| row.standing))
            .collect(),
    };
    let lines = asked.requirements.iter().enumerate().map(line).collect();
    Comparison {
        columns: latest
            .iter()
            .map(|record| column(record, &latest))
            .collect(),
        lines,
    }
}

fn column(record: &Arc<RunRecord>, all: &[Arc<RunRecord>]) -> Column {
    let among: Vec<&RunRecord> = all.iter().map(Arc::as_ref).collect();
    Column {
        details: Details::of(record, &among),
        score: score::of_judgements(&record.judgements).mean,
        cost: cost(record),
        output: record.output.clone(),
        record: Arc::clone(record),
    }
}

/// Calls and tokens of the system; the judge's are not its cost.
pub fn cost(record: &RunRecord) -> Cost {
    let (shared, own): (Vec<&StageRecord>, Vec<&StageRecord>) = record
        .stages
        .iter()
        .partition(|stage| stage.shared_from.is_some());
    let calls = |stages: &[&StageRecord]| stages.iter().map(|stage| stage.calls.len()).sum();
    let usages = own
        .iter()
        .flat_map(|stage| &stage.calls)
        .filter_map(|call| call.reply.usage);
    let counted: Vec<u64> = usages
        .filter_map(|usage| Some(usage.input? + usage.output.unwrap_or(0)))
        .collect();
    Cost {
        calls: calls(&own),
        shared_calls: calls(&shared),
        tokens: (!counted.is_empty()).then(|| counted.iter().sum()),
        duration_ms: record
            .ended_ms
            .map(|ended| (ended - record.started_ms).max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(id: &str, status: &str, stages: usize) -> Arc<RunRecord> {
        let stage = json!({
            "stage": "query_expansion", "started_ms": 0.0, "duration_ms": 0.0,
            "outcome": {"type": "queries", "queries": []},
        });
        let record = json!({
            "id": id, "instance": "i", "persona": "p", "scenario": "s", "domain": "d",
            "action": "generate_text", "task": "t", "system": "iba_agent", "epoch": 1,
            "params": {}, "agent": {"kind": "embedded"},
            "dataset": {"name": "n", "sha256": "abc"},
            "retriever": {"model": "m", "model_sha256": "", "method": "exact"},
            "stages": vec![stage; stages], "output": null, "requirements": [], "judgements": [],
            "status": {"state": status, "message": ""}, "started_ms": 0.0, "ended_ms": null,
            "app_version": "0",
        });
        Arc::new(serde_json::from_value(record).expect("a record"))
    }

    #[test]
    fn a_run_called_off_before_its_first_stage_hides_no_other() {
        let hidden: HiddenInstance = serde_json::from_value(json!({
            "id": "i", "preferences": [], "evidence": [], "requirements": [],
        }))
        .expect("a hidden instance");
        let shown = |last: Arc<RunRecord>| {
            let columns = compare(&hidden, &[record("first", "done", 2), last], Mode::Task).columns;
            columns
                .iter()
                .map(|column| column.record.id.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(record("off", "cancelled", 0)), ["first"]);
        assert_eq!(shown(record("late", "cancelled", 1)), ["late"]);
        assert_eq!(shown(record("bad", "failed", 0)), ["bad"]);
    }
}
