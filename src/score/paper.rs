//! The paper's published scores (`public/paper/results.json`), for overlays and for testing that
//! our means are the paper's.

use crate::bench::ids::DomainId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `results.json`: Tables 4 to 11, scores in percent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperResults {
    /// Title and arXiv number, for the caption of an overlay.
    pub source: String,
    /// Domains in the order of the tables' columns, with the instances of each in the full
    /// benchmark.
    pub domains: Vec<PaperDomain>,
    /// `table4` to `table10`.
    pub tables: BTreeMap<String, PaperTable>,
    /// Table 11.
    #[serde(default)]
    pub agreement: PaperAgreement,
}

/// Table 11: how far two annotators agree on the quality of instances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PaperAgreement {
    /// `table11`.
    pub table: String,
    pub what: String,
    /// Instances that were labelled.
    pub sample: u32,
    /// Pair by pair; three dimensions each, and overall.
    pub rows: Vec<PaperAgreementRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperAgreementRow {
    /// Who labelled.
    pub pair: String,
    /// What about the instances; `overall` is the mean of the others.
    pub dimension: String,
    /// Same labels, in percent.
    pub percent: f64,
    /// Gwet's AC1.
    pub ac1: f64,
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

#[cfg(test)]
mod tests {
    use super::*;

    // As the paper's table has it: overall is the mean of the dimensions, rounded.
    #[test]
    fn the_overall_lines_of_table_11_are_means_of_their_dimensions() {
        let paper = PaperResults::parse(include_str!("../../public/paper/results.json"));
        let agreement = paper.expect("ours").agreement;
        assert_eq!((agreement.sample, agreement.rows.len()), (200, 8));
        for four in agreement.rows.chunks(4) {
            let mean =
                |of: fn(&PaperAgreementRow) -> f64| four[..3].iter().map(of).sum::<f64>() / 3.0;
            assert_eq!(four[3].dimension, "overall");
            assert!((mean(|row| row.percent) - four[3].percent).abs() < 0.1);
            assert!((mean(|row| row.ac1) - four[3].ac1).abs() < 0.01);
        }
    }
}
