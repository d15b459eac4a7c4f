//! Malformed replies at every stage: the answer is asked for once more with the problem named, and
//! a second one ends the run in a sentence with its stages kept. Nothing is ever made up.

use crate::support::{call_instance, history, instance, obliging};
use futures::executor::block_on;
use iba_lab::agent::llm_mind::LlmMind;
use iba_lab::agent::pipeline::{Job, Trajectory, run};
use iba_lab::agent::trace::{StageId, StageOutcome, System};
use iba_lab::bench::visible::Instance;
use iba_lab::run::StepError;
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::record::Params;

/// Stages that read JSON: the mark of their prompt, and the stage.
const STAGES: [(&str, StageId); 6] = [
    ("{\"queries\"", StageId::QueryExpansion),
    ("{\"scores\"", StageId::SalienceReranking),
    ("{\"items\"", StageId::CompactEvidence),
    ("{\"preferences\"", StageId::PreferenceExtraction),
    ("{\"plan\"", StageId::TaskPreferenceAlignment),
    ("{\"slots\"", StageId::ParameterFilling),
];

/// What no reader may take for an answer. Prose is no list of anything; a refusal neither, in
/// whatever language.
const NO_ANSWERS: [(&str, &str); 6] = [
    ("empty", ""),
    ("blank", " \n\t "),
    ("cut", "{\"que"),
    ("refusal", "I'm sorry, but I can't help with that."),
    (
        "refusal in another language",
        "很抱歉，我无法协助处理这个请求。",
    ),
    ("another shape", "{\"error\": {\"message\": \"no\"}}"),
];

fn with(mark: &'static str, bad: &'static str, times: usize, instance: &Instance) -> Trajectory {
    let left = std::cell::Cell::new(times);
    let env = FakeEnv::with_sessions(&history()).answering(move |chat| {
        let asks = message_text(&chat.messages[1]).contains(mark);
        if asks && left.get() > 0 {
            left.set(left.get() - 1);
            return Some(Ok(bad.to_owned()));
        }
        // A second try is answered as the first question would be.
        let mut chat = chat.clone();
        chat.messages.truncate(2);
        obliging(&chat)
    });
    let mind = LlmMind {
        model: "m".to_owned(),
        base_url: String::new(),
    };
    let params = Params::default();
    block_on(run(
        &env,
        &mind,
        &Job::new(System::IbaAgent, instance, &params),
    ))
}

fn task_of(stage: StageId) -> Instance {
    match stage {
        StageId::ParameterFilling => call_instance(),
        _ => instance(),
    }
}

#[test]
fn twice_malformed_ends_the_run_at_its_stage() {
    for (mark, stage) in STAGES {
        for (kind, bad) in NO_ANSWERS {
            let trajectory = with(mark, bad, 2, &task_of(stage));
            let last = trajectory.stages.last().expect("a stage");
            assert_eq!(last.stage, stage, "{kind} at {stage:?}");
            assert_eq!(
                last.calls.len(),
                2,
                "{kind} at {stage:?}: asked twice, no more"
            );
            let StageOutcome::Failed { message } = &last.outcome else {
                panic!("{kind} at {stage:?} was taken for {:?}", last.outcome)
            };
            assert!(message.contains("asked twice"), "{message}");
            assert_eq!(trajectory.output, Err(StepError::Model(message.clone())));
        }
    }
}

#[test]
fn once_malformed_is_asked_again_and_noted() {
    for (mark, stage) in STAGES {
        for (kind, bad) in NO_ANSWERS {
            let trajectory = with(mark, bad, 1, &task_of(stage));
            assert!(
                trajectory.output.is_ok(),
                "{kind} at {stage:?}: {:?}",
                trajectory.output
            );
            let record = trajectory
                .stages
                .iter()
                .find(|s| s.stage == stage)
                .expect("ran");
            assert!(
                record.notes.iter().any(|note| note.contains("asked twice")),
                "{kind} at {stage:?}: {:?}",
                record.notes
            );
        }
    }
}

#[test]
fn a_head_that_says_nothing_is_no_text() {
    let env = FakeEnv::with_sessions(&history()).answering(|chat| {
        let head = message_text(&chat.messages[0]).contains("carry out a writing task");
        if head {
            Some(Ok(" \n".to_owned()))
        } else {
            obliging(chat)
        }
    });
    let mind = LlmMind {
        model: "m".to_owned(),
        base_url: String::new(),
    };
    let (instance, params) = (instance(), Params::default());
    let trajectory = block_on(run(
        &env,
        &mind,
        &Job::new(System::IbaAgent, &instance, &params),
    ));
    assert!(matches!(trajectory.output, Err(StepError::Model(_))));
    assert_eq!(trajectory.stages.len(), 8);
}
