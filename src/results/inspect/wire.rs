//! The fields of an Inspect log that we write, in the order of Inspect's own models.
//! Times are ISO 8601 text, durations seconds.

use super::json;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Serialize)]
pub struct Log {
    pub version: u32,
    pub status: &'static str,
    pub eval: Spec,
    pub plan: Plan,
    pub results: Results,
    pub stats: Stats,
    pub samples: Vec<Sample>,
}

#[derive(Serialize)]
pub struct Spec {
    pub eval_id: String,
    pub run_id: String,
    pub created: String,
    pub task: String,
    pub task_id: String,
    pub task_version: u32,
    pub task_args: Value,
    pub solver: String,
    pub solver_args: Value,
    pub dataset: Dataset,
    pub model: String,
    pub model_generate_config: GenerateConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_base_url: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub model_roles: BTreeMap<String, RoleModel>,
    pub config: Config,
    pub packages: BTreeMap<String, String>,
    pub metadata: Value,
    pub scorers: Vec<Scorer>,
}

#[derive(Serialize)]
pub struct Dataset {
    pub name: String,
    pub samples: usize,
    pub sample_ids: Vec<String>,
    pub shuffled: bool,
}

#[derive(Clone, Default, Serialize)]
pub struct GenerateConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

#[derive(Serialize)]
pub struct RoleModel {
    pub model: String,
    pub config: GenerateConfig,
    pub base_url: String,
}

#[derive(Serialize)]
pub struct Config {
    pub epochs: u32,
    pub epochs_reducer: [&'static str; 1],
}

#[derive(Serialize)]
pub struct Scorer {
    pub name: String,
    pub metrics: Vec<MetricName>,
}

#[derive(Serialize)]
pub struct MetricName {
    pub name: &'static str,
}

#[derive(Serialize)]
pub struct Plan {
    pub name: &'static str,
    pub steps: Vec<Step>,
    pub config: GenerateConfig,
}

#[derive(Serialize)]
pub struct Step {
    pub solver: String,
    pub params: Value,
}

#[derive(Serialize)]
pub struct Results {
    pub total_samples: usize,
    pub completed_samples: usize,
    pub scores: Vec<EvalScore>,
}

#[derive(Serialize)]
pub struct EvalScore {
    pub name: String,
    pub scorer: String,
    pub reducer: &'static str,
    pub scored_samples: usize,
    pub unscored_samples: usize,
    pub metrics: BTreeMap<String, Metric>,
}

#[derive(Serialize)]
pub struct Metric {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'static str>,
    #[serde(serialize_with = "json::number")]
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

#[derive(Serialize)]
pub struct Stats {
    pub started_at: String,
    pub completed_at: String,
    pub model_usage: UsageMap,
    pub role_usage: UsageMap,
}

/// Model or role to tokens.
pub type UsageMap = BTreeMap<String, ModelUsage>;

/// `input_tokens` leaves out what the provider read from its cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_cache_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

#[derive(Serialize)]
pub struct Sample {
    pub id: String,
    pub epoch: u32,
    pub input: String,
    pub target: Vec<String>,
    pub messages: Vec<Message>,
    pub output: ModelOutput,
    pub scores: Ordered<Score>,
    pub metadata: Value,
    pub events: Vec<Event>,
    pub model_usage: UsageMap,
    pub role_usage: UsageMap,
    pub started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_time: Option<f64>,
    pub uuid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SampleError>,
}

#[derive(Serialize)]
pub struct SampleError {
    pub message: String,
    pub traceback: String,
    pub traceback_ansi: String,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System {
        content: Value,
    },
    User {
        content: Value,
    },
    Assistant {
        content: Value,
        source: &'static str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        model: String,
    },
    Tool {
        content: Value,
        tool_call_id: String,
        function: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    },
}

#[derive(Serialize)]
pub struct ToolCall {
    pub id: String,
    pub function: String,
    pub arguments: Map<String, Value>,
    #[serde(rename = "type")]
    pub kind: &'static str,
}

#[derive(Serialize)]
pub struct ModelOutput {
    pub model: String,
    pub choices: Vec<Choice>,
    pub completion: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ModelUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

#[derive(Serialize)]
pub struct Choice {
    pub message: Message,
    pub stop_reason: &'static str,
}

#[derive(Clone, Serialize)]
pub struct Score {
    pub value: ScoreValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    pub explanation: String,
    pub metadata: Value,
    /// The score as the judge gave it, then each change with its author; empty when nobody
    /// changed anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<ScoreEdit>,
}

/// The score after one change; without provenance, as the judge gave it.
#[derive(Clone, Serialize)]
pub struct ScoreEdit {
    pub value: ScoreValue,
    pub explanation: String,
    pub metadata: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// Who changed a score, when and why.
#[derive(Clone, Serialize)]
pub struct Provenance {
    pub timestamp: String,
    pub author: String,
    pub reason: String,
    pub metadata: Value,
}

/// `C`, `I` or `NaN` by requirement, or their mean.
#[derive(Clone)]
pub enum ScoreValue {
    Verdicts(Vec<(String, Mark)>),
    Mean(f64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Correct,
    Incorrect,
    Unscored,
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Mark::Correct => serializer.serialize_str("C"),
            Mark::Incorrect => serializer.serialize_str("I"),
            Mark::Unscored => json::number(&f64::NAN, serializer),
        }
    }
}

impl Serialize for ScoreValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ScoreValue::Verdicts(marks) => entries(marks, serializer),
            ScoreValue::Mean(value) => json::number(value, serializer),
        }
    }
}

/// An object whose keys keep the order in which they were put.
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        entries(&self.0, serializer)
    }
}

fn entries<T: Serialize, S: Serializer>(
    entries: &[(String, T)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(entries.len()))?;
    for (key, value) in entries {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// An event with what all events have.
#[derive(Serialize)]
pub struct Event {
    pub uuid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    pub timestamp: String,
    /// Seconds since the sample began.
    pub working_start: f64,
    #[serde(flatten)]
    pub body: EventBody,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    SpanBegin {
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_id: Option<String>,
        #[serde(rename = "type")]
        kind: &'static str,
        name: String,
    },
    SpanEnd {
        id: String,
    },
    Info {
        source: String,
        data: Value,
    },
    Model(Box<ModelEvent>),
    Tool(Box<ToolEvent>),
    Score {
        score: Score,
        target: Vec<String>,
        scorer: String,
    },
}

/// A tool call of a model that picks its tools, with what it was told.
#[derive(Serialize)]
pub struct ToolEvent {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub id: String,
    pub function: String,
    pub arguments: Map<String, Value>,
    pub result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    pub completed: String,
}

#[derive(Serialize)]
pub struct ModelEvent {
    pub model: String,
    pub role: String,
    pub input: Vec<Message>,
    pub tools: Vec<Value>,
    pub tool_choice: Value,
    pub config: GenerateConfig,
    pub output: ModelOutput,
    pub retries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<&'static str>,
    pub completed: String,
    pub working_time: f64,
    pub metadata: Value,
}
