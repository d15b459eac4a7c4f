//! Golden traces: what every system leaves behind on one text and one call, on the embedded
//! baseline and on scripted replies, and how each stage ends on replies that are no answers. The
//! files under `tests/golden` are compared word for word; `IBA_LAB_GOLDEN=write` writes them anew,
//! and the difference is then there to be read.

use crate::support::{call_instance, hidden, history, instance, obliging, path, run_spec};
use futures::executor::block_on;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::system::SYSTEMS;
use iba_lab::agent::trace::System;
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::visible::{History, Instance};
use iba_lab::judge::{JudgeModel, Panel};
use iba_lab::llm::Chat;
use iba_lab::run::StepError;
use iba_lab::run::drive::{Case, RunSpec, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::lost::funnel;
use iba_lab::run::record::{Mode, ModelRef, RunRecord, RunStatus, Variant};
use serde_json::{Map, Value, json};

/// Compares with the file, or writes it.
fn check(name: &str, found: &Value) {
    let file = path("tests/golden").join(name);
    let found = serde_json::to_string_pretty(found).unwrap() + "\n";
    if std::env::var("IBA_LAB_GOLDEN").is_ok_and(|word| word == "write") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        return std::fs::write(&file, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    let differ = |(wanted, found): &(&str, &str)| wanted != found;
    let line = wanted
        .lines()
        .zip(found.lines())
        .position(|pair| differ(&pair));
    assert!(
        wanted == found,
        "{name} differs first in line {}; IBA_LAB_GOLDEN=write writes it anew. There stands now:\n{}",
        line.unwrap_or(wanted.lines().count().min(found.lines().count())) + 1,
        found
            .lines()
            .skip(line.unwrap_or(0))
            .take(8)
            .collect::<Vec<_>>()
            .join("\n"),
    );
}

fn endpoint() -> ModelRef {
    ModelRef::Endpoint {
        base_url: "fake".to_owned(),
        model: "m".to_owned(),
    }
}

/// The text's requirements, with questions about the preferences behind them.
fn for_text() -> HiddenInstance {
    HiddenInstance {
        qa: serde_json::from_value(json!([
            {"preference": "q1", "question": "How does this user want points set out?", "answer": "Numbered."},
        ]))
        .unwrap(),
        ..hidden()
    }
}

fn for_call() -> HiddenInstance {
    let slot = json!({"cuisine": {"requirement": "r1", "accept": ["japanese"]}});
    HiddenInstance {
        api_reference: serde_json::from_value(slot).unwrap(),
        ..hidden()
    }
}

/// A judge that finds everything met but the order of things, and no trace of it in any note.
fn verdicts(chat: &Chat) -> Option<String> {
    let text = message_text(chat.messages.last()?);
    if !text.contains("{\"verdicts\"") {
        return None;
    }
    let ids = text.lines().filter_map(|line| {
        let line = line.trim_start_matches("- ");
        let (id, about) = line.split_once(": ")?;
        let known = id.len() == 2 && id.starts_with(['R', 'E', 'L']);
        known.then(|| {
            (
                id.to_owned(),
                id.starts_with('R') && !about.contains("first"),
            )
        })
    });
    let one = |(id, met): (String, bool)| json!({"id": id, "quote": "", "rationale": "as scripted", "verdict": u8::from(met)});
    let verdicts: Vec<Value> = ids.map(one).collect();
    Some(json!({ "verdicts": verdicts }).to_string())
}

fn answers(chat: &Chat) -> Option<Result<String, StepError>> {
    if !chat.tools.is_empty() {
        return None;
    }
    let text = message_text(chat.messages.last()?);
    if text.contains(QUESTIONS) {
        return Some(Ok(
            json!({"items": [{"id": "Q1", "text": "In numbered points."}]}).to_string(),
        ));
    }
    verdicts(chat).map(Ok).or_else(|| obliging(chat))
}

fn panel() -> Panel {
    let judge = JudgeModel {
        model: "j".to_owned(),
        base_url: "fake".to_owned(),
        repeats: 1,
        temperature: None,
        seed: Some(42),
        max_output_tokens: 1000,
        wording: None,
    };
    Panel::of(judge, 42)
}

fn spec(system: System, agent: ModelRef, mode: Mode) -> RunSpec {
    let panel = match agent {
        ModelRef::Embedded => Panel::default(),
        _ => panel(),
    };
    RunSpec {
        panel,
        variant: Variant {
            mode,
            donor: (system == System::OtherHistory).then(|| "p2".into()),
            ..Variant::default()
        },
        ..run_spec(system, agent)
    }
}

fn drive(env: &FakeEnv, spec: &RunSpec, instance: &Instance, hidden: &HiddenInstance) -> RunRecord {
    let history = History {
        persona: "p1".into(),
        sessions: history(),
    };
    let case = Case {
        instance,
        hidden,
        domain: &"work".into(),
        history: &history,
    };
    block_on(run_instance(env, spec, case, &StageMemo::new()))
}

/// A controller that takes the paper's order, with one tool that does not exist on its way.
fn controlled(head: &str) -> FakeEnv {
    FakeEnv::with_sessions(&history())
        .answering(answers)
        .calls(&[("query_expansion", json!({})), ("read_mind", json!({}))])
        .calls(&[("similarity_retrieval", json!({}))])
        .calls(&[
            ("redundancy_filtering", json!({})),
            ("salience_reranking", json!({})),
        ])
        .calls(&[
            ("compact_evidence", json!({})),
            ("preference_extraction", json!({})),
        ])
        .calls(&[("task_preference_alignment", json!({}))])
        .calls(&[(head, json!({}))])
}

fn env_of(system: System, head: &str) -> FakeEnv {
    match system {
        System::IbaAgentFc => controlled(head),
        _ => FakeEnv::with_sessions(&history()).answering(answers),
    }
}

/// What of a record is worth reading: no times, passages by their ids, numbers to four places.
fn compact(record: &RunRecord) -> Value {
    let stage = |stage: &iba_lab::agent::trace::StageRecord| {
        let calls: Vec<Value> = stage.calls.iter().map(call).collect();
        let mut out = Map::from_iter([("stage".to_owned(), json!(stage.stage))]);
        out.insert("outcome".to_owned(), short(json!(stage.outcome)));
        if !calls.is_empty() {
            out.insert("calls".to_owned(), json!(calls));
        }
        if !stage.notes.is_empty() {
            out.insert("notes".to_owned(), json!(stage.notes));
        }
        Value::Object(out)
    };
    let verdict = |judge: &str, v: &iba_lab::judge::Verdict| {
        json!(format!(
            "{judge}, {}: {} ({}), {}",
            v.requirement,
            word(&v.state),
            word(&v.source),
            v.rationale
        ))
    };
    let judged = record
        .judgements
        .iter()
        .flat_map(|j| j.verdicts.iter().map(|v| verdict(&j.judge, v)));
    let lost = record.requirements.iter().filter_map(|note| {
        let path = funnel::path(record, note)?;
        Some(json!(format!("{}: {:?}", note.id, path.loss)))
    });
    json!({
        "status": record.status,
        "stages": record.stages.iter().map(stage).collect::<Vec<_>>(),
        "verdicts": judged.collect::<Vec<_>>(),
        "lost": lost.collect::<Vec<_>>(),
    })
}

/// Template and size of a call: the whole prompt is in the template's file.
fn call(call: &iba_lab::agent::trace::CallRecord) -> Value {
    let sent: usize = call
        .request
        .messages
        .iter()
        .map(|m| message_text(m).chars().count())
        .sum();
    let hash = &call.prompt.sha256[..8];
    let tools = call
        .reply
        .tool_calls
        .iter()
        .map(|tool| format!(" → {}", tool.name));
    json!(format!(
        "{} {hash}, {sent} characters{}",
        call.prompt.id,
        tools.collect::<String>()
    ))
}

fn word(value: &impl serde::Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

fn short(value: Value) -> Value {
    match value {
        Value::Object(object) if object.contains_key("session") && object.contains_key("text") => {
            object["id"].clone()
        }
        Value::Object(object) if object.contains_key("passage") && object.contains_key("score") => {
            json!(format!(
                "{} {:.4}",
                short(object["passage"].clone())
                    .as_str()
                    .unwrap_or_default(),
                object["score"].as_f64().unwrap_or_default()
            ))
        }
        Value::Object(object) => object.into_iter().map(|(k, v)| (k, short(v))).collect(),
        Value::Array(items) => items.into_iter().map(short).collect(),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            json!((number * 1e4).round() / 1e4)
        }
        other => other,
    }
}

#[test]
fn every_system_on_both_models() {
    for system in SYSTEMS {
        for (agent, word) in [(ModelRef::Embedded, "embedded"), (endpoint(), "scripted")] {
            if system.refuses(&agent).is_some() {
                continue;
            }
            let on = |instance: &Instance, hidden: &HiddenInstance, head: &str| {
                let spec = spec(system, agent.clone(), Mode::Task);
                compact(&drive(&env_of(system, head), &spec, instance, hidden))
            };
            let found = json!({
                "text": on(&instance(), &for_text(), "text_generation"),
                "call": on(&call_instance(), &for_call(), "parameter_filling"),
            });
            check(&format!("{}-{word}.json", system.word()), &found);
        }
    }
}

#[test]
fn questions_on_both_models() {
    for (agent, word) in [(ModelRef::Embedded, "embedded"), (endpoint(), "scripted")] {
        let mut found = Map::new();
        for system in [System::IbaAgent, System::StandardRag, System::WholeHistory] {
            let spec = spec(system, agent.clone(), Mode::Qa);
            let record = drive(&env_of(system, ""), &spec, &instance(), &for_text());
            found.insert(system.word().to_owned(), compact(&record));
        }
        check(&format!("qa-{word}.json"), &Value::Object(found));
    }
}

/// Replies that are no answers, or hardly.
const BAD: [(&str, &str); 6] = [
    ("empty", ""),
    (
        "prose",
        "Sure! I had a look, and I believe this user would be happy with that.",
    ),
    (
        "cut",
        "{\"queries\": [{\"facet\": \"style\", \"query\": \"tone of no",
    ),
    ("wrong language", "好的，这是您要的结果：用户喜欢编号。"),
    (
        "wrong names",
        "{\"resultados\": [{\"texto\": \"puntos numerados\"}]}",
    ),
    ("refusal", "I'm sorry, but I can't help with that."),
];

/// The mark of the prompt that asks for answers about the user.
const QUESTIONS: &str = "every question once";

/// A stage, and what only its prompt says.
const STAGES: [(&str, &str); 14] = [
    ("query_expansion", "{\"queries\""),
    ("salience_reranking", "{\"scores\""),
    ("compact_evidence", "{\"items\""),
    ("preference_extraction", "{\"preferences\""),
    ("task_preference_alignment", "{\"plan\""),
    ("parameter_filling", "{\"slots\""),
    ("text_generation", "carry out a writing task"),
    ("question_answering", QUESTIONS),
    ("rag_text", "knows earlier conversations"),
    ("rag_slots", "knows earlier conversations"),
    ("plain_text", "a user you know nothing about"),
    ("plain_slots", "a user you know nothing about"),
    ("judge", "The criteria:"),
    ("where_lost", "List E"),
];

/// The run that has a stage: its system, and whether it makes a call or answers questions.
fn run_with(stage: &str) -> (System, Mode, bool) {
    let system = match stage {
        "rag_text" | "rag_slots" => System::StandardRag,
        "plain_text" | "plain_slots" => System::NoHistory,
        _ => System::IbaAgent,
    };
    let mode = match stage {
        "question_answering" => Mode::Qa,
        _ => Mode::Task,
    };
    (
        system,
        mode,
        stage.ends_with("slots") || stage == "parameter_filling",
    )
}

/// The first two thirds of the right answer, which ended at the output limit.
const OWN: &str = "cut within its own answer";

fn cut(answer: &str) -> String {
    let length = answer.chars().count();
    answer.chars().take(length * 2 / 3).collect()
}

/// How a run ends: its status, its last stage, what was noted, and the verdicts that are left.
fn end(record: &RunRecord, calls: usize) -> Value {
    let notes: Vec<&String> = record
        .stages
        .iter()
        .flat_map(|stage| &stage.notes)
        .collect();
    let verdicts = record.judgements.iter().flat_map(|j| &j.verdicts);
    let verdicts: Vec<String> = verdicts
        .map(|v| format!("{}: {}, {}", v.requirement, word(&v.state), v.rationale))
        .collect();
    let status = match &record.status {
        RunStatus::Failed { message } => format!("failed: {message}"),
        other => format!("{other:?}").to_lowercase(),
    };
    json!({
        "status": status,
        "last stage": record.stages.last().map(|stage| stage.stage),
        "calls": calls,
        "notes": notes,
        "output": record.output.as_ref().map(|output| output.value()),
        "verdicts": verdicts,
    })
}

#[test]
fn every_stage_on_replies_that_are_no_answers() {
    let mut found = Map::new();
    for (stage, mark) in STAGES {
        let mut ends = Map::new();
        for (kind, bad) in BAD.into_iter().chain([(OWN, "")]) {
            let (system, mode, call) = run_with(stage);
            let (instance, hidden) = match call {
                true => (call_instance(), for_call()),
                false => (instance(), for_text()),
            };
            let asks = move |chat: &Chat| {
                let mut first = chat.messages.iter().take(2);
                first.any(|m| message_text(m).contains(mark))
            };
            let env = FakeEnv::with_sessions(&history()).answering(move |chat| match kind {
                _ if !asks(chat) => answers(chat),
                OWN => {
                    // The second try is cut at the same place.
                    let mut first = chat.clone();
                    first.messages.truncate(2);
                    answers(&first).map(|whole| whole.map(|whole| cut(&whole)))
                }
                _ => Some(Ok(bad.to_owned())),
            });
            let env = match kind {
                OWN | "cut" => env.cutting(asks),
                _ => env,
            };
            let spec = spec(system, endpoint(), mode);
            let record = drive(&env, &spec, &instance, &hidden);
            let calls = env.chats.borrow().len();
            ends.insert(kind.to_owned(), end(&record, calls));
        }
        found.insert(stage.to_owned(), Value::Object(ends));
    }
    check("malformed.json", &Value::Object(found));
}

#[test]
fn a_controller_that_does_not_call_tools_or_calls_strange_ones() {
    let silent = |text: &str| {
        let mut env = FakeEnv::with_sessions(&history()).answering(answers);
        for _ in 0..25 {
            env = env.reply(text);
        }
        env
    };
    let mut strange = FakeEnv::with_sessions(&history()).answering(answers);
    for n in 0..25 {
        strange = strange.calls(&[("order_pizza", json!({"n": n}))]);
    }
    let mut same = FakeEnv::with_sessions(&history()).answering(answers);
    for _ in 0..25 {
        same = same.calls(&[("query_expansion", json!({}))]);
    }
    let early = FakeEnv::with_sessions(&history())
        .answering(answers)
        .calls(&[("text_generation", json!({}))]);
    let cases = BAD.map(|(kind, text)| (kind, silent(text)));
    let others = [
        ("a tool that does not exist", strange),
        ("the same call for ever", same),
        ("the head at once", early),
    ];
    let mut found = Map::new();
    for (kind, env) in cases.into_iter().chain(others) {
        let spec = spec(System::IbaAgentFc, endpoint(), Mode::Task);
        let record = drive(&env, &spec, &instance(), &for_text());
        let calls = env.chats.borrow().len();
        found.insert(kind.to_owned(), end(&record, calls));
    }
    check("malformed-fc.json", &Value::Object(found));
}
