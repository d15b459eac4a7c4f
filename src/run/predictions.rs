//! Outputs of other programs, to be judged like our own: JSON Lines with an instance's id and an
//! output. A line that cannot be used is named with its number and the reason; the others count.

use crate::agent::trace::Output;
use crate::bench::ids::InstanceId;
use crate::bench::taxonomy::{Action, ApiTemplate, Scenario};
use crate::llm::{Finish, read};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Names under which programs give the instance.
const INSTANCE: [&str; 5] = ["instance", "instance_id", "id", "sample_id", "task_id"];
/// Names under which programs give the output.
const OUTPUT: [&str; 9] = [
    "output",
    "prediction",
    "response",
    "completion",
    "answer",
    "result",
    "text",
    "slots",
    "arguments",
];
/// Names under which programs give themselves.
const SYSTEM: [&str; 4] = ["system", "agent", "model", "name"];

/// Lines read at most.
pub const MOST_LINES: usize = 100_000;

/// One output.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// From 1.
    pub line: u32,
    pub instance: InstanceId,
    /// Who made it, where the line says so.
    pub by: Option<String>,
    /// How often the file has had this instance of this program, this one included.
    pub epoch: u32,
    pub output: Output,
}

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFault {
    /// From 1.
    pub line: u32,
    /// Why, and what to do, in a sentence.
    pub text: String,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictions {
    pub usable: Vec<Prediction>,
    pub faults: Vec<LineFault>,
}

/// Whether a file's name and first line say that it holds predictions.
pub fn looks_like(name: &str, bytes: &[u8]) -> bool {
    let named = name.ends_with(".jsonl") || name.ends_with(".ndjson");
    let first = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty());
    let object = |line: &[u8]| {
        let text = std::str::from_utf8(line).ok()?;
        let text = text.trim_start_matches('\u{feff}');
        serde_json::from_str::<Map<String, Value>>(text).ok()
    };
    // Answers of a provider's batch interface are lines as well.
    if first
        .and_then(object)
        .is_some_and(|line| line.contains_key("custom_id"))
    {
        return false;
    }
    let keyed = first
        .and_then(object)
        .is_some_and(|line| find(&line, &INSTANCE).is_some() && find(&line, &OUTPUT).is_some());
    named || keyed
}

/// Reads a file. `scenario` gives the scenario of an instance the open dataset has.
pub fn read<'a>(text: &str, scenario: impl Fn(&InstanceId) -> Option<&'a Scenario>) -> Predictions {
    let mut out = Predictions::default();
    let mut seen: BTreeMap<(InstanceId, Option<String>), u32> = BTreeMap::new();
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    for (n, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let number = n as u32 + 1;
        let fault = |text: String| LineFault { line: number, text };
        if out.usable.len() + out.faults.len() >= MOST_LINES {
            out.faults.push(fault(format!(
                "only the first {MOST_LINES} lines were read; split the file"
            )));
            break;
        }
        match one(line, &scenario) {
            Err(text) => out.faults.push(fault(text)),
            Ok((instance, by, output)) => {
                let epoch = seen.entry((instance.clone(), by.clone())).or_default();
                *epoch += 1;
                out.usable.push(Prediction {
                    line: number,
                    instance,
                    by,
                    epoch: *epoch,
                    output,
                });
            }
        }
    }
    out
}

type Read = (InstanceId, Option<String>, Output);

fn one<'a>(
    line: &str,
    scenario: &impl Fn(&InstanceId) -> Option<&'a Scenario>,
) -> Result<Read, String> {
    let object: Map<String, Value> =
        serde_json::from_str(line).map_err(|error| not_an_object(line, &error))?;
    let instance = match find(&object, &INSTANCE) {
        Some(Value::String(id)) if !id.trim().is_empty() => InstanceId::from(id.trim()),
        Some(_) => {
            return Err("the instance's id is no text; give it as \"instance\": \"…\"".to_owned());
        }
        None => {
            return Err(format!(
                "names no instance; give its id as \"instance\" (also read: {})",
                INSTANCE[1..].join(", ")
            ));
        }
    };
    let scenario = scenario(&instance).ok_or_else(|| {
        format!(
            "the open dataset has no instance \"{instance}\"; open the dataset the outputs are for"
        )
    })?;
    let given = find(&object, &OUTPUT).ok_or_else(|| {
        format!(
            "has no output; give it as \"output\" (also read: {})",
            OUTPUT[1..].join(", ")
        )
    })?;
    let by = match find(&object, &SYSTEM) {
        Some(Value::String(name)) if !name.trim().is_empty() => Some(name.trim().to_owned()),
        _ => None,
    };
    let output = match scenario.action {
        Action::GenerateText => text(given)?,
        Action::CallApi => call(given, scenario.api.as_ref())?,
    };
    Ok((instance, by, output))
}

