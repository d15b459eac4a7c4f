//! One judgement of one output: reference, checks, then a model for what is left.

use super::Judgement;
use crate::agent::trace::Output;
use crate::bench::hidden::HiddenInstance;
use crate::bench::visible::Instance;
use crate::run::{Env, StepError};
use serde::{Deserialize, Serialize};

/// The model that judges, and how much it judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraderConfig {
    /// Model name as sent.
    pub model: String,
    /// Where calls go; for the record only.
    pub base_url: String,
    /// Sent only when set.
    pub temperature: Option<f64>,
    pub seed: Option<u64>,
    /// Limit of the answer, in tokens.
    pub max_output_tokens: u32,
    /// Ask the model about checkable text requirements as well; its verdicts form a second
    /// judgement.
    #[serde(default)]
    pub judge_checkable: bool,
}

/// Judges one output. Only [`StepError::Cancelled`] comes back as an error; whatever else fails
/// leaves requirements unscored, with the reason. The first judgement decides slots by reference,
/// text requirements with a check by their check, and all others by the grader, if there is one.
pub async fn judge_instance(
    env: &impl Env,
    grader: Option<&GraderConfig>,
    output: &Output,
    instance: &Instance,
    hidden: &HiddenInstance,
) -> Result<Vec<Judgement>, StepError> {
    let _ = (env, grader, output, instance, hidden);
    todo!()
}
