//! The shapes of answers as JSON schemas, for the second try at an answer that could not be read: a
//! server that can hold a model to a schema then gets an answer that ends. Lengths are bounded,
//! because a weak model fills a string to the output limit.

use serde_json::{Value, json};

/// Longest line of an answer, in characters.
const LINE: u32 = 400;
/// Longest note or rationale, in characters.
const NOTE: u32 = 1200;
/// Longest list.
const ITEMS: u32 = 40;

/// The shape of the answers to a prompt; `None` where it asks for no JSON.
pub fn shape(id: &str) -> Option<Value> {
    let line = || json!({"type": "string", "maxLength": LINE});
    let note = || json!({"type": "string", "maxLength": NOTE});
    let names = || json!({"type": "array", "items": line(), "maxItems": 10});
    Some(match id {
        "query_expansion" => list("queries", &[("facet", line()), ("query", line())]),
        "salience" => list(
            "scores",
            &[
                ("id", line()),
                ("signals", names()),
                ("score", json!({"type": "integer"})),
            ],
        ),
        "compact_evidence" | "answer_questions" => {
            list("items", &[("id", line()), ("text", note())])
        }
        "preference_extraction" => list(
            "preferences",
            &[("text", line()), ("kind", line()), ("passages", names())],
        ),
        "align_text" => list("plan", &[("aspect", line()), ("text", line())]),
        "align_call" => list(
            "plan",
            &[("aspect", line()), ("slot", line()), ("text", line())],
        ),
        "fill_slots" | "rag_slots" | "plain_slots" => object(&[
            (
                "slots",
                json!({"type": "object", "additionalProperties": {
                    "anyOf": [line(), {"type": "number"}, {"type": "boolean"}, {"type": "null"}],
                }}),
            ),
            ("description", line()),
        ]),
        "judge" => list(
            "verdicts",
            &[
                ("id", line()),
                ("quote", line()),
                ("rationale", note()),
                ("verdict", json!({"type": "integer", "enum": [0, 1]})),
            ],
        ),
        "where_lost" => list(
            "verdicts",
            &[
                ("id", line()),
                ("quote", line()),
                ("verdict", json!({"type": "integer", "enum": [0, 1]})),
            ],
        ),
        _ => return None,
    })
}

/// An object with a list of objects.
fn list(name: &str, fields: &[(&str, Value)]) -> Value {
    let items = json!({"type": "array", "items": object(fields), "maxItems": ITEMS});
    object(&[(name, items)])
}

/// An object with exactly these fields.
fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that a prompt shows is of the shape that is asked for the second time.
    #[test]
    fn every_prompt_that_asks_for_json_has_the_shape_of_its_own_example() {
        let mut with_json = 0;
        for prompt in super::super::all() {
            let example = prompt
                .text
                .lines()
                .rev()
                .find(|line| line.starts_with("{\""));
            let found = shape(prompt.id);
            assert_eq!(found.is_some(), example.is_some(), "{}", prompt.id);
            let (Some(schema), Some(example)) = (found, example) else {
                continue;
            };
            with_json += 1;
            let example = example.replace("{{example}}", "1");
            let example: Value = serde_json::from_str(&example).expect(prompt.id);
            fits(&schema, &example, prompt.id);
        }
        assert_eq!(with_json, 12);
    }

    #[track_caller]
    fn fits(schema: &Value, value: &Value, id: &str) {
        match value {
            Value::Object(fields) => {
                let Some(known) = schema["properties"].as_object() else {
                    assert!(schema["additionalProperties"].is_object(), "{id}");
                    return;
                };
                let mut names: Vec<&String> = fields.keys().collect();
                names.sort();
                let mut wanted: Vec<&String> = known.keys().collect();
                wanted.sort();
                assert_eq!(names, wanted, "{id}");
                for (name, value) in fields {
                    fits(&known[name], value, id);
                }
            }
            Value::Array(items) => items
                .iter()
                .for_each(|item| fits(&schema["items"], item, id)),
            Value::String(_) => assert_eq!(schema["type"], "string", "{id}"),
            _ => assert_eq!(schema["type"], "integer", "{id}"),
        }
    }
}
