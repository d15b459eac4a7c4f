//! What an endpoint wants different from the common dialect: partly known beforehand, partly
//! learned from its refusals and remembered for the rest of a run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Deviations of one endpoint and model. `Default` is the plain OpenAI dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quirks {
    /// Parameters never sent, by wire name, for example `temperature`.
    pub omit: BTreeSet<String>,
    pub output_limit: OutputLimitField,
    pub json: JsonSupport,
    pub tool_choice: ToolChoiceSupport,
    pub reasoning: ReasoningReplay,
    /// The rule for reasoning was turned round once; it is not turned again.
    pub reasoning_flipped: bool,
    /// Call ids have to be exactly nine letters or digits (Mistral).
    pub nine_char_ids: bool,
    /// Headers that this endpoint alone may get besides authorisation and content type.
    pub extra_headers: Vec<(String, String)>,
}

/// What the output limit is called on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimitField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// The strongest JSON mode an endpoint knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonSupport {
    #[default]
    Schema,
    Object,
    None,
}

/// Which values of `tool_choice` an endpoint takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoiceSupport {
    #[default]
    Any,
    AutoOnly,
    /// Not even `auto`.
    Omit,
}

/// Whether reasoning text goes back to the model within a tool loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    #[default]
    Never,
    ToolLoop,
}
