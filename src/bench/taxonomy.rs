//! Domains and scenarios: the public frame of a benchmark.

use super::ids::{DomainId, ScenarioId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The two kinds of final action an instance asks for (paper, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Free-form personalised text.
    GenerateText,
    /// Filled slots of an API template.
    CallApi,
}

/// A domain in the paper's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Domain {
    pub id: DomainId,
    pub name: String,
    /// Column head in the result tables, for example `Daily`.
    pub label: String,
}

/// A scenario as everybody may see it. Its preference dimensions are hidden: see
/// [`super::hidden::Dimension`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    pub id: ScenarioId,
    pub domain: DomainId,
    pub name: String,
    pub action: Action,
    /// Whether preferences of this scenario may change over the year.
    pub dynamic: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<ApiTemplate>,
}

/// An API the agent may call: a template with slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiTemplate {
    pub name: String,
    pub method: String,
    pub endpoint: String,
    pub description: String,
    pub slots: Vec<Slot>,
}

/// One parameter of an [`ApiTemplate`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    pub name: String,
    /// `string`, `integer`, `number` or `boolean`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The options, when the slot is closed.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Value>>,
    pub required: bool,
    pub description: String,
}
