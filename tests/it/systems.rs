//! Golden traces of every system, on the embedded baseline and on scripted replies, and what each
//! reference point is and is not given.

use crate::support::{call_instance, hidden, history, instance, obliging, run_spec};
use futures::executor::block_on;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::system::SYSTEMS;
use iba_lab::agent::trace::{Output, StageId, StageOutcome, System};
use iba_lab::agent::trace_view::steps;
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::taxonomy::Action;
use iba_lab::bench::visible::{History, Instance};
use iba_lab::run::drive::{Case, RunSpec, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text, session};
use iba_lab::run::record::{ModelRef, Params, RunRecord, RunStatus, Variant};
use serde_json::json;

fn own_history() -> History {
    History {
        persona: "p1".into(),
        sessions: history(),
    }
}

fn endpoint() -> ModelRef {
    ModelRef::Endpoint {
        base_url: "https://m.example".to_owned(),
        model: "m".to_owned(),
    }
}

fn drive(env: &FakeEnv, spec: &RunSpec, instance: &Instance, hidden: &HiddenInstance) -> RunRecord {
    let history = own_history();
    let case = Case {
        instance,
        hidden,
        domain: &"work".into(),
        history: &history,
    };
    block_on(run_instance(env, spec, case, &StageMemo::new()))
}

fn on(system: System, agent: ModelRef, instance: &Instance) -> (RunRecord, FakeEnv) {
    let env = FakeEnv::with_sessions(&history()).answering(obliging);
    let mut spec = run_spec(system, agent);
    spec.variant.donor = (system == System::OtherHistory).then(|| "p2".into());
    let record = drive(&env, &spec, instance, &hidden());
    (record, env)
}

fn stages(record: &RunRecord) -> Vec<StageId> {
    record.stages.iter().map(|stage| stage.stage).collect()
}

/// Model calls of a system on a text and on a call, counted by hand from its description: deep
/// retrieval asks twice (expansion, salience), thinking three times, a head once.
const CALLS: [(System, usize); 9] = [
    (System::IbaAgent, 6),
    (System::WoDeepRetrieval, 4),
    (System::WoBtDa, 3),
    (System::WoSynthesis, 6),
    (System::StandardRag, 1),
    (System::NoHistory, 1),
    (System::WholeHistory, 1),
    (System::OracleEvidence, 4),
    (System::OtherHistory, 6),
];

#[test]
fn every_fixed_system_runs_the_stages_and_calls_its_description_says() {
    for (system, calls) in CALLS {
        for (instance, action) in [
            (instance(), Action::GenerateText),
            (call_instance(), Action::CallApi),
        ] {
            let (record, env) = on(system, endpoint(), &instance);
            assert_eq!(record.status, RunStatus::Done, "{system:?}");
            assert_eq!(stages(&record), steps(system, action, false), "{system:?}");
            assert_eq!(env.chats.borrow().len(), calls, "{system:?}");
            let (record, env) = on(system, ModelRef::Embedded, &instance);
            assert_eq!(record.status, RunStatus::Done, "{system:?}");
            assert_eq!(stages(&record), steps(system, action, false), "{system:?}");
            assert!(env.chats.borrow().is_empty(), "{system:?} asked a model");
        }
    }
}

#[test]
fn the_embedded_baseline_acts_on_what_each_system_lets_it_see() {
    // Written by hand: with the evidence of numbered points the notice is numbered. Without
    // re-ranking the order of food is read as well; its last draft is the latest and no list. And
    // without any history there are only the task's own sentences.
    let numbered = Some("1. The hall is shut on Monday.\n2. Keys are with Dai.");
    let plain = Some("The hall is shut on Monday. Keys are with Dai.");
    for system in SYSTEMS {
        let (record, _) = on(system, ModelRef::Embedded, &instance());
        let wanted = match system {
            System::IbaAgentFc => None,
            System::NoHistory => plain,
            System::WoDeepRetrieval | System::StandardRag | System::WholeHistory => plain,
            _ => numbered,
        };
        let text = record.output.map(|output| output.value());
        assert_eq!(text, wanted.map(|text| json!(text)), "{system:?}");
    }
}

#[test]
fn function_calling_without_a_model_is_refused_in_a_sentence() {
    let (record, _) = on(System::IbaAgentFc, ModelRef::Embedded, &instance());
    let RunStatus::Failed { message } = &record.status else {
        panic!("{:?}", record.status)
    };
    assert!(
        message.contains("needs a language model") && message.contains("Settings"),
        "{message}"
    );
    assert!(record.stages.is_empty() && record.output.is_none());
}

