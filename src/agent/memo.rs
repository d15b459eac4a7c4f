//! Stages whose result is known: ablations and re-runs take equal stages over instead of paying
//! them again.
//!
//! A stage is named by a hash of all it depends on: the tool, its inputs, the parameters it reads,
//! the model, the prompt texts, and the scope of the run (dataset, history, retriever, version,
//! repeat). Equal names mean equal questions, so an earlier answer stands for a new one. Repeats
//! differ in scope: the second repeat of a run is really asked again, while the second repeat of
//! an ablation shares with the second repeat of the full system.

use super::trace::{StageId, StageOutcome, StageRecord};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Finished stages by key.
#[derive(Clone, Debug, Default)]
pub struct StageMemo {
    /// The run that did it, and what it did.
    done: BTreeMap<String, (String, StageRecord)>,
}

impl StageMemo {
    /// Knows nothing.
    pub const fn new() -> Self {
        Self {
            done: BTreeMap::new(),
        }
    }

    /// Takes in what a run did. Failed stages and stages without key are no answers; of equal
    /// ones the first stays, so that a chain of takings-over names the run that paid.
    pub fn add(&mut self, run: &str, stages: &[StageRecord]) {
        for stage in stages {
            let failed = matches!(stage.outcome, StageOutcome::Failed { .. });
            if !failed && !stage.key.is_empty() {
                let from = stage.shared_from.as_deref().unwrap_or(run);
                let entry = || (from.to_owned(), stage.clone());
                self.done.entry(stage.key.clone()).or_insert_with(entry);
            }
        }
    }

    /// What is known under a key, as a stage that is taken over: its calls count as not paid.
    pub fn get(&self, key: &str) -> Option<StageRecord> {
        let (run, stage) = self.done.get(key)?;
        let mut stage = stage.clone();
        stage.shared_from = Some(run.clone());
        for call in &mut stage.calls {
            call.from_journal = true;
        }
        Some(stage)
    }

    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }
}

/// The name of a stage. `reads` are parameters, model and prompt hashes; `inputs` what came in.
pub fn key(scope: &str, stage: StageId, reads: &Value, inputs: &impl Serialize) -> String {
    let what = json!([scope, stage, reads, inputs]).to_string();
    format!("{:x}", Sha256::digest(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(key: &str, outcome: StageOutcome) -> StageRecord {
        StageRecord {
            stage: StageId::QueryExpansion,
            started_ms: 0.0,
            duration_ms: 1.0,
            outcome,
            calls: Vec::new(),
            notes: Vec::new(),
            key: key.to_owned(),
            shared_from: None,
        }
    }

    #[test]
    fn failures_are_never_shared_and_the_payer_is_named() {
        let queries = || StageOutcome::Queries { queries: vec![] };
        let failed = StageOutcome::Failed {
            message: "no".to_owned(),
        };
        let mut memo = StageMemo::default();
        memo.add(
            "run-1",
            &[
                stage("a", queries()),
                stage("b", failed),
                stage("", queries()),
            ],
        );
        let taken = memo.get("a").expect("known");
        assert_eq!(taken.shared_from.as_deref(), Some("run-1"));
        assert!(memo.get("b").is_none() && memo.get("").is_none());
        let mut later = StageMemo::default();
        later.add("run-2", &[taken]);
        let again = later.get("a").expect("known");
        assert_eq!(again.shared_from.as_deref(), Some("run-1"));
    }

    #[test]
    fn every_part_of_a_key_counts() {
        let of =
            |scope, stage, reads: &str, inputs: &str| key(scope, stage, &json!(reads), &inputs);
        let keys = [
            of("s", StageId::QueryExpansion, "r", "i"),
            of("t", StageId::QueryExpansion, "r", "i"),
            of("s", StageId::SalienceReranking, "r", "i"),
            of("s", StageId::QueryExpansion, "q", "i"),
            of("s", StageId::QueryExpansion, "r", "j"),
        ];
        let mut distinct = keys.to_vec();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(keys[0], of("s", StageId::QueryExpansion, "r", "i"));
    }
}
