//! Names of model calls within a run, so that an answered call is never paid twice: after a reload
//! the run starts over, and each call that was answered finds its reply under the same name.

use super::CallRole;
use crate::agent::trace::PromptRef;
use crate::llm::Chat;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Gives names out for one pass over a run. Equal requests of one pass get different names, by
/// their order, so that a repeat is really asked again.
#[derive(Debug)]
pub struct Names {
    run_id: String,
    seen: HashMap<String, u32>,
}

impl Names {
    pub fn new(run_id: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            seen: HashMap::new(),
        }
    }

    /// The name of the next such call. It depends on the run, the role, the prompt template, the
    /// whole request and how many equal ones came before.
    pub fn next(&mut self, role: CallRole, prompt: &PromptRef, chat: &Chat) -> String {
        let what = json!([role.journal_key(), prompt, chat]).to_string();
        let ordinal = self.seen.entry(what.clone()).or_default();
        *ordinal += 1;
        let digest = Sha256::digest(format!("{ordinal} {what}"));
        format!("{}{digest:x}", prefix(&self.run_id))
    }
}

/// What all names of a run begin with, and no name of another run.
pub fn prefix(run_id: &str) -> String {
    format!("{}:{run_id}/", run_id.len())
}

/// The run that a name belongs to.
pub fn run_of(name: &str) -> Option<&str> {
    let (length, rest) = name.split_once(':')?;
    let id = rest.get(..length.parse().ok()?)?;
    rest[id.len()..].starts_with('/').then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::Message;

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
            id: "p".to_owned(),
            sha256: sha256.to_owned(),
        }
    }

    fn pass(run: &str) -> Vec<String> {
        let mut names = Names::new(run);
        vec![
            names.next(CallRole::Agent, &prompt("1"), &chat("a")),
            names.next(CallRole::Agent, &prompt("1"), &chat("b")),
            names.next(CallRole::Agent, &prompt("2"), &chat("a")),
            names.next(CallRole::Grader(0), &prompt("1"), &chat("a")),
            names.next(CallRole::Grader(1), &prompt("1"), &chat("a")),
            names.next(
                CallRole::Agent,
                &prompt("1"),
                &Chat {
                    seed: Some(1),
                    ..chat("a")
                },
            ),
            names.next(CallRole::Agent, &prompt("1"), &chat("a")),
        ]
    }

    #[test]
    fn a_second_pass_finds_the_same_names() {
        assert_eq!(pass("r"), pass("r"));
    }

    #[test]
    fn different_calls_and_repeats_differ() {
        let mut names = pass("r");
        names.extend(pass("s"));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_name_tells_its_run() {
        for run in ["r", "r/1", "übung"] {
            assert_eq!(run_of(&pass(run)[0]), Some(run));
        }
        for name in ["", "r/ab", "9:r/ab", "x:r/ab", "1:rr/ab"] {
            assert_eq!(run_of(name), None, "{name}");
        }
    }

    #[test]
    fn one_run_does_not_own_the_names_of_another() {
        for (run, other) in [("r", "r/1"), ("r", "rr"), ("1", "11")] {
            let own = prefix(run);
            assert!(pass(run).iter().all(|name| name.starts_with(&own)), "{run}");
            assert!(
                !pass(other).iter().any(|name| name.starts_with(&own)),
                "{run} {other}"
            );
        }
    }
}