fn last_prompt(env: &FakeEnv) -> String {
    let chats = env.chats.borrow();
    let messages = &chats.last().expect("a call").messages;
    messages
        .iter()
        .map(message_text)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn heads_read_what_their_system_leaves_them() {
    let prompt = |system| last_prompt(&on(system, endpoint(), &instance()).1);
    let full = prompt(System::IbaAgent);
    assert!(full.contains("Number the points") && full.contains("wants points"));
    let without_thought = prompt(System::WoBtDa);
    assert!(
        without_thought.contains("No plan was made"),
        "{without_thought}"
    );
    assert!(
        without_thought.contains("nobody reads porridge"),
        "the passages as they are"
    );
    let joined = prompt(System::WoSynthesis);
    assert!(
        joined.contains("Plan:\n- [structure] Number the points"),
        "{joined}"
    );
    assert!(
        joined.contains("who knows earlier conversations"),
        "the head of standard RAG"
    );
    let bare = prompt(System::NoHistory);
    assert!(
        !bare.contains("porridge") && !bare.contains("cat"),
        "{bare}"
    );
    let whole = prompt(System::WholeHistory);
    for words in ["nobody reads porridge", "The cat slept", "Japanese rice"] {
        assert!(whole.contains(words), "{words}");
    }
}

#[test]
fn the_oracle_gets_the_evidence_and_nothing_else() {
    let (record, env) = on(System::OracleEvidence, endpoint(), &instance());
    let StageOutcome::Given { passages } = &record.stages[0].outcome else {
        panic!()
    };
    let ids: Vec<&str> = passages.iter().map(|p| p.session.as_str()).collect();
    assert_eq!(ids, ["s1"], "the session that the evidence link names");
    let said = env.everything_said();
    assert!(said.contains("nobody reads porridge") && !said.contains("The cat slept"));
    for secret in [
        "Two numbered items",
        "Somebody is thanked",
        "Numbers things",
    ] {
        assert!(!said.contains(secret), "{secret}");
    }
}

#[test]
fn a_history_that_does_not_fit_is_cut_and_the_cut_is_said() {
    let env = FakeEnv::with_sessions(&history()).answering(obliging);
    let mut spec = run_spec(System::WholeHistory, endpoint());
    spec.params = Params {
        max_output_tokens: 64,
        // Of 1000 tokens 900 are used; less 364 and the request, about 500 are left: two of the
        // three short sessions need about 100 each, so the window is made smaller still.
        context_tokens: 600,
        ..Params::default()
    };
    let record = drive(&env, &spec, &instance(), &hidden());
    let StageOutcome::Fitted { fit } = &record.stages[0].outcome else {
        panic!()
    };
    let kept: Vec<&str> = fit.kept.iter().map(|id| id.as_str()).collect();
    assert_eq!(kept, ["s2", "s3"], "{fit:?}");
    assert_eq!(fit.cut.len(), 1);
    assert!(
        record.stages[0].notes[0].contains("1 of 3 sessions"),
        "{:?}",
        record.stages[0].notes
    );
    assert!(!last_prompt(&env).contains("nobody reads porridge"));
}

#[test]
fn passages_of_another_user_keep_names_of_their_own() {
    let theirs = [session(
        "s1",
        "2025-05-01T09:00:00",
        &["A notice, in verse.", "Roses are red.", "Lovely!"],
    )];
    let env = FakeEnv::with_sessions(&theirs).answering(obliging);
    let mut spec = run_spec(System::OtherHistory, endpoint());
    spec.variant = Variant {
        donor: Some("p9".into()),
        ..Variant::default()
    };
    let record = drive(&env, &spec, &instance(), &hidden());
    assert_eq!(record.status, RunStatus::Done);
    let StageOutcome::Retrieved { lists } = &record.stages[1].outcome else {
        panic!()
    };
    assert_eq!(lists[0].hits[0].passage.id.0, "p9/s1#0");
    assert_eq!(lists[0].hits[0].passage.session.as_str(), "p9/s1");
    assert_eq!(record.variant.donor, Some("p9".into()));
}

#[test]
fn another_users_history_needs_another_user() {
    let env = FakeEnv::with_sessions(&history()).answering(obliging);
    let spec = run_spec(System::OtherHistory, endpoint());
    let record = drive(&env, &spec, &instance(), &hidden());
    let RunStatus::Failed { message } = &record.status else {
        panic!("{:?}", record.status)
    };
    assert!(message.contains("more than one persona"), "{message}");
    assert!(env.chats.borrow().is_empty() && record.stages.is_empty());
}

#[test]
fn a_record_says_what_was_run_and_comes_back() {
    for system in SYSTEMS {
        let (record, _) = on(system, ModelRef::Embedded, &instance());
        let text = serde_json::to_string(&record).expect("a record");
        let back: RunRecord = serde_json::from_str(&text).expect("a record");
        assert_eq!(back, record, "{system:?}");
        assert_eq!(back.system.word().parse(), Ok(system));
    }
}

#[test]
fn calls_are_filled_by_every_system() {
    for (system, _) in CALLS {
        let (record, _) = on(system, endpoint(), &call_instance());
        let Some(Output::CallApi { slots, .. }) = record.output else {
            panic!("{system:?}")
        };
        assert!(slots.contains_key("cuisine"), "{system:?}");
    }
}
