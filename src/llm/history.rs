//! Keeps a history in a shape that every provider accepts: each tool call is followed at once by its
//! result, nothing empty is sent, ids have the form the provider wants.

use super::{Message, ToolCall};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

const NOT_CARRIED_OUT: &str = "The call was not carried out.";

/// Nine letters or digits made from `seed`: the strictest form of a call id (Mistral).
pub fn short_id(seed: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let digest = Sha256::digest(seed.as_bytes());
    let digits = digest.iter().take(9);
    digits
        .map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()]))
        .collect()
}

/// The history as it may be sent.
pub fn prepare(messages: &[Message]) -> Vec<Message> {
    let mut out = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::System { text } | Message::User { text } if text.trim().is_empty() => {}
            Message::Assistant {
                text,
                tool_calls,
                extra,
                ..
            } if text.trim().is_empty() && tool_calls.is_empty() && extra.is_empty() => {}
            // Results are placed behind their call; one without a call is dropped.
            Message::Tool { .. } => {}
            Message::Assistant { tool_calls, .. } => {
                out.push(message.clone());
                let results = tool_calls
                    .iter()
                    .map(|call| result_of(call, &messages[at + 1..]));
                out.extend(results);
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// The result that was given before the model's next turn, or a failure.
fn result_of(call: &ToolCall, later: &[Message]) -> Message {
    let before_next_turn = later
        .iter()
        .take_while(|message| !matches!(message, Message::Assistant { .. }));
    let found = before_next_turn
        .into_iter()
        .find(|message| matches!(message, Message::Tool { call_id, .. } if *call_id == call.id));
    found.cloned().unwrap_or_else(|| Message::Tool {
        call_id: call.id.clone(),
        name: call.name.clone(),
        text: NOT_CARRIED_OUT.to_owned(),
        is_error: true,
    })
}

/// Maps every call id to nine letters or digits, one to one; ids that fit stay.
pub fn with_short_ids(mut messages: Vec<Message>) -> Vec<Message> {
    let mut ids = ShortIds::keeping(&messages);
    for message in &mut messages {
        match message {
            Message::Assistant { tool_calls, .. } => {
                for call in tool_calls {
                    call.id = ids.of(&call.id);
                }
            }
            Message::Tool { call_id, .. } => *call_id = ids.of(call_id),
            _ => {}
        }
    }
    messages
}

#[derive(Default)]
struct ShortIds {
    map: HashMap<String, String>,
}

impl ShortIds {
    /// Fitting ids first, so that no made-up one can meet them.
    fn keeping(messages: &[Message]) -> Self {
        let calls = messages.iter().filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls),
            _ => None,
        });
        let ids = calls.flatten().map(|call| call.id.clone());
        let map = ids
            .filter(|id| fits(id))
            .map(|id| (id.clone(), id))
            .collect();
        Self { map }
    }

    fn of(&mut self, id: &str) -> String {
        if let Some(short) = self.map.get(id) {
            return short.clone();
        }
        let tries = (0..).map(|n| short_id(&format!("{n}/{id}")));
        let mut free = tries.filter(|short| !self.map.values().any(|taken| taken == short));
        let short = free.next().expect("62^9 ids cannot all be taken");
        self.map.insert(id.to_owned(), short.clone());
        short
    }
}

/// Whether an id has the form of [`short_id`].
pub(in crate::llm) fn fits(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Drops the oldest turn that is not a system message, a call together with its results, and never
/// the last user message or what follows it. False when nothing may go.
pub fn drop_oldest_turn(messages: &mut Vec<Message>) -> bool {
    let is_user = |message: &Message| matches!(message, Message::User { .. });
    let is_system = |message: &Message| matches!(message, Message::System { .. });
    let Some(last_user) = messages.iter().rposition(is_user) else {
        return false;
    };
    let Some(first) = messages[..last_user]
        .iter()
        .position(|message| !is_system(message))
    else {
        return false;
    };
    let results = messages[first + 1..last_user]
        .iter()
        .take_while(|message| matches!(message, Message::Tool { .. }));
    let end = first + 1 + results.count();
    messages.drain(first..end);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: "search".to_owned(),
            arguments: json!({}),
            extra: Map::new(),
        }
    }

    fn assistant(text: &str, ids: &[&str]) -> Message {
        Message::Assistant {
            text: text.to_owned(),
            reasoning: None,
            tool_calls: ids.iter().map(|id| call(id)).collect(),
            extra: Map::new(),
        }
    }

    fn tool(id: &str) -> Message {
        Message::Tool {
            call_id: id.to_owned(),
            name: "search".to_owned(),
            text: "found".to_owned(),
            is_error: false,
        }
    }

    fn user(text: &str) -> Message {
        Message::User {
            text: text.to_owned(),
        }
    }

    #[test]
    fn results_follow_their_calls_and_orphans_go() {
        let prepared = prepare(&[
            user("q"),
            tool("stray"),
            assistant("", &["t1", "t2"]),
            user("meanwhile"),
            tool("t2"),
            assistant("", &[]),
            user(" "),
            tool("t1"),
        ]);
        let failed = Message::Tool {
            call_id: "t1".to_owned(),
            name: "search".to_owned(),
            text: NOT_CARRIED_OUT.to_owned(),
            is_error: true,
        };
        let expected = [
            user("q"),
            assistant("", &["t1", "t2"]),
            failed,
            tool("t2"),
            user("meanwhile"),
        ];
        assert_eq!(prepared, expected);
    }

    #[test]
    fn ids_are_mapped_one_to_one() {
        let messages = with_short_ids(vec![
            assistant("", &["call_0f3b-1", "abcDEF123", "call_0f3b-2"]),
            tool("call_0f3b-2"),
            tool("call_0f3b-1"),
            tool("abcDEF123"),
        ]);
        let Message::Assistant { tool_calls, .. } = &messages[0] else {
            panic!("the first message is the assistant's");
        };
        let ids: Vec<&str> = tool_calls.iter().map(|call| call.id.as_str()).collect();
        assert!(ids.iter().all(|id| fits(id)), "{ids:?}");
        assert_eq!(ids[1], "abcDEF123");
        assert_ne!(ids[0], ids[2]);
        assert_eq!(messages[1..], [tool(ids[2]), tool(ids[0]), tool(ids[1])]);
    }

    #[test]
    fn trimming_takes_calls_with_their_results() {
        let system = Message::System {
            text: "s".to_owned(),
        };
        let mut messages = vec![
            system.clone(),
            user("a"),
            assistant("", &["t1"]),
            tool("t1"),
            user("b"),
            assistant("", &["t2"]),
            tool("t2"),
        ];
        assert!(drop_oldest_turn(&mut messages));
        assert!(drop_oldest_turn(&mut messages));
        let kept = [system, user("b"), assistant("", &["t2"]), tool("t2")];
        assert_eq!(messages, kept);
        assert!(!drop_oldest_turn(&mut messages));
    }
}
