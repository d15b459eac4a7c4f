//! Reads the parts of a reply, whole or in pieces, into an [`Answer`].

use crate::llm::answer::Answer;
use crate::llm::tool_calls::Fragment;
use crate::llm::{Delta, Finish, Usage};
use serde_json::{Map, Value, json};

/// Whether a choice is an answer or a piece of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Whole,
    Piece,
}

/// The choice with index 0; lists may be empty, `null` or missing.
pub fn first_choice(value: &Value) -> Option<&Value> {
    let choices = value.get("choices")?.as_array()?;
    choices
        .iter()
        .find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

/// An error object where a success should be.
pub fn error_in(value: &Value) -> Option<Value> {
    match value.get("error") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(_) => return Some(value.clone()),
    }
    if let Some(error) = failed_frame(value) {
        return Some(error);
    }
    let is_answer = ["choices", "data", "models", "usage"]
        .iter()
        .any(|n| value.get(*n).is_some());
    let says = |said: &Value| !said.is_null() && said.get("role").is_none();
    let speaks = ["message", "msg", "detail", "code", "errors", "error_msg"]
        .iter()
        .any(|name| value.get(*name).is_some_and(says));
    (!is_answer && speaks)
        .then(|| value.clone())
        .or_else(|| no_choices_but_message(value))
}

/// `{"base_resp": {"status_code": 1004, "status_msg": "login fail"}, "choices": null}`: MiniMax and
/// its kin report failures beside an empty answer.
fn failed_frame(value: &Value) -> Option<Value> {
    let frame = value.get("base_resp")?;
    let code = frame.get("status_code").and_then(Value::as_i64);
    code.is_some_and(|code| code != 0).then(|| frame.clone())
}

/// `{"code": …, "message": …, "data": null}`: a flat error that keeps the usual frame.
fn no_choices_but_message(value: &Value) -> Option<Value> {
    let empty = |name: &str| value.get(name).is_none_or(Value::is_null);
    let flat = empty("choices") && empty("data") && empty("models") && empty("usage");
    let speaks = value.get("message").is_some_and(Value::is_string);
    (flat && speaks).then(|| value.clone())
}

/// A choice may carry its own error, or only say that there was one.
pub fn error_in_choice(choice: &Value) -> Option<Value> {
    if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
        return Some(json!({ "error": error }));
    }
    match choice.get("finish_reason")?.as_str()? {
        "error" => Some(json!({"error": {"message": "the model's server reported an error"}})),
        "network_error" => Some(json!({"error": {"message": "network error at the provider"}})),
        "insufficient_system_resource" => {
            Some(json!({"error": {"message": "the provider ran out of capacity", "code": 503}}))
        }
        _ => None,
    }
}

/// Model, id and usage.
pub fn read_head(answer: &mut Answer, value: &Value) {
    let text = |name: &str| value.get(name)?.as_str().filter(|text| !text.is_empty());
    if let Some(model) = text("model") {
        answer.model = Some(without_folder(model).to_owned());
    }
    if let Some(id) = text("id") {
        answer.id = Some(id.to_owned());
    }
    let usage = [
        value.get("usage"),
        value.get("x_groq").and_then(|groq| groq.get("usage")),
        first_choice(value).and_then(|choice| choice.get("usage")),
    ];
    if let Some(usage) = usage.into_iter().flatten().find(|usage| usage.is_object()) {
        answer.usage = Some(read_usage(usage));
    }
}

/// A server of one's own may name a model by its file; the folders would carry names of people and
/// machines into results.
fn without_folder(model: &str) -> &str {
    let windows = model.as_bytes().get(1..3) == Some(b":\\");
    match model.starts_with(['/', '~']) || windows {
        true => model.rsplit(['/', '\\']).next().unwrap_or(model),
        false => model,
    }
}

/// Counts that are given; what is not given stays unknown.
fn read_usage(usage: &Value) -> Usage {
    let count = |path: &[&str]| {
        let found = path.iter().try_fold(usage, |value, name| value.get(*name));
        found.and_then(whole_number)
    };
    Usage {
        input: count(&["prompt_tokens"]).or_else(|| count(&["input_tokens"])),
        output: count(&["completion_tokens"]).or_else(|| count(&["output_tokens"])),
        cached: count(&["prompt_tokens_details", "cached_tokens"])
            .or_else(|| count(&["prompt_cache_hit_tokens"])),
        reasoning: count(&["completion_tokens_details", "reasoning_tokens"])
            .or_else(|| count(&["reasoning_tokens"])),
    }
}

/// A count; some servers write it as text.
fn whole_number(value: &Value) -> Option<u64> {
    if let Some(text) = value.as_str() {
        return text.trim().parse().ok();
    }
    let float = || value.as_f64().filter(|n| n.is_finite() && *n >= 0.0);
    value
        .as_u64()
        .or_else(|| float().map(|number| number as u64))
}

