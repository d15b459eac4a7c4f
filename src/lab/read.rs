//! `lab read`: a model's text to typed values, by the code of the site.

use super::error::LabError;
use crate::agent::facets::FACETS;
use crate::bench::taxonomy::{ApiTemplate, Slot};
use crate::llm::Finish;
use crate::llm::json;
use crate::llm::read::{self, Read, ReadError, ReadScore, ReadVerdict, SalienceItem, VerdictItem};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

#[derive(Args)]
pub struct ReadArgs {
    /// What the text should hold
    #[arg(long = "as", value_enum)]
    kind: Kind,
    /// How many items are expected; their ids are 1, 2, … unless --ids names them
    #[arg(long, default_value_t = 1)]
    expect: usize,
    /// Expected ids, or the names of slots, separated by commas
    #[arg(long, value_delimiter = ',')]
    ids: Vec<String>,
    /// Why the model stopped
    #[arg(long, value_enum, default_value_t = Stopped::Stop)]
    finish: Stopped,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Queries,
    Salience,
    Preferences,
    Slots,
    Verdicts,
}

#[derive(Clone, Copy, ValueEnum)]
enum Stopped {
    Stop,
    Length,
}

/// Reads what came in; prints `{"value": …, "truncated": …, "problems": …}` or `{"error": …}`.
pub fn run(args: &ReadArgs, bytes: &[u8]) -> Result<String, LabError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| LabError::Refused(format!("the text is no UTF-8: {error}")))?;
    let finish = match args.finish {
        Stopped::Stop => Finish::Stop,
        Stopped::Length => Finish::Length,
    };
    let read = read_as(args, text, &finish);
    let out = read.unwrap_or_else(|error| json!({"error": error_json(&error)}));
    Ok(format!("{out:#}"))
}

fn read_as(args: &ReadArgs, text: &str, finish: &Finish) -> Result<Value, ReadError> {
    let ids = ids(args);
    Ok(match args.kind {
        Kind::Queries => {
            let facets: Vec<&str> = FACETS.iter().map(|facet| facet.id).collect();
            let found = read::facet_queries(text, finish, &facets, args.expect)?;
            to_json(found, |all| {
                all.iter().map(|query| json!(query.text)).collect()
            })
        }
        Kind::Salience => to_json(read::salience(text, finish, &ids)?, |all| {
            all.iter().map(salience).collect()
        }),
        Kind::Preferences => to_json(read::preferences(text, finish, &ids)?, |all| {
            let item = |one: &read::PreferenceItem| json!({"text": one.text, "kind": one.kind, "passages": one.passages});
            all.iter().map(item).collect()
        }),
        Kind::Slots => {
            let mut found = read::slots(text, finish, &template(args, text))?;
            let (have, want) = (found.value.slots.len(), args.expect);
            if args.ids.is_empty() && want > have {
                let missing = want - have;
                found
                    .problems
                    .push(format!("{missing} of {want} slots are missing"));
            }
            to_json(
                found,
                |slots| json!({"slots": slots.slots, "description": slots.description}),
            )
        }
        Kind::Verdicts => to_json(read::verdicts(text, finish, &ids)?, |all| {
            all.iter().map(verdict).collect()
        }),
    })
}

fn to_json<T>(read: Read<T>, value: impl Fn(&T) -> Value) -> Value {
    json!({
        "value": value(&read.value),
        "truncated": read.truncated,
        "problems": read.problems,
    })
}

fn ids(args: &ReadArgs) -> Vec<String> {
    match args.ids.is_empty() {
        true => (1..=args.expect).map(|n| n.to_string()).collect(),
        false => args.ids.clone(),
    }
}

fn salience(item: &SalienceItem) -> Value {
    let (state, score, written) = match &item.score {
        ReadScore::Score(score) => ("score", Some(score), None),
        ReadScore::Missing => ("missing", None, None),
        ReadScore::Invalid(written) => ("invalid", None, Some(written)),
    };
    json!({
        "id": item.id,
        "state": state,
        "score": score,
        "written": written,
        "signals": item.signals,
    })
}

fn verdict(item: &VerdictItem) -> Value {
    let (state, verdict, written) = match &item.verdict {
        ReadVerdict::Met => ("met", Some(1), None),
        ReadVerdict::NotMet => ("not_met", Some(0), None),
        ReadVerdict::Missing => ("missing", None, None),
        ReadVerdict::Invalid(written) => ("invalid", None, Some(written)),
    };
    json!({
        "id": item.id,
        "state": state,
        "verdict": verdict,
        "written": written,
        "rationale": item.rationale,
        "quote": item.quote,
    })
}

fn error_json(error: &ReadError) -> Value {
    let kind = match error {
        ReadError::Empty => "empty",
        ReadError::ReasoningOnly => "reasoning_only",
        ReadError::Refused { .. } => "refused",
        ReadError::Cut { .. } => "cut",
        ReadError::Unreadable { .. } => "unreadable",
    };
    json!({"kind": kind, "message": error.to_string()})
}

/// Slots of any type by the names given, else by the names the text itself uses.
fn template(args: &ReadArgs, text: &str) -> ApiTemplate {
    let names = match args.ids.is_empty() {
        true => names_in(text),
        false => args.ids.clone(),
    };
    let slot = |name: String| Slot {
        name,
        kind: "any".to_owned(),
        options: None,
        required: true,
        description: String::new(),
    };
    ApiTemplate {
        name: "the template".to_owned(),
        method: "POST".to_owned(),
        endpoint: String::new(),
        description: String::new(),
        slots: names.into_iter().map(slot).collect(),
    }
}

fn names_in(text: &str) -> Vec<String> {
    let found = json::find(text);
    let mut values = found.candidates.iter().map(|found| &found.value);
    values.find_map(names_of).unwrap_or_default()
}

fn names_of(value: &Value) -> Option<Vec<String>> {
    if let Value::Array(items) = value {
        let name = |item: &Value| item.get("name")?.as_str().map(str::to_owned);
        return items.iter().map(name).collect();
    }
    let object = value.as_object()?;
    let keys = |fields: &Map<String, Value>| fields.keys().cloned().collect();
    let inner = ["slots", "arguments", "parameters"]
        .iter()
        .find_map(|name| object.get(*name));
    match inner {
        Some(Value::Object(fields)) => Some(keys(fields)),
        Some(Value::String(text)) => names_of(&serde_json::from_str(text).ok()?),
        Some(list @ Value::Array(_)) => names_of(list),
        _ => Some(keys(object)),
    }
}
