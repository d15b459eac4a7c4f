//! What each stage of a system leaves behind. A trajectory is the list of its stages.

pub use super::system::System;
use crate::bench::ids::SessionId;
use crate::embed::{Hit, Passage, PassageId};
use crate::llm::{Chat, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The steps of the systems: the tools of IBA-Agent in their fixed order (paper, section 4), and
/// what stands in their place in other systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageId {
    /// The model picks the next tools (function calling).
    Controller,
    /// Evidence as given, in place of retrieval (oracle).
    GivenEvidence,
    /// Sessions chosen to fit the context window (whole history).
    HistoryFitting,
    QueryExpansion,
    SimilarityRetrieval,
    RedundancyFiltering,
    SalienceReranking,
    CompactEvidence,
    PreferenceExtraction,
    TaskPreferenceAlignment,
    /// Output head A.
    TextGeneration,
    /// Output head B.
    ParameterFilling,
    /// Answers to questions about the user, in place of an action (QA mode).
    QuestionAnswering,
}

/// One stage, as it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    pub stage: StageId,
    /// Milliseconds since the Unix epoch.
    pub started_ms: f64,
    pub duration_ms: f64,
    pub outcome: StageOutcome,
    /// Model calls of this stage, in order; empty for local stages.
    #[serde(default)]
    pub calls: Vec<CallRecord>,
    /// Sentences about what was odd, for example a score the model left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Hash of everything the result depends on; equal keys mean that the result can be shared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The run it was taken over from; its calls were paid there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_from: Option<String>,
}

/// One model call; holds no key and no header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// `agent` or `grader`.
    pub role: String,
    /// Where it went, for example `https://api.deepseek.com`.
    pub base_url: String,
    pub request: Chat,
    pub reply: Reply,
    /// Id and hash of the prompt template.
    pub prompt: PromptRef,
    pub started_ms: f64,
    pub duration_ms: f64,
    /// Answered from the journal, not paid again.
    #[serde(default)]
    pub from_journal: bool,
    #[serde(default)]
    pub retries: u32,
    /// Parameters as really sent, by their names on the wire: without those the endpoint refuses.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub sent: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRef {
    pub id: String,
    pub sha256: String,
}

/// What a stage produced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StageOutcome {
    /// What the controller asked for, in its order.
    Decided {
        decisions: Vec<Decision>,
        /// What it said beside its calls.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    Given {
        passages: Vec<Passage>,
    },
    Fitted {
        fit: Fit,
    },
    Queries {
        queries: Vec<Query>,
    },
    Retrieved {
        lists: Vec<QueryHits>,
    },
    Filtered {
        kept: Vec<Passage>,
        dropped: Vec<Dropped>,
    },
    Ranked {
        scored: Vec<ScoredPassage>,
        kept: Vec<PassageId>,
        dropped: Vec<Dropped>,
    },
    Compacted {
        items: Vec<CompactItem>,
        dropped: Vec<Dropped>,
    },
    Preferences {
        items: Vec<ExtractedPreference>,
    },
    Plan {
        plan: AlignmentPlan,
    },
    Output {
        output: Output,
    },
    /// The stage ended in an error; its calls and notes are kept.
    Failed {
        message: String,
    },
}

/// One tool call of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Name as the model wrote it.
    pub tool: String,
    /// Always an object; broken arguments never get this far.
    pub arguments: Value,
    /// Why it was not carried out, in the words the model was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Which sessions fit the context window. Tokens are estimates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// By date.
    pub kept: Vec<SessionId>,
    /// Left out, by date.
    pub cut: Vec<SessionId>,
    pub kept_tokens: u64,
    pub cut_tokens: u64,
    /// Room for sessions: the window less the request and the answer.
    pub room_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// `task` or `question`, else `style`, `structure`, `decision`, `correction` or `habit`.
    pub facet: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryHits {
    pub query: Query,
    pub hits: Vec<Hit>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    pub passage: PassageId,
    /// In a sentence, for example "salience 3 is below 5".
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredPassage {
    pub passage: PassageId,
    /// 0 to 10; `None` when the model gave none that could be read.
    pub salience: Option<f64>,
    /// Signals found, for example `complaint`.
    pub signals: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactItem {
    pub passage: PassageId,
    pub date: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtractedPreference {
    pub text: String,
    /// `asked`, `corrected`, `rejected`, `repeated` or `updated`.
    pub kind: String,
    /// Passages it came from.
    pub passages: Vec<PassageId>,
}

/// Style and structure for text, constraints and priorities for a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AlignmentPlan {
    pub items: Vec<PlanItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanItem {
    /// `style`, `structure`, `constraint` or `priority`.
    pub aspect: String,
    pub text: String,
    /// The slot it decides, for a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
}

/// The final action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Output {
    GenerateText {
        text: String,
    },
    /// Slots as filled, and a sentence that describes the action.
    CallApi {
        slots: Map<String, Value>,
        description: String,
    },
}

impl Output {
    /// Text, or the object slot -> value: what checks and judges read.
    pub fn value(&self) -> Value {
        match self {
            Output::GenerateText { text } => Value::String(text.clone()),
            Output::CallApi { slots, .. } => Value::Object(slots.clone()),
        }
    }
}
