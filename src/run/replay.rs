//! Drives the pipeline with the calls of an earlier run: no network, no cost. A call that the
//! pipeline makes now and the recording does not hold is a miss, and says what has changed.

use super::{CallRole, StepError};
use crate::agent::trace::{CallRecord, PromptRef};
use crate::llm::{Chat, Message};

/// The recorded calls, each played once, in the order in which equal ones were made.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    calls: Vec<Option<CallRecord>>,
}

impl Tape {
    pub fn new(calls: impl IntoIterator<Item = CallRecord>) -> Self {
        Self {
            calls: calls.into_iter().map(Some).collect(),
        }
    }

    /// All calls of a record, the agent's first.
    pub fn of(record: &super::record::RunRecord) -> Self {
        let agent = record.stages.iter().flat_map(|stage| &stage.calls);
        let judge = record.judgements.iter().flat_map(|judged| &judged.calls);
        Self::new(agent.chain(judge).cloned())
    }

    /// Whether anything is on it.
    pub fn is_empty(&self) -> bool {
        self.calls.iter().all(Option::is_none)
    }

    /// The recorded answer to a call. What counts is what the model saw: messages, tools and the
    /// wanted form; name and settings of the model may differ.
    pub fn play(
        &mut self,
        role: CallRole,
        chat: &Chat,
        prompt: &PromptRef,
    ) -> Result<CallRecord, StepError> {
        let same = |call: &CallRecord| {
            call.role == role.as_str()
                && call.request.messages == chat.messages
                && call.request.tools == chat.tools
        };
        let found = self
            .calls
            .iter_mut()
            .find(|call| call.as_ref().is_some_and(same));
        match found.and_then(Option::take) {
            Some(call) => Ok(CallRecord {
                from_journal: true,
                ..call
            }),
            None => Err(StepError::Model(self.miss(role, chat, prompt))),
        }
    }

    /// Why nothing fits, against the recorded call that comes nearest.
    fn miss(&self, role: CallRole, chat: &Chat, prompt: &PromptRef) -> String {
        let id = &prompt.id;
        let left = self.calls.iter().flatten();
        let mut same_prompt =
            left.filter(|call| call.role == role.as_str() && call.prompt.id == *id);
        let Some(call) = same_prompt.next() else {
            return format!(
                "replay: the recording has no further call of the prompt {id:?}, so the run ends here"
            );
        };
        if call.prompt.sha256 != prompt.sha256 {
            return format!(
                "replay: the prompt {id:?} has changed since the recording ({} then, {} now), so \
                 its answer does not count",
                short(&call.prompt.sha256),
                short(&prompt.sha256)
            );
        }
        let difference = difference(&call.request.messages, &chat.messages);
        format!("replay: the prompt {id:?} was filled otherwise in the recording: {difference}")
    }
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// Where two histories first differ, with a few words of each.
fn difference(then: &[Message], now: &[Message]) -> String {
    if then.len() != now.len() {
        return format!("{} messages then, {} now", then.len(), now.len());
    }
    let differ = |(then, now): &(&Message, &Message)| then != now;
    let Some((then, now)) = then.iter().zip(now).find(differ) else {
        return "the tools on offer differ".to_owned();
    };
    let (then, now) = (text(then), text(now));
    let same = then.chars().zip(now.chars()).take_while(|(a, b)| a == b);
    let at = same.count();
    let words = |text: &str| -> String { text.chars().skip(at).take(40).collect() };
    format!("“{}” then, “{}” now", words(then), words(now))
}

fn text(message: &Message) -> &str {
    match message {
        Message::System { text }
        | Message::User { text }
        | Message::Assistant { text, .. }
        | Message::Tool { text, .. } => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::Reply;

    fn chat(text: &str) -> Chat {
        Chat {
            model: "m".to_owned(),
            messages: vec![Message::User {
                text: text.to_owned(),
            }],
            ..Chat::default()
        }
    }

    fn prompt(sha256: &str) -> PromptRef {
        PromptRef {
            id: "query_expansion".to_owned(),
            sha256: sha256.to_owned(),
        }
    }

    fn call(asked: &str, answer: &str) -> CallRecord {
        CallRecord {
            role: "agent".to_owned(),
            base_url: "https://llm.example".to_owned(),
            request: chat(asked),
            reply: Reply {
                text: answer.to_owned(),
                ..Reply::default()
            },
            prompt: prompt("aaaaaaaaaa"),
            started_ms: 0.0,
            duration_ms: 1.0,
            from_journal: false,
            retries: 0,
            sent: serde_json::Map::new(),
        }
    }

    fn tape() -> Tape {
        Tape::new([call("a", "1"), call("a", "2"), call("Find the cat", "3")])
    }

    #[test]
    fn equal_calls_are_played_in_their_order_and_once() {
        let mut tape = tape();
        let other_model = Chat {
            model: "another".to_owned(),
            temperature: Some(1.0),
            ..chat("a")
        };
        let mut play = || tape.play(CallRole::Agent, &other_model, &prompt("aaaaaaaaaa"));
        let first = play().expect("recorded");
        assert_eq!((first.reply.text.as_str(), first.from_journal), ("1", true));
        assert_eq!(play().expect("recorded").reply.text, "2");
        assert!(play().is_err());
    }

    #[test]
    fn a_miss_says_what_has_changed() {
        let cases = [
            (
                CallRole::Agent,
                "Find the dog",
                "aaaaaaaaaa",
                "“cat” then, “dog” now",
            ),
            (
                CallRole::Agent,
                "a",
                "bbbbbbbbbb",
                "aaaaaaaa then, bbbbbbbb now",
            ),
            (CallRole::Grader(0), "a", "aaaaaaaaaa", "no further call"),
        ];
        for (role, text, hash, says) in cases {
            let mut tape = Tape::new([call("Find the cat", "3")]);
            let error = tape.play(role, &chat(text), &prompt(hash)).expect_err(text);
            assert!(error.to_string().contains(says), "{error}");
            assert!(!tape.is_empty(), "a miss uses nothing up");
        }
    }
}
