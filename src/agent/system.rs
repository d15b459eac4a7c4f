//! The systems a visitor can run: IBA-Agent, its ablations, its rivals and its reference points.

use crate::run::record::ModelRef;
use serde::{Deserialize, Serialize};

/// Who acts. The serialized name stands in addresses and result files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// IBA-Agent with its tools in fixed order.
    IbaAgent,
    /// IBA-Agent whose model picks the tools by function calling.
    IbaAgentFc,
    /// Ablation: the task alone is searched for; no expansion, filter or re-ranking.
    WoDeepRetrieval,
    /// Ablation: no compaction, extraction and plan; the head reads the passages themselves.
    WoBtDa,
    /// Ablation: the head of standard RAG, over what the trajectory produced.
    WoSynthesis,
    /// Top 3 passages joined with the request.
    StandardRag,
    /// Reference point: the request alone.
    NoHistory,
    /// Reference point: all sessions that fit the context window, joined with the request.
    WholeHistory,
    /// Reference point: IBA-Agent behind a perfect retriever.
    OracleEvidence,
    /// Reference point: IBA-Agent on the history of somebody else.
    OtherHistory,
    /// Another program's outputs, brought in from a file; [`ModelRef::External`] names it.
    Imported,
    /// The gold-labelled samples of a dataset, for calibrating judges.
    Samples,
}

/// All systems that can be run, in the order of menus.
pub const SYSTEMS: [System; 10] = [
    System::IbaAgent,
    System::IbaAgentFc,
    System::WoDeepRetrieval,
    System::WoBtDa,
    System::WoSynthesis,
    System::StandardRag,
    System::NoHistory,
    System::WholeHistory,
    System::OracleEvidence,
    System::OtherHistory,
];

/// What kind of comparison a system serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    Agent,
    Ablation,
    Baseline,
    Reference,
}

impl Group {
    /// Head of its part of a menu.
    pub fn label(self) -> &'static str {
        match self {
            Group::Agent => "IBA-Agent",
            Group::Ablation => "Ablations",
            Group::Baseline => "Baseline",
            Group::Reference => "Reference points",
        }
    }
}

impl std::str::FromStr for System {
    type Err = String;

    /// Reads the name that stands in addresses and files.
    fn from_str(word: &str) -> Result<Self, String> {
        serde_json::from_value(word.into()).map_err(|_| {
            let words: Vec<String> = SYSTEMS.iter().map(|system| system.word()).collect();
            format!(
                "there is no system '{word}'; the systems are {}",
                words.join(", ")
            )
        })
    }
}

impl System {
    /// The name that stands in addresses and files.
    pub fn word(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => word,
            _ => String::new(),
        }
    }

    /// Name for menus, tables and figures.
    pub fn name(self) -> &'static str {
        match self {
            System::IbaAgent => "IBA-Agent",
            System::IbaAgentFc => "IBA-Agent (FC)",
            System::WoDeepRetrieval => "w/o Deep Retrieval",
            System::WoBtDa => "w/o BT + DA",
            System::WoSynthesis => "w/o Synthesis",
            System::StandardRag => "Standard RAG",
            System::NoHistory => "No history",
            System::WholeHistory => "Whole history",
            System::OracleEvidence => "Oracle evidence",
            System::OtherHistory => "Another user's history",
            System::Imported => "Imported",
            System::Samples => "Gold-labelled samples",
        }
    }

    /// What it does and what it is compared for, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            System::IbaAgent => {
                "All tools in the paper's order: deep retrieval, broad thinking and deep alignment, synthesis."
            }
            System::IbaAgentFc => {
                "The model picks the tools itself by function calling, until it calls an output head."
            }
            System::WoDeepRetrieval => {
                "Ablation: the task alone is searched for, as standard RAG does; no expanded queries, no filter, no re-ranking."
            }
            System::WoBtDa => {
                "Ablation without broad thinking and deep alignment: the output head reads the retrieved passages, and there is no plan."
            }
            System::WoSynthesis => {
                "Ablation: the last step is that of standard RAG; notes, preferences and plan are joined with the request as plain text."
            }
            System::StandardRag => "The passages nearest to the task, joined with the request.",
            System::NoHistory => {
                "The request alone: what a model does for somebody it does not know."
            }
            System::WholeHistory => {
                "No retrieval: the latest sessions that fit the context window, joined with the request."
            }
            System::OracleEvidence => {
                "Retrieval made perfect: IBA-Agent is handed exactly the sessions that reveal the preferences. An upper bound, not a system: nobody has these links outside a benchmark."
            }
            System::OtherHistory => {
                "IBA-Agent over the history of another user of the dataset: what personalising for the wrong person does."
            }
            System::Imported => "Outputs of another program, judged here.",
            System::Samples => {
                "Outputs whose requirements a person labelled, for measuring judges."
            }
        }
    }

    /// Its outputs are given, so that only judges have work to do.
    pub fn is_given(self) -> bool {
        matches!(self, System::Imported | System::Samples)
    }

    /// Its part of the menu.
    pub fn group(self) -> Group {
        match self {
            System::IbaAgent | System::IbaAgentFc => Group::Agent,
            System::WoDeepRetrieval | System::WoBtDa | System::WoSynthesis => Group::Ablation,
            System::StandardRag => Group::Baseline,
            _ => Group::Reference,
        }
    }

    /// Why this model cannot drive the system, with the next step; `None` when it can.
    pub fn refuses(self, model: &ModelRef) -> Option<&'static str> {
        if self.is_given() {
            return Some("This output was given, not made here. Choose a system to run.");
        }
        (self == System::IbaAgentFc && *model == ModelRef::Embedded).then_some(
            "IBA-Agent (FC) needs a language model, because the model itself picks the tools. \
             Choose an endpoint under Settings, or run IBA-Agent in its fixed order.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_in_files_are_stable_and_unique() {
        let words: Vec<_> = SYSTEMS.iter().map(|system| json!(system)).collect();
        assert_eq!(
            json!(words),
            json!([
                "iba_agent",
                "iba_agent_fc",
                "wo_deep_retrieval",
                "wo_bt_da",
                "wo_synthesis",
                "standard_rag",
                "no_history",
                "whole_history",
                "oracle_evidence",
                "other_history",
            ])
        );
    }

    #[test]
    fn only_function_calling_needs_a_language_model() {
        let refused: Vec<System> = SYSTEMS
            .into_iter()
            .filter(|system| system.refuses(&ModelRef::Embedded).is_some())
            .collect();
        assert_eq!(refused, [System::IbaAgentFc]);
        let endpoint = ModelRef::Endpoint {
            base_url: String::new(),
            model: "m".to_owned(),
        };
        assert!(
            SYSTEMS
                .iter()
                .all(|system| system.refuses(&endpoint).is_none())
        );
    }
}
