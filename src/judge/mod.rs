//! Verdicts for hidden requirements: slots by reference, programmatic checks, an LLM judge.
//! Sees the output and the hidden half, never how the output was made.

#[cfg(feature = "engine")]
pub mod checks;
mod grade;
mod model;
#[cfg(feature = "engine")]
mod pattern;

pub use grade::{GraderConfig, PROGRAMMATIC, judge_instance};

use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::ids::RequirementId;
use serde::{Deserialize, Serialize};

/// State of one requirement. A judge that failed is never a silent "not met".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictState {
    Met,
    NotMet,
    Unscored,
}

/// How a verdict was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictSource {
    /// The slot's value against the reference.
    Reference,
    /// A programmatic check.
    Check,
    /// A language model.
    Model,
    /// Nothing could decide it.
    None,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub requirement: RequirementId,
    pub state: VerdictState,
    pub source: VerdictSource,
    /// Why, in a sentence; for `Unscored` what is missing and what would help.
    pub rationale: String,
    /// The words of the output the verdict rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

impl Verdict {
    /// No verdict, and why.
    pub fn unscored(requirement: &RequirementId, why: impl Into<String>) -> Self {
        Self {
            requirement: requirement.clone(),
            state: VerdictState::Unscored,
            source: VerdictSource::None,
            rationale: why.into(),
            quote: None,
        }
    }
}

/// All verdicts of one judge on one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Name of the judge: `programmatic`, or the model's name.
    pub judge: String,
    /// Of the judge prompt; absent where no model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptRef>,
    /// In the order of the instance's requirements, one each.
    pub verdicts: Vec<Verdict>,
    #[serde(default)]
    pub calls: Vec<CallRecord>,
}
