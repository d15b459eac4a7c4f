//! What several areas need: IBA-Mini's source as records, a small instance, an obliging model.

pub use crate::files::{json_file, path, sources};

use iba_lab::agent::trace::System;
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::taxonomy::{Action, ApiTemplate};
use iba_lab::bench::visible::{Instance, Session, Task};
use iba_lab::llm::Chat;
use iba_lab::run::StepError;
use iba_lab::run::drive::RunSpec;
use iba_lab::run::fake::{message_text, session};
use iba_lab::run::record::{DatasetRef, ModelRef, Params, RetrieverRef, Variant};
use serde_json::{Value, json};

/// The visible half of a source instance.
pub fn visible(source: &Value, scenario: &Value) -> Instance {
    let api: Option<ApiTemplate> = serde_json::from_value(scenario["api"].clone()).unwrap();
    let task: Task = serde_json::from_value(source["task"].clone()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Instance {
        id: text(&source["id"]).as_str().into(),
        persona: text(&source["persona"]).as_str().into(),
        scenario: text(&source["scenario"]).as_str().into(),
        scenario_name: text(&scenario["name"]),
        action: if api.is_some() {
            Action::CallApi
        } else {
            Action::GenerateText
        },
        task,
        api,
    }
}

/// The evidence sessions of source instances under neutral ids, as a history holds them.
pub fn sessions<'a>(sources: impl Iterator<Item = &'a Value>) -> Vec<Session> {
    let evidence = sources.flat_map(|source| source["evidence"].as_array().unwrap());
    let session = |(i, e): (usize, &Value)| Session {
        id: format!("s{i:04}").as_str().into(),
        date: e["date"].as_str().unwrap().to_owned(),
        turns: serde_json::from_value(e["turns"].clone()).unwrap(),
    };
    evidence.enumerate().map(session).collect()
}

/// A task that asks for a notice.
pub fn instance() -> Instance {
    Instance {
        id: "notice-a".into(),
        persona: "p1".into(),
        scenario: "notice".into(),
        scenario_name: "Notices".to_owned(),
        action: Action::GenerateText,
        task: Task {
            instruction: "Write the notice for the hall.".to_owned(),
            content: "The hall is shut on Monday. Keys are with Dai.".to_owned(),
        },
        api: None,
    }
}

/// A task that asks for a call.
pub fn call_instance() -> Instance {
    let api = json!({
        "name": "order", "method": "GET", "endpoint": "https://food.example/", "description": "Orders food.",
        "slots": [
            {"name": "cuisine", "type": "string", "enum": ["italian", "japanese"], "required": true,
             "description": "Kitchen of the restaurant"},
            {"name": "portions", "type": "integer", "required": true, "description": "Number of portions, from the task"}
        ]
    });
    Instance {
        id: "food-a".into(),
        scenario: "food".into(),
        scenario_name: "Food ordering".to_owned(),
        action: Action::CallApi,
        task: Task {
            instruction: "Order dinner.".to_owned(),
            content: "Two portions.".to_owned(),
        },
        api: Some(serde_json::from_value(api).unwrap()),
        ..instance()
    }
}

/// Three requirements, the first with a check for exactly two numbered items.
pub fn hidden() -> HiddenInstance {
    serde_json::from_value(json!({
        "id": "notice-a",
        "preferences": [
            {"id": "q1", "dimension": "d", "value": "v", "text": "Numbers things", "kind": "static"},
            {"id": "q2", "dimension": "e", "value": "w", "text": "Thanks first", "kind": "dynamic", "previous": "x"}
        ],
        "evidence": [{"id": "e1", "session": "s1", "signal": "complaint", "reveals": ["q1"]}],
        "requirements": [
            {"id": "r1", "preference": "q1", "text": "Two numbered items",
             "check": {"kind": "count", "of": "numbered", "min": 2, "max": 2}},
            {"id": "r2", "preference": "q2", "text": "Somebody is thanked"},
            {"id": "r3", "preference": "q2", "text": "Thanks come first"}
        ]
    }))
    .unwrap()
}

