//! One instance from task to verdicts.

use super::lost::links::{self, LinkedBy, Links};
use super::record::{
    BY_WORDS, DatasetRef, Mode, ModelRef, Params, RequirementNote, RetrieverRef, RunRecord,
    RunStatus, Variant,
};
use super::supply::{self, Borrowed};
use super::{Env, StepError, qa};
use crate::agent::embedded::EmbeddedMind;
use crate::agent::llm_mind::LlmMind;
use crate::agent::memo::StageMemo;
use crate::agent::pipeline::{self, Job, Supplied, Trajectory};
use crate::agent::trace::{Output, System};
use crate::bench::hidden::{HiddenInstance, PreferenceKind, Requirement};
use crate::bench::ids::{DomainId, RequirementId};
use crate::bench::visible::{History, Instance};
use crate::embed::Passage;
use crate::judge::opinion::{self, Standing};
use crate::judge::{Held, Panel, judge_by_models, judge_instance};
use serde_json::{Value, json};
use std::borrow::Cow;

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
    /// For [`System::OtherHistory`] it names the donor, whose history is the one open in the
    /// environment; see [`supply::donor`].
    pub variant: Variant,
}

/// An instance with both its halves and the user's own history.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub instance: &'a Instance,
    pub hidden: &'a HiddenInstance,
    pub domain: &'a DomainId,
    pub history: &'a History,
}

/// Runs the system, then judges its output. Never fails: a cancelled or failed run keeps its
/// stages so far and says so in its status. Stages that `memo` knows are taken over.
pub async fn run_instance(
    env: &impl Env,
    spec: &RunSpec,
    case: Case<'_>,
    memo: &StageMemo,
) -> RunRecord {
    let mut record = begin(env.now_ms(), spec, case);
    let posed = match posed(spec.variant.mode, case) {
        Ok(posed) => posed,
        Err(error) => {
            record.status = status_of(error);
            record.ended_ms = Some(env.now_ms());
            return record;
        }
    };
    let trajectory = act(env, spec, case, &posed, memo).await;
    record.stages = trajectory.stages;
    record.status = match trajectory.output {
        Err(error) => status_of(error),
        Ok(output) => {
            record.output = Some(output.clone());
            let (instance, hidden) = (&posed.instance, &posed.hidden);
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

/// Judges an output that was not made here: another program's, or a gold-labelled sample. The
/// record has no stages.
pub async fn judge_given(
    env: &impl Env,
    spec: &RunSpec,
    case: Case<'_>,
    output: Output,
) -> RunRecord {
    let mut record = begin(env.now_ms(), spec, case);
    if spec.system == System::Samples {
        label(&mut record, case.hidden);
    }
    let Case {
        instance, hidden, ..
    } = case;
    let judged = match spec.system {
        System::Samples => {
            judge_by_models(
                env,
                &spec.panel,
                Held::default(),
                &output,
                (instance, hidden),
            )
            .await
        }
        _ => judge_instance(env, &spec.panel, &output, instance, hidden).await,
    };
    record.output = Some(output);
    record.status = match judged {
        Err(error) => status_of(error),
        Ok(judgements) => {
            record.judgements = judgements;
            RunStatus::Done
        }
    };
    record.ended_ms = Some(env.now_ms());
    record
}

/// Writes the author's labels beside the requirements.
fn label(record: &mut RunRecord, hidden: &HiddenInstance) {
    let Some(sample) = &hidden.sample else {
        return;
    };
    for note in &mut record.requirements {
        note.gold = sample.labels.get(&note.id).map(|label| *label == 1);
    }
}

/// What the later stages made of the requirements that not every judge saw met and that were not
/// followed yet.
pub(super) async fn follow(
    env: &impl Env,
    spec: &RunSpec,
    record: &RunRecord,
    hidden: &HiddenInstance,
) -> Result<Option<Links>, StepError> {
    if spec.retriever.model == BY_WORDS && spec.panel.judges.is_empty() {
        // Without an embedding model nothing measures how near a text is to a requirement.
        return Ok(None);
    }
    // A model's finding stands; similarity's gives way to a model, where there is one now.
    let may_better = !spec.panel.judges.is_empty();
    let known = |id: &RequirementId| {
        let found = record.links.as_ref().and_then(|links| links.of(id));
        found.is_some_and(|(by, _)| !may_better || matches!(by, LinkedBy::Model { .. }))
    };
    let failed = |id: &&RequirementId| {
        let standing = opinion::standing(&record.judgements, id);
        matches!(standing, Standing::NotMet | Standing::Disputed) && !known(id)
    };
    let ids = hidden.requirements.iter().map(|r| &r.id).filter(failed);
    let ids: Vec<RequirementId> = ids.cloned().collect();
    links::find(env, &spec.panel, &record.stages, hidden, &ids).await
}

/// What is asked of the system, and what its answer is judged by.
pub(super) struct Posed<'a> {
    pub instance: Cow<'a, Instance>,
    pub hidden: Cow<'a, HiddenInstance>,
    questions: Vec<String>,
}

pub(super) fn posed<'a>(mode: Mode, case: Case<'a>) -> Result<Posed<'a>, StepError> {
    match mode {
        Mode::Task => Ok(Posed {
            instance: Cow::Borrowed(case.instance),
            hidden: Cow::Borrowed(case.hidden),
            questions: Vec::new(),
        }),
        Mode::Qa => {
            let none = || {
                StepError::Engine(format!(
                    "instance {}: the dataset has no questions about its preferences, so QA mode has \
                     nothing to ask; choose another instance, or run the task",
                    case.instance.id
                ))
            };
            let asked = qa::asked(case.instance, case.hidden).ok_or_else(none)?;
            Ok(Posed {
                instance: Cow::Owned(asked.instance),
                hidden: Cow::Owned(asked.hidden),
                questions: asked.questions,
            })
        }
    }
}

