//! The paper's published scores (`public/paper/results.json`), for overlays and for testing that
//! our means are the paper's.

use crate::bench::ids::DomainId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `results.json`: Tables 4 to 9 in percent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperResults {
    /// Title and arXiv number, for the caption of an overlay.
    pub source: String,
    /// Domains in the order of the tables' columns, with the instances of each in the full
    /// benchmark.
    pub domains: Vec<PaperDomain>,
    /// `table4` to `table9`.
    pub tables: BTreeMap<String, PaperTable>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperDomain {
    pub id: DomainId,
    /// Column head.
    pub label: String,
    pub name: String,
    pub instances: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperTable {
    pub what: String,
    pub retriever: String,
    pub judges: Vec<String>,
    pub rows: Vec<PaperRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperRow {
    /// `system__backbone`.
    pub id: String,
    pub name: String,
    /// `standard_rag`, `iba_agent`, `iba_agent_fc`, `general_agent`, or an ablation's id.
    pub system: String,
    /// Decimals as printed.
    pub decimals: u32,
    /// Percent, in the order of [`PaperResults::domains`].
    pub scores: Vec<f64>,
    /// Percent, as printed.
    pub overall: f64,
    /// Standard deviations over judge runs in the same order, overall last; only in `table9`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub std: Vec<f64>,
}

impl PaperResults {
    /// Reads `results.json`.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Our Overall for one of the paper's rows: the mean over all instances, in percent.
    pub fn recomputed_overall(&self, row: &PaperRow) -> Option<f64> {
        let counts = self.domains.iter().map(|domain| domain.instances);
        super::weighted_overall(row.scores.iter().copied().zip(counts))
    }
}
