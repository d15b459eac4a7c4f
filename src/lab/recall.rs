//! How much of the evidence gets through each stage: the share of an instance's evidence sessions
//! of which at least one passage is left, averaged over instances.

use crate::agent::trace::{StageOutcome, StageRecord};
use crate::bench::hidden::HiddenInstance;
use crate::embed::PassageId;
use crate::run::record::RunRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Recall of evidence sessions after each stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recall {
    /// Sum over instances, and their number.
    stages: BTreeMap<&'static str, (f64, u32)>,
}

/// Adds one run.
pub fn add(recall: &mut Recall, record: &RunRecord, hidden: &HiddenInstance) {
    let evidence: BTreeSet<&str> = hidden.evidence.iter().map(|e| e.session.as_str()).collect();
    for (name, left) in record.stages.iter().filter_map(left) {
        let sessions: BTreeSet<&str> = left.iter().map(session).collect();
        let share = evidence.intersection(&sessions).count() as f64 / evidence.len().max(1) as f64;
        let (sum, n) = recall.stages.entry(name).or_default();
        *sum += share;
        *n += 1;
    }
}

fn session(id: &PassageId) -> &str {
    id.0.split('#').next().unwrap_or_default()
}

/// Name of a stage and the passages left after it.
fn left(stage: &StageRecord) -> Option<(&'static str, Vec<PassageId>)> {
    let left = match &stage.outcome {
        StageOutcome::Retrieved { lists } => {
            let hits = lists.iter().flat_map(|list| &list.hits);
            (
                "1 similarity_retrieval",
                hits.map(|hit| hit.passage.id.clone()).collect(),
            )
        }
        StageOutcome::Filtered { kept, .. } => (
            "2 redundancy_filtering",
            kept.iter().map(|p| p.id.clone()).collect(),
        ),
        StageOutcome::Ranked { kept, .. } => ("3 salience_reranking", kept.clone()),
        StageOutcome::Compacted { items, .. } => (
            "4 compact_evidence",
            items.iter().map(|item| item.passage.clone()).collect(),
        ),
        StageOutcome::Preferences { items } => {
            let passages = items.iter().flat_map(|item| item.passages.clone());
            ("5 preference_extraction", passages.collect())
        }
        _ => return None,
    };
    Some(left)
}

impl Recall {
    /// Mean recall after each stage, in the order of the stages.
    pub fn means(&self) -> Vec<(&'static str, f64)> {
        self.stages
            .iter()
            .map(|(name, (sum, n))| (*name, sum / f64::from((*n).max(1))))
            .collect()
    }

    pub(super) fn report(&self) -> String {
        let mut out =
            String::from("evidence sessions left after each stage (mean over instances)\n");
        for (name, mean) in self.means() {
            let _ = writeln!(out, "{:5.1}  {name}", mean * 100.0);
        }
        out
    }
}
