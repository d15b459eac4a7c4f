//! Tool calls put together from their fragments. Servers differ in what they repeat: the index, the
//! id, the name, all or none of them. A call is executed only when its arguments are whole.

use super::history::short_id;
use super::{LlmError, ToolCall};
use serde_json::{Map, Value};

/// What one delta says about one call.
#[derive(Clone, Debug, Default)]
pub struct Fragment {
    pub index: Option<u64>,
    /// Empty when not given.
    pub id: String,
    /// Empty when not given.
    pub name: String,
    /// JSON text or a piece of it.
    pub arguments: String,
    /// Unknown fields, to go back unchanged.
    pub extra: Map<String, Value>,
}

impl Fragment {
    /// From an entry of OpenAI's `tool_calls`.
    pub fn from_openai(entry: &Value) -> Self {
        let function = entry.get("function").unwrap_or(entry);
        Self {
            index: entry.get("index").and_then(whole),
            id: word(entry.get("id")),
            name: word(function.get("name")),
            arguments: arguments(function.get("arguments")),
            extra: unknown_fields(entry),
        }
    }
}

/// An index; some servers write it as text.
fn whole(value: &Value) -> Option<u64> {
    let text = || value.as_str()?.trim().parse().ok();
    value.as_u64().or_else(text)
}

