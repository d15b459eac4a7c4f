//! The tools as the controller sees them, and what is checked before one is carried out.

use crate::agent::trace::{Decision, StageId};
use crate::agent::trace_view::about;
use crate::llm::{Tool, ToolCall};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Queries of its own that a controller may send at once.
const MAX_QUERIES: usize = 8;

/// The tools beside the output head, in the paper's order.
const INNER: [StageId; 7] = [
    StageId::QueryExpansion,
    StageId::SimilarityRetrieval,
    StageId::RedundancyFiltering,
    StageId::SalienceReranking,
    StageId::CompactEvidence,
    StageId::PreferenceExtraction,
    StageId::TaskPreferenceAlignment,
];

/// A tool's name for the model: its name in files.
pub fn name(tool: StageId) -> String {
    match serde_json::to_value(tool) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// What the controller may call; without a plan to make (QA mode) there is no alignment.
pub fn offered(head: StageId) -> Vec<StageId> {
    let plans = head != StageId::QuestionAnswering;
    let inner = INNER
        .into_iter()
        .filter(|tool| plans || *tool != StageId::TaskPreferenceAlignment);
    inner.chain([head]).collect()
}

/// The tools in the neutral form of a request.
pub fn schemas(head: StageId) -> Vec<Tool> {
    let schema = |tool: StageId| Tool {
        name: name(tool),
        description: description(tool, tool == head),
        parameters: parameters(tool),
    };
    offered(head).into_iter().map(schema).collect()
}

fn description(tool: StageId, ends: bool) -> String {
    let how = match tool {
        StageId::SimilarityRetrieval => {
            " Without queries it searches the task and the expanded queries not searched yet."
        }
        StageId::QueryExpansion => " Returns the queries.",
        StageId::RedundancyFiltering | StageId::SalienceReranking => {
            " Works on all passages found and not dropped."
        }
        StageId::CompactEvidence => " Works on the passages that are left; returns notes.",
        StageId::PreferenceExtraction => " Works on the notes, or on the passages without them.",
        StageId::TaskPreferenceAlignment => " Works on the extracted preferences.",
        _ => "",
    };
    let end = if ends {
        " Works from everything so far and ends the work."
    } else {
        ""
    };
    format!("{}{how}{end}", about(tool))
}

fn parameters(tool: StageId) -> Value {
    let properties = match tool {
        StageId::SimilarityRetrieval => json!({
            "queries": {
                "type": "array",
                "items": { "type": "string" },
                "maxItems": MAX_QUERIES,
                "description": "Queries of your own, worded as the old conversations would be",
            }
        }),
        _ => json!({}),
    };
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// What is there to work on. Calls of one turn build on one another, so it is carried along while
/// they are checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Have {
    pub passages: bool,
    /// How many were found so far.
    pub found: usize,
    pub preferences: bool,
    pub ended: bool,
}

/// How often each call was carried out on the same passages.
#[derive(Debug, Default)]
pub struct Repeats(HashMap<String, u32>);

impl Repeats {
    /// Counts a call; `Err` with the number of times when it was carried out often enough. New
    /// passages make it another call, arguments that the tool does not take do not.
    fn count(&mut self, call: &ToolCall, found: usize, most: u32) -> Result<(), u32> {
        let queries = &call.arguments["queries"];
        let times = self
            .0
            .entry(format!("{} {queries} on {found}", call.name))
            .or_default();
        if *times >= most {
            return Err(*times);
        }
        *times += 1;
        Ok(())
    }
}

/// Decides which calls of a turn are carried out, in their order, and says why the others are not.
pub fn decide(
    calls: &[ToolCall],
    head: StageId,
    mut have: Have,
    repeats: &mut Repeats,
    most_repeats: u32,
) -> Vec<Decision> {
    let mut decision = |call: &ToolCall| {
        let refused =
            check(call, head, &mut have)
                .and_then(|()| {
                    repeats.count(call, have.found, most_repeats).map_err(|times| {
                    format!("this call was carried out {times} times already; change it, or go on")
                })
                })
                .err();
        if refused.is_none() {
            have.advance(&call.name);
        }
        Decision {
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            refused,
        }
    };
    calls.iter().map(&mut decision).collect()
}

impl Have {
    fn advance(&mut self, tool: &str) {
        match tool {
            "similarity_retrieval" => self.passages = true,
            "preference_extraction" => self.preferences = true,
            "text_generation" | "parameter_filling" | "question_answering" => self.ended = true,
            _ => {}
        }
    }
}

fn check(call: &ToolCall, head: StageId, have: &mut Have) -> Result<(), String> {
    let known = offered(head);
    let Some(tool) = known.iter().copied().find(|t| name(*t) == call.name) else {
        let names: Vec<String> = known.into_iter().map(name).collect();
        return Err(format!(
            "there is no tool {:?}; the tools are {}",
            call.name,
            names.join(", ")
        ));
    };
    if have.ended {
        return Err("the output head was called before it and ended the work".to_owned());
    }
    match tool {
        StageId::SimilarityRetrieval => queries(&call.arguments).map(drop),
        StageId::RedundancyFiltering
        | StageId::SalienceReranking
        | StageId::CompactEvidence
        | StageId::PreferenceExtraction
            if !have.passages =>
        {
            Err("no passages were retrieved yet; call similarity_retrieval first".to_owned())
        }
        StageId::TaskPreferenceAlignment if !have.preferences => {
            Err("no preferences were extracted yet; call preference_extraction first".to_owned())
        }
        _ => Ok(()),
    }
}

/// The queries of a retrieval; none where the model sent none.
pub fn queries(arguments: &Value) -> Result<Vec<String>, String> {
    let wrong = |what: &str| {
        Err(format!(
            "`queries` takes a list of at most {MAX_QUERIES} texts, and {what}; nothing was searched"
        ))
    };
    let list = match arguments.get("queries") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return wrong(&format!("got {other}")),
    };
    if list.len() > MAX_QUERIES {
        return wrong(&format!("got {}", list.len()));
    }
    let mut queries = Vec::with_capacity(list.len());
    for item in list {
        match item.as_str().map(str::trim) {
            Some(text) if !text.is_empty() => queries.push(text.to_owned()),
            _ => return wrong(&format!("one of them is {item}")),
        }
    }
    Ok(queries)
}