async fn act(
    env: &impl Env,
    spec: &RunSpec,
    case: Case<'_>,
    posed: &Posed<'_>,
    memo: &StageMemo,
) -> Trajectory {
    let evidence: Vec<Passage> = match spec.system {
        System::OracleEvidence => supply::evidence(case.history, case.hidden),
        _ => Vec::new(),
    };
    let supplied = match spec.system {
        System::OracleEvidence => Supplied::Evidence(&evidence),
        System::WholeHistory => Supplied::History(case.history),
        _ => Supplied::Nothing,
    };
    let scope = scope(spec, case);
    let job = Job {
        questions: &posed.questions,
        edits: &spec.variant.edits,
        supplied,
        scope: &scope,
        memo,
        ..Job::new(spec.system, &posed.instance, &spec.params)
    };
    match &spec.variant.donor {
        Some(donor) => {
            let donor = donor.clone();
            with_mind(&Borrowed { env, donor }, spec, &job).await
        }
        // The user's own history in its place would pass for another's.
        None if spec.system == System::OtherHistory => Trajectory {
            stages: Vec::new(),
            output: Err(StepError::Engine(format!(
                "instance {}: the run names nobody whose history stands in for the user's own; open a dataset with more than one persona",
                case.instance.id
            ))),
        },
        None => with_mind(env, spec, &job).await,
    }
}

async fn with_mind(env: &impl Env, spec: &RunSpec, job: &Job<'_>) -> Trajectory {
    match &spec.agent {
        // Outputs that were brought in are refused by the pipeline.
        ModelRef::Embedded | ModelRef::External { .. } => {
            pipeline::run(env, &EmbeddedMind, job).await
        }
        ModelRef::Endpoint { base_url, model } => {
            let mind = LlmMind {
                model: model.clone(),
                base_url: base_url.clone(),
            };
            pipeline::run(env, &mind, job).await
        }
    }
}

/// All that every stage depends on: task, history, passages, retriever, program and repeat.
fn scope(spec: &RunSpec, case: Case<'_>) -> String {
    let chunks = spec.params.chunking().name();
    json!([
        spec.dataset,
        case.instance.id,
        spec.variant.mode,
        spec.variant.donor,
        spec.retriever,
        chunks,
        spec.app_version,
        spec.epoch,
    ])
    .to_string()
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
pub fn begin(started_ms: f64, spec: &RunSpec, case: Case<'_>) -> RunRecord {
    let Case {
        instance,
        hidden,
        domain,
        ..
    } = case;
    let asked = match spec.variant.mode {
        Mode::Task => None,
        Mode::Qa => qa::asked(instance, hidden),
    };
    let hidden = asked.as_ref().map_or(hidden, |asked| &asked.hidden);
    let posed = asked.as_ref().map_or(instance, |asked| &asked.instance);
    RunRecord {
        id: spec.id.clone(),
        instance: instance.id.clone(),
        persona: instance.persona.clone(),
        scenario: instance.scenario.clone(),
        domain: domain.clone(),
        action: instance.action,
        task: posed.task.text(),
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
        set_aside: Vec::new(),
        links: None,
        status: RunStatus::Running,
        started_ms,
        ended_ms: None,
        app_version: spec.app_version.clone(),
        variant: spec.variant.clone(),
        embedding_calls: Vec::new(),
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
        accept: hidden.accepted(&requirement.id).to_vec(),
        gold: None,
    }
}

/// A unit variant's name as files spell it.
fn snake_case(variant: &impl serde::Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