/// Adds a choice to the answer; gives what to show.
pub fn read_choice(answer: &mut Answer, choice: &Value, form: Form) -> Vec<Delta> {
    let mut shown = Vec::new();
    let body = ["delta", "message"]
        .iter()
        .filter_map(|name| choice.get(*name))
        .find(|body| body.is_object());
    if let Some(body) = body {
        read_message(answer, body, form, &mut shown);
    } else if let Some(text) = choice.get("text").and_then(Value::as_str) {
        add_text(answer, text, &mut shown);
    }
    if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
        && !reason.is_empty()
    {
        answer.finish = Some(finish(reason));
    }
    shown
}

fn finish(reason: &str) -> Finish {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "end_turn" | "stop_sequence" | "eos_token" | "done" => Finish::Stop,
        "length"
        | "max_tokens"
        | "model_length"
        | "model_context_window_exceeded"
        | "max_output_tokens" => Finish::Length,
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => Finish::ToolCalls,
        "content_filter" | "sensitive" | "safety" | "refusal" => Finish::ContentFilter,
        _ => Finish::Other(reason.to_owned()),
    }
}

fn read_message(answer: &mut Answer, body: &Value, form: Form, shown: &mut Vec<Delta>) {
    // Two names are in use, and some servers fill both with the same text.
    let reasoning = ["reasoning_content", "reasoning", "thinking"]
        .iter()
        .find_map(|name| body.get(*name)?.as_str().filter(|text| !text.is_empty()));
    if let Some(text) = reasoning {
        add_reasoning(answer, text, shown);
    }
    read_content(answer, body.get("content"), shown);
    if let Some(text) = body.get("refusal").and_then(Value::as_str) {
        answer.refusal.push_str(text);
    }
    for entry in body
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        add_call(answer, Fragment::from_openai(entry), form, shown);
    }
    if let Some(entry) = body.get("function_call").filter(|entry| entry.is_object()) {
        add_call(answer, Fragment::from_openai(entry), form, shown);
    }
    keep_unknown(&mut answer.extra, body);
}

fn add_text(answer: &mut Answer, text: &str, shown: &mut Vec<Delta>) {
    if !text.is_empty() {
        answer.text.push_str(text);
        shown.push(Delta::Text(text.to_owned()));
    }
}

fn add_reasoning(answer: &mut Answer, text: &str, shown: &mut Vec<Delta>) {
    if !text.is_empty() {
        answer.reasoning.push_str(text);
        shown.push(Delta::Reasoning(text.to_owned()));
    }
}

fn add_call(answer: &mut Answer, piece: Fragment, form: Form, shown: &mut Vec<Delta>) {
    let name = (!piece.name.is_empty()).then(|| piece.name.clone());
    let arguments = piece.arguments.clone();
    let call = match form {
        Form::Whole => answer.calls.whole(piece),
        Form::Piece => answer.calls.fragment(piece),
    };
    shown.push(Delta::ToolCall {
        call,
        name,
        arguments,
    });
}

/// Text, or a list of parts of which some may be reasoning.
fn read_content(answer: &mut Answer, content: Option<&Value>, shown: &mut Vec<Delta>) {
    match content {
        Some(Value::String(text)) => add_text(answer, text, shown),
        Some(Value::Array(parts)) => {
            for part in parts {
                read_part(answer, part, shown);
            }
        }
        Some(part @ Value::Object(_)) => read_part(answer, part, shown),
        _ => {}
    }
}

fn read_part(answer: &mut Answer, part: &Value, shown: &mut Vec<Delta>) {
    let text = |value: &Value| value.get("text").and_then(Value::as_str).map(str::to_owned);
    match (part, part.get("type").and_then(Value::as_str)) {
        (Value::String(text), _) => add_text(answer, text, shown),
        (_, Some("thinking" | "reasoning")) => {
            let inner = part.get("thinking").or_else(|| part.get("reasoning"));
            let found = match inner {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Array(parts)) => Some(parts.iter().filter_map(text).collect()),
                _ => text(part),
            };
            add_reasoning(answer, &found.unwrap_or_default(), shown);
        }
        _ => add_text(answer, &text(part).unwrap_or_default(), shown),
    }
}

/// Fields that only describe the answer, or that are read above.
const KNOWN: [&str; 14] = [
    "role",
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning_content",
    "reasoning",
    "thinking",
    "annotations",
    "audio",
    "name",
    "prefix",
    "images",
    "padding",
];

/// State we do not understand goes back unchanged; lists grow with the stream.
fn keep_unknown(extra: &mut Map<String, Value>, body: &Value) {
    for (name, value) in body.as_object().into_iter().flatten() {
        if KNOWN.contains(&name.as_str()) || value.is_null() {
            continue;
        }
        match (extra.get_mut(name), value) {
            (Some(Value::Array(held)), Value::Array(more)) => held.extend(more.iter().cloned()),
            _ => {
                extra.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_without_the_folders_of_a_machine() {
        let table = [
            ("/home/ada/models/small.gguf", "small.gguf"),
            ("C:\\Users\\ada\\small.gguf", "small.gguf"),
            ("~/small.gguf", "small.gguf"),
            ("meta-llama/Llama-3.3-70B", "meta-llama/Llama-3.3-70B"),
            ("gpt-5", "gpt-5"),
        ];
        for (model, name) in table {
            assert_eq!(without_folder(model), name);
        }
    }
}