fn not_an_object(line: &str, error: &serde_json::Error) -> String {
    match serde_json::from_str::<Value>(line) {
        Ok(_) => {
            "is JSON, but no object; each line is {\"instance\": \"…\", \"output\": …}".to_owned()
        }
        Err(_) => {
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default().to_owned();
            format!("is not JSON at column {}: {why}", error.column())
        }
    }
}

fn find<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let mut found = names.iter().filter_map(|name| object.get(*name));
    found.find(|value| !value.is_null())
}

fn text(given: &Value) -> Result<Output, String> {
    match given {
        Value::String(text) if !text.trim().is_empty() => {
            Ok(Output::GenerateText { text: text.clone() })
        }
        Value::String(_) => Err("the output is empty".to_owned()),
        _ => Err(
            "the instance asks for a text, and the output is none; give it as one string"
                .to_owned(),
        ),
    }
}

/// Slots as an object, or as the JSON text that models write, alone or fenced; also as a call with
/// `arguments`, as function calling has it. Read by the reader that our own systems' calls go
/// through, so that names and values in another form count the same for everybody. What has no slot
/// of the template is kept as it is: such a call was made, and fills nothing.
fn call(given: &Value, template: Option<&ApiTemplate>) -> Result<Output, String> {
    let answer = match given {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let read = template.and_then(|template| read::slots(&answer, &Finish::Stop, template).ok());
    if let Some(read) = read.filter(|read| !read.value.slots.is_empty()) {
        return Ok(Output::CallApi {
            slots: read.value.slots,
            description: read.value.description.unwrap_or_default(),
        });
    }
    let object = match given {
        Value::Object(object) => object.clone(),
        Value::String(text) => in_text(text).ok_or_else(|| {
            "the instance asks for a call, and the output is no object of slots; give it as {\"slot\": value, …}".to_owned()
        })?,
        _ => return Err("the instance asks for a call; give its slots as an object".to_owned()),
    };
    let description = object
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let inner = ["slots", "arguments", "parameters"]
        .iter()
        .find_map(|name| match object.get(*name)? {
            Value::Object(inner) => Some(inner.clone()),
            Value::String(text) => in_text(text),
            _ => None,
        });
    match inner {
        Some(slots) => Ok(Output::CallApi { slots, description }),
        None => Ok(Output::CallApi {
            slots: object,
            description: String::new(),
        }),
    }
}

fn in_text(text: &str) -> Option<Map<String, Value>> {
    let (from, to) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str(text.get(from..=to)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::LazyLock;

    fn scenario(id: &InstanceId) -> Option<&'static Scenario> {
        static SCENARIOS: LazyLock<[Scenario; 2]> = LazyLock::new(|| {
            let slot = |name: &str, kind: &str, options: Option<Value>| json!({"name": name, "type": kind, "enum": options, "required": true, "description": ""});
            let sorts = json!(["nearest", "highest_rated"]);
            let api = json!({
                "name": "order", "method": "GET", "endpoint": "", "description": "",
                "slots": [
                    slot("dish", "string", None),
                    slot("count", "integer", None),
                    slot("sort_by", "string", Some(sorts)),
                ],
            });
            let of = |action: &str, api: Option<Value>| {
                let all = json!({"id": "s", "domain": "d", "name": "S", "action": action,
                                 "dynamic": false, "api": api});
                serde_json::from_value(all).expect("a scenario")
            };
            [of("generate_text", None), of("call_api", Some(api))]
        });
        match id.as_str() {
            "note-a" => Some(&SCENARIOS[0]),
            "food-a" => Some(&SCENARIOS[1]),
            _ => None,
        }
    }

    fn slots(value: Value) -> Output {
        let Value::Object(slots) = value else {
            panic!("an object")
        };
        Output::CallApi {
            slots,
            description: String::new(),
        }
    }

    #[test]
    fn outputs_of_many_programs_are_read() {
        let wanted = || slots(json!({"dish": "soup", "count": 2}));
        for line in [
            r#"{"instance": "food-a", "output": {"dish": "soup", "count": 2}}"#,
            r#"{"instance_id": "food-a", "prediction": "{\"dish\": \"soup\", \"count\": 2}"}"#,
            r#"{"id": "food-a", "response": "```json\n{\"dish\": \"soup\", \"count\": 2}\n```"}"#,
            r#"{"id": "food-a", "output": {"name": "order", "arguments": "{\"dish\": \"soup\", \"count\": 2}"}}"#,
            r#"{"id": "food-a", "output": null, "slots": {"dish": "soup", "count": 2}}"#,
        ] {
            let read = read(line, scenario);
            assert_eq!(read.faults, [], "{line}");
            assert_eq!(read.usable[0].output, wanted(), "{line}");
        }
        let read = read(
            "\u{feff}\r\n{\"instance\":\"note-a\",\"output\":\" Hi \",\"agent\":\"nanobot\"}\r\n",
            scenario,
        );
        assert_eq!(
            read.usable[0].output,
            Output::GenerateText {
                text: " Hi ".to_owned()
            }
        );
        assert_eq!(
            (read.usable[0].line, read.usable[0].by.as_deref()),
            (2, Some("nanobot"))
        );
    }

    /// One call in the forms that models write it in, read as the answer of our own agent and as
    /// another program's output.
    #[test]
    fn a_call_is_read_alike_whoever_made_it() {
        let template = scenario(&"food-a".into()).and_then(|s| s.api.as_ref());
        let template = template.expect("a template");
        let wanted = json!({"dish": "soup", "count": 2, "sort_by": "highest_rated"});
        for call in [
            json!({"dish": "soup", "count": 2, "sort_by": "highest_rated"}),
            json!({"dish": "soup", "count": "2", "sortBy": "Highest rated"}),
            json!({"Dish": {"value": "soup"}, "Count": 2, "Sort by": "highest-rated"}),
            json!({"parameters": {"dish": "soup", "count": 2, "sort-by": "Highest Rated"}}),
            json!([{"name": "dish", "value": "soup"}, {"name": "count", "value": 2},
                   {"name": "sortBy", "value": "HIGHEST_RATED"}]),
        ] {
            let ours = read::slots(&call.to_string(), &Finish::Stop, template);
            assert_eq!(json!(ours.expect("readable").value.slots), wanted, "{call}");
            for output in [call.clone(), json!(call.to_string())] {
                let line = json!({"instance": "food-a", "output": output});
                let read = super::read(&line.to_string(), scenario);
                assert_eq!(read.faults, [], "{line}");
                assert_eq!(read.usable[0].output, slots(wanted.clone()), "{line}");
            }
        }
        // A call that fills nothing was made all the same: it is judged, not passed over.
        for call in [json!({}), json!({"colour": "red"})] {
            let line = json!({"instance": "food-a", "output": call});
            let read = super::read(&line.to_string(), scenario);
            assert_eq!(read.usable[0].output, slots(call));
        }
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_count() {
        let file = [
            r#"{"instance": "note-a", "output": "one"}"#,
            r#"{"instance": "note-a", "output": "cut"#,
            r#"["note-a", "x"]"#,
            r#"{"output": "x"}"#,
            r#"{"instance": 7, "output": "x"}"#,
            r#"{"instance": "moon-a", "output": "x"}"#,
            r#"{"instance": "note-a"}"#,
            r#"{"instance": "note-a", "output": "  "}"#,
            r#"{"instance": "note-a", "output": {"a": 1}}"#,
            r#"{"instance": "food-a", "output": "I would order soup."}"#,
            r#"{"instance": "food-a", "output": [1]}"#,
            "",
            r#"{"instance": "note-a", "output": "two"}"#,
        ];
        let read = read(&file.join("\n"), scenario);
        let epochs: Vec<(u32, u32)> = read.usable.iter().map(|p| (p.line, p.epoch)).collect();
        assert_eq!(
            epochs,
            [(1, 1), (13, 2)],
            "the same instance again is the next repeat"
        );
        let said = [
            (2, "is not JSON at column"),
            (3, "no object"),
            (4, "names no instance"),
            (5, "is no text"),
            (6, "\"moon-a\"; open the dataset"),
            (7, "has no output"),
            (8, "is empty"),
            (9, "asks for a text"),
            (10, "asks for a call"),
            (11, "asks for a call"),
        ];
        assert_eq!(read.faults.len(), said.len(), "{:?}", read.faults);
        for (fault, (line, words)) in read.faults.iter().zip(said) {
            assert_eq!(fault.line, line);
            assert!(fault.text.contains(words), "{fault:?}");
        }
    }

    #[test]
    fn predictions_are_told_from_other_files() {
        assert!(looks_like("nanobot.jsonl", b"garbage"));
        assert!(looks_like(
            "nanobot.json",
            b"\n{\"instance\": \"x\", \"output\": \"y\"}\n{}"
        ));
        assert!(!looks_like(
            "log.json",
            b"{\"version\": 2, \"eval\": {}, \"samples\": []}"
        ));
        assert!(!looks_like(
            "batch.jsonl",
            b"{\"custom_id\": \"x\", \"response\": {}}"
        ));
        assert!(!looks_like("log.json.gz", &[0x1f, 0x8b, 8]));
    }
}
