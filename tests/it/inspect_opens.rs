//! Inspect's own package opens the files of every way of running: function calling, QA, several
//! judges with repeats, runs judged again in other words, a list of instances.

use crate::support::{hidden, history, instance, obliging, run_spec};
use futures::executor::block_on;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::trace::System;
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::visible::{History, Instance};
use iba_lab::judge::{JudgeModel, Panel};
use iba_lab::llm::Chat;
use iba_lab::prompts::judge_hash;
use iba_lab::results::inspect::{self, FileMeta};
use iba_lab::run::StepError;
use iba_lab::run::again::judge_again;
use iba_lab::run::drive::{Case, RunSpec, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::record::{Mode, ModelRef, RunRecord, Variant};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

fn judge(model: &str, repeats: u32) -> JudgeModel {
    JudgeModel {
        model: model.to_owned(),
        base_url: "fake".to_owned(),
        repeats,
        temperature: None,
        seed: None,
        max_output_tokens: 1000,
        wording: None,
    }
}

fn answers(chat: &Chat) -> Option<Result<String, StepError>> {
    if !chat.tools.is_empty() {
        return None;
    }
    let text = message_text(chat.messages.last()?);
    if text.contains("The questions:") {
        return Some(Ok(
            json!({"items": [{"id": "Q1", "text": "In points."}]}).to_string()
        ));
    }
    if !text.contains("{\"verdicts\"") {
        return obliging(chat);
    }
    let verdicts: Vec<Value> = (1..=3)
        .map(|n| json!({"id": format!("R{n}"), "quote": "", "rationale": "so", "verdict": n % 2}))
        .collect();
    Some(Ok(json!({ "verdicts": verdicts }).to_string()))
}

fn spec(system: System, judges: Vec<JudgeModel>, mode: Mode) -> RunSpec {
    let agent = ModelRef::Endpoint {
        base_url: "fake".to_owned(),
        model: "m".to_owned(),
    };
    RunSpec {
        panel: Panel {
            judges,
            shuffle_seed: 1,
        },
        variant: Variant {
            mode,
            ..Variant::default()
        },
        ..run_spec(system, agent)
    }
}

fn asked() -> HiddenInstance {
    let qa =
        json!([{"preference": "q1", "question": "How are points set out?", "answer": "Numbered."}]);
    HiddenInstance {
        qa: serde_json::from_value(qa).expect("questions"),
        ..hidden()
    }
}

fn in_case<T>(instance: &Instance, act: impl FnOnce(Case<'_>) -> T) -> T {
    let history = History {
        persona: "p1".into(),
        sessions: history(),
    };
    act(Case {
        instance,
        hidden: &asked(),
        domain: &"work".into(),
        history: &history,
    })
}

fn env() -> FakeEnv {
    FakeEnv::with_sessions(&history())
        .answering(answers)
        .calls(&[("query_expansion", json!({})), ("read_mind", json!({}))])
        .calls(&[("similarity_retrieval", json!({}))])
        .calls(&[("text_generation", json!({}))])
}

fn run(spec: &RunSpec, instance: &Instance) -> RunRecord {
    in_case(instance, |case| {
        block_on(run_instance(&env(), spec, case, &StageMemo::new()))
    })
}

#[test]
fn inspect_opens_every_kind_of_file() {
    let one = || vec![judge("j", 1)];
    let shipped = &judge_hash(None)[..8];
    let fc = run(&spec(System::IbaAgentFc, one(), Mode::Task), &instance());
    let qa = run(&spec(System::IbaAgent, one(), Mode::Qa), &instance());
    let two = vec![judge("j", 2), judge("k", 1)];
    let panel = run(&spec(System::StandardRag, two, Mode::Task), &instance());
    let edited = JudgeModel {
        wording: Some("Judge {{requirements}} {\"verdicts\"".to_owned()),
        ..judge("j", 1)
    };
    let hash = judge_hash(edited.wording.as_deref());
    let words = format!("j · edited prompt {}", &hash[..8]);
    let again = in_case(&instance(), |case| {
        let spec = spec(System::StandardRag, vec![edited], Mode::Task);
        block_on(judge_again(&env(), &spec, case, &panel)).expect("judged")
    });
    let list: Vec<RunRecord> = ["a", "b", "c"]
        .map(|id| Instance {
            id: id.into(),
            ..instance()
        })
        .iter()
        .map(|instance| run(&spec(System::IbaAgent, one(), Mode::Task), instance))
        .collect();
    let both = |names: &[&str]| -> Vec<String> {
        names
            .iter()
            .flat_map(|name| [(*name).to_owned(), format!("{name}_mean")])
            .collect()
    };
    let wanted = json!({
        "fc.json": {
            "solver": "iba_agent_fc", "scorers": both(&["j"]),
            "tools": [["query_expansion", false], ["read_mind", true], ["similarity_retrieval", false], ["text_generation", false]],
        },
        "qa.json": {"solver": "iba_agent", "mode": "qa", "scorers": both(&["j"]), "prompts": [shipped], "tools": []},
        "panel.json": {"scorers": both(&["j", "j#2", "k"]), "prompts": [shipped, shipped, shipped]},
        "again.json": {"scorers": both(&["j", "j#2", "k", &words]), "prompts": [shipped, shipped, shipped, &hash[..8]]},
        "list.json": {"samples": [["a", 1], ["b", 1], ["c", 1]]},
    });
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("inspect-opens");
    std::fs::create_dir_all(&folder).expect("a folder");
    let meta = FileMeta {
        id: "x".to_owned(),
        created_ms: 1_795_970_000_000.0,
    };
    for (name, records) in [
        ("fc.json", vec![fc]),
        ("qa.json", vec![qa]),
        ("panel.json", vec![panel]),
        ("again.json", vec![again]),
        ("list.json", list),
    ] {
        let log = inspect::write(&records, &meta).expect(name);
        std::fs::write(folder.join(name), log.json()).expect(name);
    }
    std::fs::write(folder.join("opened.json"), wanted.to_string()).expect("written");
    let Some(python) = std::env::var_os("IBA_LAB_PYTHON") else {
        println!("skipped: IBA_LAB_PYTHON names no Python with inspect-ai; `./dev test` sets it");
        return;
    };
    let script = crate::support::path("tests/python/inspect_check.py");
    let ran = Command::new(python)
        .arg(script)
        .arg("open")
        .arg(&folder)
        .output();
    let ran = ran.expect("Python runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ran.stdout)
    );
}
