//! The pipeline over scripted models, and the embedded baseline end to end.

use crate::support::{call_instance, hidden, history, instance, obliging, run_spec};
use futures::executor::block_on;
use iba_lab::agent::embedded::EmbeddedMind;
use iba_lab::agent::llm_mind::LlmMind;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::pipeline::{Job, Trajectory, run};
use iba_lab::agent::trace::{Output, StageId, StageOutcome, StageRecord, System};
use iba_lab::bench::visible::{History, Instance};
use iba_lab::judge::VerdictState;
use iba_lab::run::drive::{Case, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::record::{ModelRef, Params, RunStatus};
use iba_lab::run::{RunEvent, StepError};
use serde_json::json;

fn llm() -> LlmMind {
    LlmMind {
        model: "m".to_owned(),
        base_url: "https://m.example".to_owned(),
    }
}

fn env() -> FakeEnv {
    FakeEnv::with_sessions(&history())
}

fn with_llm(env: &FakeEnv, system: System, instance: &Instance) -> Trajectory {
    block_on(run(
        env,
        &llm(),
        &Job::new(system, instance, &Params::default()),
    ))
}

fn embedded(system: System, instance: &Instance) -> Trajectory {
    block_on(run(
        &env(),
        &EmbeddedMind,
        &Job::new(system, instance, &Params::default()),
    ))
}

fn stages(trajectory: &Trajectory) -> Vec<StageId> {
    trajectory.stages.iter().map(|s| s.stage).collect()
}

fn stage(trajectory: &Trajectory, id: StageId) -> &StageRecord {
    trajectory.stages.iter().find(|s| s.stage == id).unwrap()
}

use StageId::*;

const DEEP: [StageId; 7] = [
    QueryExpansion,
    SimilarityRetrieval,
    RedundancyFiltering,
    SalienceReranking,
    CompactEvidence,
    PreferenceExtraction,
    TaskPreferenceAlignment,
];

#[test]
fn iba_agent_runs_its_tools_in_the_papers_order() {
    for (instance, head) in [
        (instance(), TextGeneration),
        (call_instance(), ParameterFilling),
    ] {
        let env = env().answering(obliging);
        let trajectory = with_llm(&env, System::IbaAgent, &instance);
        let mut wanted = DEEP.to_vec();
        wanted.push(head);
        assert_eq!(stages(&trajectory), wanted);
        assert!(trajectory.output.is_ok());
        let started = |e: &RunEvent| matches!(e, RunEvent::StageStarted { .. });
        assert_eq!(env.events.borrow().iter().filter(|e| started(e)).count(), 8);
        assert!(trajectory.stages.iter().all(|s| s.duration_ms > 0.0));
    }
}

#[test]
fn the_task_is_the_first_query_and_five_more_at_most_follow() {
    let many: Vec<_> = (0..9)
        .map(|i| json!({"facet": "style", "query": format!("query {i}")}))
        .collect();
    let reply = json!({ "queries": many }).to_string();
    let env = env().answering(move |chat| {
        let asks = message_text(chat.messages.last()?).contains("{\"queries\"");
        if asks {
            Some(Ok(reply.clone()))
        } else {
            obliging(chat)
        }
    });
    let trajectory = with_llm(&env, System::IbaAgent, &instance());
    let StageOutcome::Queries { queries } = &trajectory.stages[0].outcome else {
        panic!()
    };
    assert_eq!(queries.len(), 6);
    assert_eq!(
        (queries[0].facet.as_str(), &queries[0].text),
        ("task", &instance().task.text())
    );
    let StageOutcome::Retrieved { lists } = &trajectory.stages[1].outcome else {
        panic!()
    };
    assert!(lists.len() == 6 && lists.iter().all(|list| list.hits.len() == 3));
}

#[test]
fn standard_rag_joins_three_passages_with_the_request() {
    let env = env().answering(obliging);
    let trajectory = with_llm(&env, System::StandardRag, &instance());
    assert_eq!(stages(&trajectory), [SimilarityRetrieval, TextGeneration]);
    assert_eq!(env.chats.borrow().len(), 1);
    let said = env.everything_said();
    assert!(
        said.contains("id=\"P3\"") && said.contains("Keys are with Dai."),
        "{said}"
    );
}

#[test]
fn a_step_that_cannot_be_read_is_asked_once_more_with_the_problem_named() {
    let env = env().reply("").answering(|chat| {
        let first = chat.messages.len() == 2;
        let asks = message_text(chat.messages.last()?).contains("{\"queries\"");
        if first && asks {
            None
        } else if asks || !first {
            Some(Ok(r#"{"queries":["a b"]}"#.to_owned()))
        } else {
            obliging(chat)
        }
    });
    let trajectory = with_llm(&env, System::IbaAgent, &instance());
    assert!(trajectory.output.is_ok());
    let first = &trajectory.stages[0];
    assert_eq!(first.calls.len(), 2);
    assert!(
        first.notes.iter().any(|n| n.contains("asked twice")),
        "{:?}",
        first.notes
    );
    let repair = message_text(first.calls[1].request.messages.last().unwrap());
    assert!(repair.contains("could not be used"), "{repair}");
}

#[test]
fn a_step_that_fails_twice_ends_the_run_and_keeps_the_stages() {
    let env = env().answering(|chat| {
        let asks = message_text(&chat.messages[1]).contains("{\"scores\"");
        if asks {
            Some(Ok("no".to_owned()))
        } else {
            obliging(chat)
        }
    });
    let trajectory = with_llm(&env, System::IbaAgent, &instance());
    assert_eq!(stages(&trajectory), DEEP[..4]);
    let last = trajectory.stages.last().unwrap();
    assert_eq!(last.calls.len(), 2);
    let StageOutcome::Failed { message } = &last.outcome else {
        panic!()
    };
    assert!(
        message.contains("asked twice") && message.contains("another model"),
        "{message}"
    );
    assert_eq!(trajectory.output, Err(StepError::Model(message.clone())));
}

#[test]
fn a_missing_salience_is_noted_and_not_taken_for_zero() {
    let reply =
        r#"{"scores":[{"id":"P1","score":6,"signals":[]},{"id":"P2","score":1,"signals":[]}]}"#;
    let env = env().answering(move |chat| {
        let asks = message_text(chat.messages.last()?).contains("{\"scores\"");
        if asks {
            Some(Ok(reply.to_owned()))
        } else {
            obliging(chat)
        }
    });
    let trajectory = with_llm(&env, System::IbaAgent, &instance());
    let ranking = stage(&trajectory, SalienceReranking);
    let StageOutcome::Ranked {
        scored,
        kept,
        dropped,
    } = &ranking.outcome
    else {
        panic!()
    };
    assert_eq!(scored[2].salience, None);
    assert_eq!((kept.len(), dropped.len()), (2, 1));
    assert_eq!(kept[1], scored[2].passage);
    assert!(
        ranking
            .notes
            .iter()
            .any(|n| n.contains(&scored[2].passage.0)),
        "{:?}",
        ranking.notes
    );
    assert_eq!(dropped[0].reason, "salience 1 is below 5");
}

#[test]
fn cancelling_keeps_what_was_done() {
    let env = env().answering(|chat| {
        let asks = message_text(chat.messages.last()?).contains("{\"preferences\"");
        if asks {
            Some(Err(StepError::Cancelled))
        } else {
            obliging(chat)
        }
    });
    let record = drive(
        &env,
        ModelRef::Endpoint {
            base_url: "b".to_owned(),
            model: "m".to_owned(),
        },
    );
    assert_eq!(record.status, RunStatus::Cancelled);
    assert_eq!(record.stages.len(), 6);
    assert!(record.output.is_none() && record.ended_ms.is_some());
}

fn drive(env: &FakeEnv, agent: ModelRef) -> iba_lab::run::record::RunRecord {
    let spec = run_spec(System::IbaAgent, agent);
    let case = Case {
        instance: &instance(),
        hidden: &hidden(),
        domain: &"work".into(),
        history: &History {
            persona: "p1".into(),
            sessions: history(),
        },
    };
    block_on(run_instance(env, &spec, case, &StageMemo::new()))
}

#[test]
fn a_run_goes_from_task_to_verdicts_without_a_model() {
    let env = env();
    let record = drive(&env, ModelRef::Embedded);
    assert_eq!(record.status, RunStatus::Done);
    assert!(env.chats.borrow().is_empty());
    let Some(Output::GenerateText { text }) = &record.output else {
        panic!()
    };
    assert_eq!(
        text,
        "1. The hall is shut on Monday.\n2. Keys are with Dai."
    );
    assert_eq!(record.judgements[0].verdicts[0].state, VerdictState::Met);
    assert_eq!(record.requirements[0].evidence_sessions, ["s1"]);
    assert_eq!(record.requirements[0].signals, ["complaint"]);
    assert!(record.requirements[1].dynamic);
}

#[test]
fn the_embedded_baseline_fills_slots_from_behaviour_and_task() {
    for system in [System::IbaAgent, System::StandardRag] {
        let trajectory = embedded(system, &call_instance());
        let Ok(Output::CallApi { slots, .. }) = trajectory.output else {
            panic!()
        };
        assert_eq!(
            serde_json::Value::Object(slots),
            json!({"cuisine": "japanese", "portions": 2})
        );
    }
}

#[test]
fn the_embedded_baseline_is_deterministic() {
    let once = embedded(System::IbaAgent, &instance());
    assert_eq!(once, embedded(System::IbaAgent, &instance()));
}

#[test]
fn an_empty_history_still_yields_an_action() {
    let env = FakeEnv::default();
    let (instance, params) = (instance(), Params::default());
    let job = Job::new(System::IbaAgent, &instance, &params);
    let trajectory = block_on(run(&env, &EmbeddedMind, &job));
    assert_eq!(trajectory.stages.len(), 8);
    assert!(trajectory.output.is_ok());
    let env = FakeEnv::default().answering(obliging);
    let trajectory = with_llm(&env, System::IbaAgent, &instance);
    assert!(trajectory.output.is_ok());
    assert_eq!(
        env.chats.borrow().len(),
        2,
        "only expansion and the head have something to ask"
    );
}