/// Names of arguments that a tool does not take.
pub fn ignored(tool: StageId, arguments: &Value) -> Vec<String> {
    let fields = arguments.as_object().into_iter().flatten();
    let known = |name: &str| tool == StageId::SimilarityRetrieval && name == "queries";
    fields
        .map(|(name, _)| name.clone())
        .filter(|name| !known(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall {
            id: "a".to_owned(),
            name: name.to_owned(),
            arguments,
            extra: serde_json::Map::new(),
        }
    }

    fn refusals(calls: &[ToolCall], have: Have) -> Vec<Option<String>> {
        let head = StageId::TextGeneration;
        let decisions = decide(calls, head, have, &mut Repeats::default(), 2);
        decisions.into_iter().map(|d| d.refused).collect()
    }

    #[test]
    fn calls_of_one_turn_build_on_one_another() {
        let calls = [
            call("compact_evidence", json!({})),
            call("similarity_retrieval", json!({})),
            call("compact_evidence", json!({})),
            call("task_preference_alignment", json!({})),
            call("preference_extraction", json!({})),
            call("task_preference_alignment", json!({})),
            call("text_generation", json!({})),
            call("query_expansion", json!({})),
        ];
        let refused: Vec<bool> = refusals(&calls, Have::default())
            .iter()
            .map(Option::is_some)
            .collect();
        assert_eq!(
            refused,
            [true, false, false, true, false, false, false, true]
        );
    }

    #[test]
    fn a_tool_that_does_not_exist_gets_the_names_of_those_that_do() {
        for name in ["web_search", "Text_Generation", "parameter_filling", ""] {
            let said = refusals(&[call(name, json!({}))], Have::default());
            let said = said[0].as_deref().expect("refused");
            assert!(
                said.contains("no tool") && said.contains("similarity_retrieval"),
                "{said}"
            );
            assert!(said.contains("text_generation") && !said.contains("fill_slots"));
        }
    }

    #[test]
    fn broken_queries_are_never_searched() {
        let broken = [
            json!({"queries": "tone"}),
            json!({"queries": [1]}),
            json!({"queries": ["a", " "]}),
            json!({"queries": vec!["a"; 9]}),
            json!({"queries": {"q": "a"}}),
        ];
        for arguments in broken {
            let said = refusals(
                &[call("similarity_retrieval", arguments.clone())],
                Have::default(),
            );
            assert!(
                said[0]
                    .as_deref()
                    .is_some_and(|s| s.contains("nothing was searched")),
                "{arguments}"
            );
        }
        assert_eq!(
            queries(&json!({"queries": [" a ", "b"]})),
            Ok(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(queries(&json!({"queries": null})), Ok(vec![]));
    }

    #[test]
    fn the_same_call_is_carried_out_so_often_and_no_more() {
        let same = call("query_expansion", json!({}));
        let noted = call("query_expansion", json!({"note": 1}));
        let asked = |text: &str| call("similarity_retrieval", json!({"queries": [text]}));
        let calls = [
            same.clone(),
            same.clone(),
            same.clone(),
            noted,
            asked("a"),
            asked("a"),
            asked("a"),
            asked("b"),
        ];
        let refused = refusals(&calls, Have::default());
        let refused: Vec<bool> = refused.iter().map(Option::is_some).collect();
        let expected = [false, false, true, true, false, false, true, false];
        assert_eq!(refused, expected);
        // What finds more to work on may be done again.
        let mut repeats = Repeats::default();
        let times: Vec<bool> = [1, 1, 1, 4]
            .map(|found| repeats.count(&same, found, 2).is_ok())
            .to_vec();
        assert_eq!(times, [true, true, false, true]);
    }

    #[test]
    fn questions_need_no_plan() {
        let names: Vec<String> = offered(StageId::QuestionAnswering)
            .into_iter()
            .map(name)
            .collect();
        assert_eq!(names.len(), 7);
        assert!(!names.contains(&"task_preference_alignment".to_owned()));
        let schemas = schemas(StageId::ParameterFilling);
        assert_eq!(schemas.len(), 8);
        assert!(
            schemas
                .iter()
                .all(|tool| tool.parameters["type"] == "object")
        );
    }
}
