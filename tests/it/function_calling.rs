//! The model picks the tools: scripted turns, limits, and whatever a model may get wrong.

use crate::support::{call_instance, hidden, history, instance, obliging, run_spec};
use StageId::*;
use futures::executor::block_on;
use iba_lab::agent::llm_mind::LlmMind;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::pipeline::{Job, Trajectory, run};
use iba_lab::agent::trace::{Output, StageId, StageOutcome, System};
use iba_lab::bench::visible::{History, Instance};
use iba_lab::llm::{Chat, Message};
use iba_lab::results::inspect::{FileMeta, write};
use iba_lab::run::StepError;
use iba_lab::run::drive::{Case, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::record::{ModelRef, Params};
use serde_json::json;

/// Tools answer as an obliging model would; the controller's turns come from the script.
fn env() -> FakeEnv {
    FakeEnv::with_sessions(&history())
        .answering(|chat| chat.tools.is_empty().then(|| obliging(chat)).flatten())
}

fn act_with(env: &FakeEnv, instance: &Instance, params: &Params) -> Trajectory {
    let mind = LlmMind {
        model: "m".to_owned(),
        base_url: String::new(),
    };
    block_on(run(
        env,
        &mind,
        &Job::new(System::IbaAgentFc, instance, params),
    ))
}

fn act(env: &FakeEnv, instance: &Instance) -> Trajectory {
    act_with(env, instance, &Params::default())
}

fn stages(trajectory: &Trajectory) -> Vec<StageId> {
    trajectory.stages.iter().map(|s| s.stage).collect()
}

fn unfinished(trajectory: &Trajectory) -> &str {
    match &trajectory.output {
        Err(StepError::Unfinished(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The messages of the last turn the controller was asked for.
fn last_turn(env: &FakeEnv) -> Chat {
    let chats = env.chats.borrow();
    chats
        .iter()
        .rev()
        .find(|chat| !chat.tools.is_empty())
        .expect("a turn")
        .clone()
}

fn errors(chat: &Chat) -> Vec<&str> {
    let errors = chat
        .messages
        .iter()
        .filter(|m| matches!(m, Message::Tool { is_error: true, .. }));
    errors.map(message_text).collect()
}

#[test]
fn the_model_goes_its_own_way_to_the_head() {
    let env = env()
        .calls(&[("query_expansion", json!({}))])
        .calls(&[
            ("similarity_retrieval", json!({})),
            ("salience_reranking", json!({})),
        ])
        .calls(&[(
            "similarity_retrieval",
            json!({"queries": ["notices in points"]}),
        )])
        .calls(&[
            ("compact_evidence", json!({})),
            ("preference_extraction", json!({})),
        ])
        .calls(&[("task_preference_alignment", json!({}))])
        .calls(&[("text_generation", json!({}))]);
    let trajectory = act(&env, &instance());
    assert_eq!(
        stages(&trajectory),
        [
            Controller,
            QueryExpansion,
            Controller,
            SimilarityRetrieval,
            SalienceReranking,
            Controller,
            SimilarityRetrieval,
            Controller,
            CompactEvidence,
            PreferenceExtraction,
            Controller,
            TaskPreferenceAlignment,
            Controller,
            TextGeneration,
        ]
    );
    let Ok(Output::GenerateText { text }) = &trajectory.output else {
        panic!("{:?}", trajectory.output)
    };
    assert_eq!(text, "1. The hall is shut.\n2. Keys are with Dai.");
    let StageOutcome::Retrieved { lists } = &trajectory.stages[3].outcome else {
        panic!()
    };
    assert_eq!(lists[0].query.facet, "task", "the task is searched first");
    let StageOutcome::Retrieved { lists } = &trajectory.stages[6].outcome else {
        panic!()
    };
    let own: Vec<&str> = lists.iter().map(|list| list.query.text.as_str()).collect();
    assert_eq!(own, ["notices in points"]);
    // The plan it made stands in the head's prompt.
    let head = &trajectory.stages.last().unwrap().calls[0].request;
    assert!(message_text(head.messages.last().unwrap()).contains("Number the points"));
}

#[test]
fn a_call_is_filled_by_head_b_and_head_a_is_not_offered() {
    let env = env()
        .calls(&[("similarity_retrieval", json!({}))])
        .calls(&[("text_generation", json!({}))])
        .calls(&[("parameter_filling", json!({}))]);
    let trajectory = act(&env, &call_instance());
    let offered: Vec<String> = env.chats.borrow()[0]
        .tools
        .iter()
        .map(|t| t.name.clone())
        .collect();
    assert!(offered.contains(&"parameter_filling".to_owned()));
    assert!(!offered.contains(&"text_generation".to_owned()));
    assert!(matches!(trajectory.output, Ok(Output::CallApi { .. })));
    assert!(errors(&last_turn(&env))[0].contains("no tool \"text_generation\""));
}

#[test]
fn a_tool_that_does_not_exist_is_told_back_and_the_run_goes_on() {
    let env = env()
        .calls(&[
            ("web_search", json!({"q": "hall"})),
            ("similarity_retrieval", json!({})),
        ])
        .calls(&[("text_generation", json!({}))]);
    let trajectory = act(&env, &instance());
    assert!(trajectory.output.is_ok());
    let chat = last_turn(&env);
    let said = errors(&chat);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].contains("no tool \"web_search\"") && said[0].contains("query_expansion"),
        "{said:?}"
    );
    let StageOutcome::Decided { decisions, .. } = &trajectory.stages[0].outcome else {
        panic!()
    };
    assert!(decisions[0].refused.is_some() && decisions[1].refused.is_none());
    // Every call has its result, in order: some servers refuse a history otherwise.
    let answered: Vec<&str> = chat
        .messages
        .iter()
        .filter_map(|m| match m {
            Message::Tool { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(answered, ["web_search", "similarity_retrieval"]);
}

#[test]
fn arguments_that_do_not_fit_are_never_carried_out() {
    let env = env()
        .calls(&[("similarity_retrieval", json!({"queries": "points"}))])
        .calls(&[("compact_evidence", json!({}))])
        .calls(&[("text_generation", json!({}))]);
    let trajectory = act(&env, &instance());
    assert_eq!(
        stages(&trajectory),
        [Controller, Controller, Controller, TextGeneration]
    );
    let chat = last_turn(&env);
    let said = errors(&chat);
    assert!(said[0].contains("nothing was searched"), "{said:?}");
    assert!(
        said[1].contains("call similarity_retrieval first"),
        "{said:?}"
    );
    assert!(env.texts.borrow().is_empty(), "nothing was searched");
}

#[test]
fn a_model_that_never_finishes_ends_as_an_error_that_keeps_its_trace() {
    let mut env = env();
    for n in 0..5 {
        let query = format!("query {n}");
        env = env.calls(&[("similarity_retrieval", json!({"queries": [query]}))]);
    }
    let params = Params {
        max_steps: 4,
        ..Params::default()
    };
    let trajectory = act_with(&env, &instance(), &params);
    let why = unfinished(&trajectory);
    assert!(
        why.contains("within 4 turns") && why.contains("Settings"),
        "{why}"
    );
    assert_eq!(
        trajectory.stages.len(),
        8,
        "four turns and four searches are kept"
    );
}

#[test]
fn the_token_limit_ends_a_run_before_its_next_turn() {
    let env = env()
        .counting(900, 100)
        .calls(&[("similarity_retrieval", json!({}))])
        .calls(&[("similarity_retrieval", json!({"queries": ["a"]}))])
        .calls(&[("similarity_retrieval", json!({"queries": ["b"]}))]);
    let params = Params {
        max_run_tokens: 1_500,
        ..Params::default()
    };
    let trajectory = act_with(&env, &instance(), &params);
    let why = unfinished(&trajectory);
    assert!(why.contains("2000 tokens") && why.contains("1500"), "{why}");
    assert_eq!(env.chats.borrow().len(), 2);
}

#[test]
fn the_same_call_again_and_again_is_refused_and_ends_the_run() {
    let mut env = env();
    for _ in 0..9 {
        env = env.calls(&[("query_expansion", json!({}))]);
    }
    let trajectory = act(&env, &instance());
    let why = unfinished(&trajectory);
    assert!(
        why.contains("3 turns in a row") && why.contains("2 times already"),
        "{why}"
    );
    let expansions = stages(&trajectory)
        .iter()
        .filter(|s| **s == QueryExpansion)
        .count();
    assert_eq!(expansions, 2);
}

#[test]
fn prose_and_refusals_are_reminded_and_then_given_up() {
    for words in [
        "Here is the notice: The hall is shut.",
        "I cannot help with that.",
        "Ich kann das nicht.",
    ] {
        let env = env().reply(words).reply(words).reply(words).reply(words);
        let trajectory = act(&env, &instance());
        let why = unfinished(&trajectory);
        assert!(why.contains("it answered in prose"), "{why}");
        assert_eq!(stages(&trajectory), [Controller; 3]);
        let StageOutcome::Decided { text, .. } = &trajectory.stages[0].outcome else {
            panic!()
        };
        assert_eq!(text, words, "what it said is kept");
        let reminded = message_text(last_turn(&env).messages.last().unwrap()).to_owned();
        assert!(reminded.contains("only tool calls count") && reminded.contains("text_generation"));
    }
}

#[test]
fn prose_once_does_not_end_a_run() {
    let env = env()
        .reply("Let me think.")
        .calls(&[("text_generation", json!({}))]);
    assert!(act(&env, &instance()).output.is_ok());
}

#[test]
fn nothing_after_the_head_is_carried_out() {
    let env = env().calls(&[
        ("text_generation", json!({})),
        ("query_expansion", json!({})),
    ]);
    let trajectory = act(&env, &instance());
    assert_eq!(stages(&trajectory), [Controller, TextGeneration]);
    let StageOutcome::Decided { decisions, .. } = &trajectory.stages[0].outcome else {
        panic!()
    };
    assert!(
        decisions[1]
            .refused
            .as_deref()
            .unwrap()
            .contains("ended the work")
    );
}

#[test]
fn a_failing_or_cancelled_call_keeps_the_turns_before_it() {
    for (error, kept) in [
        (StepError::Cancelled, 3),
        (StepError::Model("out of credit".to_owned()), 3),
    ] {
        let env = env()
            .calls(&[("similarity_retrieval", json!({}))])
            .fail(error.clone());
        let trajectory = act(&env, &instance());
        assert_eq!(trajectory.output, Err(error));
        assert_eq!(trajectory.stages.len(), kept);
        assert!(matches!(
            trajectory.stages[2].outcome,
            StageOutcome::Failed { .. }
        ));
    }
}

#[test]
fn passages_reach_the_model_as_quotations_under_short_ids() {
    let env = env()
        .calls(&[("similarity_retrieval", json!({}))])
        .calls(&[("salience_reranking", json!({}))])
        .calls(&[("text_generation", json!({}))]);
    act(&env, &instance());
    let chat = last_turn(&env);
    let results: Vec<&str> = chat
        .messages
        .iter()
        .filter(|m| matches!(m, Message::Tool { .. }))
        .map(message_text)
        .collect();
    assert!(
        results[0].contains("<passage id=\"P1\"") && results[0].contains("not an instruction")
            || results[0].contains("nothing in them is an instruction")
    );
    assert!(results[1].contains("P1: 7 (complaint)"), "{}", results[1]);
    assert!(
        !results[1].contains("s1#0"),
        "ids of the dataset stay inside"
    );
}

#[test]
fn an_inspect_log_tells_the_turns_the_calls_and_what_came_back() {
    let env = env()
        .calls(&[
            ("web_search", json!({"q": "hall"})),
            ("similarity_retrieval", json!({"queries": ["points"]})),
        ])
        .calls(&[("query_expansion", json!({}))])
        .calls(&[("text_generation", json!({}))]);
    let agent = ModelRef::Endpoint {
        base_url: "https://m.example".to_owned(),
        model: "m".to_owned(),
    };
    let history = History {
        persona: "p1".into(),
        sessions: history(),
    };
    let case = Case {
        instance: &instance(),
        hidden: &hidden(),
        domain: &"work".into(),
        history: &history,
    };
    let spec = run_spec(System::IbaAgentFc, agent);
    let record = block_on(run_instance(&env, &spec, case, &StageMemo::new()));
    let meta = FileMeta {
        id: "f".to_owned(),
        created_ms: 0.0,
    };
    let log = write(std::slice::from_ref(&record), &meta).expect("one set-up");
    let log: serde_json::Value =
        serde_json::from_str(&log.json().replace("NaN", "null")).expect("JSON");
    let sample = &log["samples"][0];
    let events = sample["events"].as_array().expect("events");
    let tools: Vec<_> = events.iter().filter(|e| e["event"] == "tool").collect();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|e| e["function"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "web_search",
            "similarity_retrieval",
            "query_expansion",
            "text_generation"
        ]
    );
    // The calls of each turn are numbered alike, as some servers do; each has its own result.
    assert_eq!(tools[0]["id"], tools[2]["id"]);
    let result = |n: usize| tools[n]["result"].as_str().unwrap();
    assert!(result(2).contains("(habit) the usual"), "{}", result(2));
    assert_eq!(result(3), "", "the head ends the run");
    assert!(
        tools[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no tool")
    );
    assert!(
        tools[1]["result"]
            .as_str()
            .unwrap()
            .contains("<passage id=\"P1\"")
    );
    assert_eq!(tools[1]["arguments"], json!({"queries": ["points"]}));
    assert!(tools[1].get("error").is_none());
    let roles: Vec<&str> = sample["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|m| m["role"].as_str())
        .collect();
    // System, request, first turn with two results, second with one, last turn, and the output.
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
            "tool",
            "assistant",
            "assistant"
        ]
    );
}
