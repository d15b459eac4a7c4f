//! One instance from task to verdicts.

use super::lost::links::{self, Links};
use super::record::{
    DatasetRef, ModelRef, Params, RequirementNote, RetrieverRef, RunRecord, RunStatus,
};
use super::{Env, StepError};
use crate::agent::embedded::EmbeddedMind;
use crate::agent::llm_mind::LlmMind;
use crate::agent::pipeline::{self, Trajectory};
use crate::agent::trace::System;
use crate::bench::hidden::{HiddenInstance, PreferenceKind, Requirement};
use crate::bench::ids::{DomainId, RequirementId};
use crate::bench::visible::Instance;
use crate::judge::opinion::{self, Standing};
use crate::judge::{Panel, judge_instance};
use serde_json::Value;

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
    /// Without judges, requirements without check or reference stay unscored.
    pub panel: Panel,
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
    let mut record = begin(env.now_ms(), spec, instance, hidden, domain);
    let trajectory = act(env, spec, instance).await;
    record.stages = trajectory.stages;
    record.status = match trajectory.output {
        Err(error) => status_of(error),
        Ok(output) => {
            record.output = Some(output.clone());
            match judge_instance(env, &spec.panel, &output, instance, hidden).await {
                Err(error) => status_of(error),
                Ok(judgements) => {
                    record.judgements = judgements;
                    match follow(env, spec, &record, hidden).await {
                        Err(error) => status_of(error),
                        Ok(links) => {
                            record.links = links;
                            RunStatus::Done
                        }
                    }
                }
            }
        }
    };
    record.ended_ms = Some(env.now_ms());
    record
}

/// What the later stages made of the requirements that not every judge saw met.
async fn follow(
    env: &impl Env,
    spec: &RunSpec,
    record: &RunRecord,
    hidden: &HiddenInstance,
) -> Result<Option<Links>, StepError> {
    let failed = |id: &&RequirementId| {
        let standing = opinion::standing(&record.judgements, id);
        matches!(standing, Standing::NotMet | Standing::Disputed)
    };
    let ids = hidden.requirements.iter().map(|r| &r.id).filter(failed);
    let ids: Vec<RequirementId> = ids.cloned().collect();
    links::find(env, &spec.panel, &record.stages, hidden, &ids).await
}

async fn act(env: &impl Env, spec: &RunSpec, instance: &Instance) -> Trajectory {
    match &spec.agent {
        ModelRef::Embedded => {
            pipeline::run(spec.system, env, &EmbeddedMind, instance, &spec.params).await
        }
        ModelRef::Endpoint { base_url, model } => {
            let mind = LlmMind {
                model: model.clone(),
                base_url: base_url.clone(),
            };
            pipeline::run(spec.system, env, &mind, instance, &spec.params).await
        }
    }
}

fn status_of(error: StepError) -> RunStatus {
    match error {
        StepError::Cancelled => RunStatus::Cancelled,
        other => RunStatus::Failed {
            message: other.to_string(),
        },
    }
}

/// The record of a run before its first stage; `started_ms` since the Unix epoch.
pub fn begin(
    started_ms: f64,
    spec: &RunSpec,
    instance: &Instance,
    hidden: &HiddenInstance,
    domain: &DomainId,
) -> RunRecord {
    RunRecord {
        id: spec.id.clone(),
        instance: instance.id.clone(),
        persona: instance.persona.clone(),
        scenario: instance.scenario.clone(),
        domain: domain.clone(),
        action: instance.action,
        task: instance.task.text(),
        system: spec.system,
        epoch: spec.epoch,
        params: spec.params.clone(),
        agent: spec.agent.clone(),
        dataset: spec.dataset.clone(),
        retriever: spec.retriever.clone(),
        stages: Vec::new(),
        output: None,
        requirements: hidden
            .requirements
            .iter()
            .map(|r| note(r, hidden))
            .collect(),
        judgements: Vec::new(),
        links: None,
        status: RunStatus::Running,
        started_ms,
        ended_ms: None,
        app_version: spec.app_version.clone(),
    }
}

/// A requirement with the evidence behind it.
fn note(requirement: &Requirement, hidden: &HiddenInstance) -> RequirementNote {
    let evidence = || {
        hidden
            .evidence
            .iter()
            .filter(|e| e.reveals.contains(&requirement.preference))
    };
    let mut signals: Vec<String> = evidence().map(|e| snake_case(&e.signal)).collect();
    signals.sort();
    signals.dedup();
    let preference = hidden
        .preferences
        .iter()
        .find(|p| p.id == requirement.preference);
    RequirementNote {
        id: requirement.id.clone(),
        text: requirement.text.clone(),
        evidence_sessions: evidence().map(|e| e.session.0.clone()).collect(),
        signals,
        dynamic: preference.is_some_and(|p| p.kind == PreferenceKind::Dynamic),
        slot: hidden.slot_of(&requirement.id).map(str::to_owned),
    }
}

/// A unit variant's name as files spell it.
fn snake_case(variant: &impl serde::Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