fn word(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Some servers send the object itself instead of its text.
fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn unknown_fields(entry: &Value) -> Map<String, Value> {
    const KNOWN: [&str; 7] = [
        "index",
        "id",
        "type",
        "function",
        "name",
        "arguments",
        "custom",
    ];
    let mut extra = without(entry, &KNOWN);
    let inner = entry
        .get("function")
        .map(|f| without(f, &["name", "arguments"]));
    if let Some(inner) = inner.filter(|inner| !inner.is_empty()) {
        extra.insert("function".to_owned(), Value::Object(inner));
    }
    extra
}

fn without(value: &Value, names: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    let kept = fields.filter(|(name, value)| !names.contains(&name.as_str()) && !value.is_null());
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The calls so far, by first appearance.
#[derive(Debug, Default)]
pub struct Calls {
    list: Vec<Fragment>,
}

impl Calls {
    /// Adds a call that came in one piece.
    pub fn whole(&mut self, call: Fragment) -> usize {
        self.list.push(call);
        self.list.len() - 1
    }

    /// Adds to the arguments of a call whose place is known.
    pub fn extend_arguments(&mut self, call: usize, more: &str) {
        if let Some(call) = self.list.get_mut(call) {
            call.arguments.push_str(more);
        }
    }

    /// Adds a piece to the call it belongs to, or opens a new one; gives the call's place.
    pub fn fragment(&mut self, piece: Fragment) -> usize {
        let Some(at) = self.owner(&piece) else {
            return self.whole(piece);
        };
        self.list[at].absorb(piece);
        at
    }

    fn owner(&self, piece: &Fragment) -> Option<usize> {
        let held = piece
            .index
            .and_then(|index| self.latest(|call| call.index == Some(index)));
        if !piece.id.is_empty() {
            // One id at two indices, with a name: two calls whose server numbers them alike.
            let apart = |call: &Fragment| {
                matches!((call.index, piece.index), (Some(own), Some(new)) if own != new)
                    && !piece.name.is_empty()
            };
            let same = self.latest(|call| call.id == piece.id && !apart(call));
            // An id may come after the name; the call it completes has none yet.
            return same.or(held.filter(|at| self.list[*at].id.is_empty()));
        }
        if piece.index.is_some() {
            return held.filter(|at| !self.list[*at].is_followed_by(piece));
        }
        // Neither id nor index: a name opens a call, bare arguments belong to the last one.
        let last = self.list.len().checked_sub(1);
        last.filter(|_| piece.name.is_empty())
    }

    fn latest(&self, wanted: impl Fn(&Fragment) -> bool) -> Option<usize> {
        self.list.iter().rposition(wanted)
    }

    /// The calls, if every one is whole. `cut` says that the output limit ended the answer; `seed`
    /// makes ids for calls without one.
    pub fn finish(self, cut: bool, seed: &str) -> Result<Vec<ToolCall>, LlmError> {
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.list.len());
        for (at, call) in self.list.into_iter().enumerate() {
            // Where calls interleave, a cut may have taken the arguments of any of them.
            let mut call = call.into_call(cut)?;
            let taken = calls.iter().any(|other| other.id == call.id);
            if call.id.is_empty() || taken {
                call.id = short_id(&format!("{seed}/{at}/{}/{}", call.name, call.arguments));
            }
            calls.push(call);
        }
        Ok(calls)
    }
}

impl Fragment {
    fn absorb(&mut self, piece: Fragment) {
        self.index = self.index.or(piece.index);
        if self.id.is_empty() {
            self.id = piece.id;
        }
        // Some servers repeat the whole name, some send it in pieces.
        if self.name != piece.name {
            self.name.push_str(&piece.name);
        }
        self.arguments.push_str(&piece.arguments);
        self.extra.extend(piece.extra);
    }

    /// Same index, no id, but a new name and new arguments after whole ones: the next call.
    fn is_followed_by(&self, piece: &Fragment) -> bool {
        let starts_anew = piece.arguments.trim_start().starts_with('{');
        let whole = serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok();
        !piece.name.is_empty() && starts_anew && whole
    }

    fn into_call(self, cut: bool) -> Result<ToolCall, LlmError> {
        let arguments = self.arguments()?;
        if cut && self.arguments.trim().is_empty() {
            return Err(self.cut_off());
        }
        if self.name.trim().is_empty() {
            return Err(self.broken("the call names no tool"));
        }
        Ok(ToolCall {
            id: self.id,
            name: self.name.trim().to_owned(),
            arguments: Value::Object(arguments),
            extra: self.extra,
        })
    }

    fn arguments(&self) -> Result<Map<String, Value>, LlmError> {
        let text = self.arguments.trim();
        if text.is_empty() || text == "null" {
            return Ok(Map::new());
        }
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) if error.is_eof() => return Err(self.cut_off()),
            Err(error) => return Err(self.broken(&error.to_string())),
        };
        match value {
            Value::Object(fields) => Ok(fields),
            // Encoded twice.
            Value::String(inner) if inner.trim().is_empty() => Ok(Map::new()),
            Value::String(inner) => serde_json::from_str(&inner)
                .map_err(|_| self.broken("the arguments are text, not an object")),
            _ => Err(self.broken("the arguments are not an object")),
        }
    }

    fn cut_off(&self) -> LlmError {
        LlmError::OutputLimit {
            what: format!(
                "the arguments of the call of {:?} end in the middle",
                self.name
            ),
            partial: self.arguments.clone(),
        }
    }

    fn broken(&self, why: &str) -> LlmError {
        LlmError::BrokenToolCall {
            tool: format!("{:?}", self.name),
            why: why.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Feeds deltas of `tool_calls` entries; gives `id name arguments` of each call.
    fn assembled(entries: &[Value]) -> Vec<String> {
        let mut calls = Calls::default();
        for entry in entries {
            calls.fragment(Fragment::from_openai(entry));
        }
        let calls = calls.finish(false, "seed").expect("whole calls");
        let show = |call: &ToolCall| format!("{} {} {}", call.id, call.name, call.arguments);
        calls.iter().map(show).collect()
    }

    fn check(entries: &[Value], expected: &[&str]) {
        assert_eq!(assembled(entries), expected);
    }

    #[test]
    fn bare_arguments_extend_the_last_call() {
        check(
            &[
                json!({"id": "a", "function": {"name": "f", "arguments": ""}}),
                json!({"function": {"arguments": "{\"x\":"}}),
                json!({"function": {"arguments": "1}"}}),
                json!({"id": "b", "function": {"name": "g", "arguments": "{}"}}),
            ],
            &["a f {\"x\":1}", "b g {}"],
        );
    }

    #[test]
    fn a_name_opens_a_call_where_neither_index_nor_id_is_given() {
        let calls = assembled(&[
            json!({"function": {"name": "f", "arguments": "{\"x\":1}"}}),
            json!({"function": {"name": "f", "arguments": "{\"x\":2}"}}),
        ]);
        assert_eq!(calls.len(), 2);
        assert!(calls[0].ends_with("f {\"x\":1}") && calls[1].ends_with("f {\"x\":2}"));
        assert_ne!(calls[0].split(' ').next(), calls[1].split(' ').next());
    }

    #[test]
    fn the_same_index_without_ids_can_hold_two_calls() {
        let calls = assembled(&[
            json!({"index": 0, "function": {"name": "f", "arguments": "{\"x\":1}"}}),
            json!({"index": 0, "function": {"name": "g", "arguments": "{\"x\":2}"}}),
        ]);
        assert_eq!(calls.len(), 2);
    }

    #[test]
    fn repeated_ids_and_names_continue() {
        check(
            &[
                json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\""}}),
                json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": ":1}"}}),
            ],
            &["a f {\"x\":1}"],
        );
    }

    #[test]
    fn a_late_id_completes_its_call() {
        check(
            &[
                json!({"index": 0, "function": {"name": "f"}}),
                json!({"index": 0, "id": "a", "function": {"arguments": "{}"}}),
            ],
            &["a f {}"],
        );
    }

    #[test]
    fn arguments_come_as_objects_or_encoded_twice() {
        check(
            &[json!({"id": "a", "function": {"name": "f", "arguments": {"x": 1}}})],
            &["a f {\"x\":1}"],
        );
        check(
            &[json!({"id": "a", "function": {"name": "f", "arguments": "\"{\\\"x\\\":1}\""}})],
            &["a f {\"x\":1}"],
        );
    }

    #[test]
    fn broken_arguments_are_never_a_call() {
        let cases = [
            ("{\"x\":", "output_limit"),
            ("{\"x\": 1", "output_limit"),
            ("{\"x\": 'a'}", "broken_tool_call"),
            ("{}{}", "broken_tool_call"),
            ("[1]", "broken_tool_call"),
            ("7", "broken_tool_call"),
            ("\"text\"", "broken_tool_call"),
        ];
        for (arguments, kind) in cases {
            let mut calls = Calls::default();
            let entry = json!({"id": "a", "function": {"name": "f", "arguments": arguments}});
            calls.fragment(Fragment::from_openai(&entry));
            let error = calls.finish(false, "").expect_err(arguments);
            assert_eq!(error.kind(), kind, "{arguments}");
        }
    }

    #[test]
    fn a_call_cut_before_its_arguments_is_not_one_without_arguments() {
        let mut calls = Calls::default();
        calls.fragment(Fragment::from_openai(
            &json!({"id": "a", "function": {"name": "f"}}),
        ));
        let error = calls.finish(true, "").expect_err("cut");
        assert_eq!(error.kind(), "output_limit");
    }
}
