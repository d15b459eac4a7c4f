//! Verdicts for hidden requirements: slots by reference, programmatic checks, an LLM judge.
//! Sees the output and the hidden half, never how the output was made.

pub mod again;
#[cfg(feature = "engine")]
pub mod checks;
pub mod counted;
pub mod edit;
mod grade;
mod model;
pub mod opinion;
mod order;
pub mod panel;
#[cfg(feature = "engine")]
mod pattern;

pub use grade::{Held, PROGRAMMATIC, judge_beside, judge_by_models, judge_instance};
pub use order::Order;
pub use panel::{JudgeModel, Panel};

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
    /// A person, over the judge's head; the judge's own verdict is in the judgement's edits.
    Human,
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

/// All verdicts of one judge on one output, asked once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Name of the judge: `programmatic`, or the model's name.
    pub judge: String,
    /// Which asking of this judge, from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub repeat: u32,
    /// What was shuffled for it; absent where no model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Of the judge prompt; absent where no model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptRef>,
    /// The judge prompt word for word, where it was not the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wording: Option<String>,
    /// 0 for the verdicts that came with the run, from 1 for each time it was judged again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub round: u32,
    /// In the order of the instance's requirements, one each.
    pub verdicts: Vec<Verdict>,
    #[serde(default)]
    pub calls: Vec<CallRecord>,
    /// What people changed afterwards, oldest first; `verdicts` is how it stands now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<edit::Edit>,
}

impl Default for Judgement {
    /// Nothing yet, of a first asking.
    fn default() -> Self {
        Self {
            judge: String::new(),
            repeat: first(),
            order: None,
            prompt: None,
            wording: None,
            round: 0,
            verdicts: Vec::new(),
            calls: Vec::new(),
            edits: Vec::new(),
        }
    }
}

fn first() -> u32 {
    1
}

fn is_zero(round: &u32) -> bool {
    *round == 0
}

fn is_first(repeat: &u32) -> bool {
    *repeat <= 1
}