/// A year of three sessions: two about notices, one small talk.
pub fn history() -> Vec<Session> {
    vec![
        session(
            "s1",
            "2025-02-01T09:00:00",
            &[
                "A notice for the hall about the pipes.",
                "The hall is shut on Tuesday while pipes are laid.",
                "Put it in numbered points, nobody reads porridge. I never want a lump!",
                "1. The hall is shut.\n2. Pipes are laid.",
                "Good.",
            ],
        ),
        session(
            "s2",
            "2025-03-01T09:00:00",
            &["The cat slept.", "How nice for the cat."],
        ),
        session(
            "s3",
            "2025-09-01T09:00:00",
            &[
                "Order food for the hall.",
                "Pasta from the Italian kitchen is on its way.",
                "No, take Japanese food instead, as usual.",
                "Japanese rice and soup from the Japanese kitchen.",
                "Send it.",
            ],
        ),
    ]
}

/// A run with published parameters, not judged by a model.
pub fn run_spec(system: System, agent: ModelRef) -> RunSpec {
    RunSpec {
        id: "run-1".to_owned(),
        system,
        epoch: 1,
        params: Params::default(),
        agent,
        panel: Default::default(),
        dataset: DatasetRef {
            name: "d".to_owned(),
            sha256: "0".to_owned(),
        },
        retriever: RetrieverRef {
            model: "r".to_owned(),
            model_sha256: "0".to_owned(),
            method: "exact".to_owned(),
            ..RetrieverRef::default()
        },
        app_version: "0".to_owned(),
        variant: Variant::default(),
    }
}

/// Answers every prompt of the agent in the shape it asks for, naming every passage.
pub fn obliging(chat: &Chat) -> Option<Result<String, StepError>> {
    let text = message_text(chat.messages.last()?);
    let ids: Vec<&str> = text
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let each = |item: &dyn Fn(&str) -> Value| ids.iter().map(|id| item(id)).collect::<Vec<_>>();
    let reply = if text.contains("{\"queries\"") {
        json!({"queries": [{"facet": "style", "query": "tone of notices"}, {"facet": "habit", "query": "the usual"}]})
    } else if text.contains("{\"scores\"") {
        json!({"scores": each(&|id| json!({"id": id, "signals": ["complaint"], "score": 7}))})
    } else if text.contains("{\"items\"") {
        json!({"items": each(&|id| json!({"id": id, "text": "wants points"}))})
    } else if text.contains("{\"preferences\"") {
        json!({"preferences": [{"text": "Number things", "kind": "corrected", "passages": ["P1"]}]})
    } else if text.contains("{\"plan\"") {
        json!({"plan": [{"aspect": "structure", "text": "Number the points"}]})
    } else if text.contains("{\"slots\"") {
        json!({"slots": any_slots(text), "description": "Makes the call."})
    } else if text.contains("{\"verdicts\"") {
        return None;
    } else {
        return Some(Ok("1. The hall is shut.\n2. Keys are with Dai.".to_owned()));
    };
    Some(Ok(reply.to_string()))
}

/// A value for every slot a prompt lists, its first option where it has any.
fn any_slots(prompt: &str) -> Value {
    let mut slots = serde_json::Map::new();
    for line in prompt.lines().filter_map(|line| line.strip_prefix("- ")) {
        let Some((name, rest)) = line.split_once(" (") else {
            continue;
        };
        let option = rest
            .split_once("one of \"")
            .and_then(|(_, all)| all.split('"').next());
        let value = match (option, rest.split(',').next()) {
            (Some(option), _) => json!(option),
            (None, Some("integer" | "number")) => json!(1),
            (None, Some("boolean")) => json!(true),
            _ => json!("x"),
        };
        slots.insert(name.to_owned(), value);
    }
    Value::Object(slots)
}
