//! One instance from task to verdicts.

use super::Env;
use super::record::{DatasetRef, ModelRef, Params, RetrieverRef, RunRecord};
use crate::agent::trace::System;
use crate::bench::hidden::HiddenInstance;
use crate::bench::ids::DomainId;
use crate::bench::visible::Instance;
use crate::judge::GraderConfig;

/// Everything that defines a run besides its instance.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSpec {
    /// Unique; names the journal as well.
    pub id: String,
    pub system: System,
    /// Repeat, from 1.
    pub epoch: u32,
    pub params: Params,
    pub agent: ModelRef,
    /// Without one, requirements without check or reference stay unscored.
    pub grader: Option<GraderConfig>,
    pub dataset: DatasetRef,
    pub retriever: RetrieverRef,
    pub app_version: String,
}

/// Runs the system, then judges its output. Never fails: a cancelled or failed run keeps its
/// stages so far and says so in its status.
pub async fn run_instance(
    env: &impl Env,
    spec: &RunSpec,
    instance: &Instance,
    hidden: &HiddenInstance,
    domain: &DomainId,
) -> RunRecord {
    let _ = (env, spec, instance, hidden, domain);
    todo!()
}
