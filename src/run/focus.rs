//! What of one instance the reader looks at; a part of the view's address, so that any stage,
//! requirement or session can be linked.

use crate::agent::trace::StageId;
use crate::bench::ids::{RequirementId, SessionId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The zones of the instance view; on a narrow screen one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tab {
    /// The user's history as a timeline.
    History,
    /// Task, run bar and the stages of the run.
    #[default]
    Trace,
    /// Output and verdicts.
    Outcome,
    /// Systems side by side.
    Compare,
}

/// Zone, stage, requirement and session in focus.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Focus {
    pub tab: Tab,
    pub stage: Option<StageId>,
    /// Steps of the same stage before the one in focus.
    pub nth: u32,
    pub requirement: Option<RequirementId>,
    pub session: Option<SessionId>,
}

impl Focus {
    /// Moves to a step, which stands among the stages.
    pub fn step_to(&mut self, stage: StageId, nth: u32) {
        self.tab = Tab::Trace;
        self.stage = Some(stage);
        self.nth = nth;
    }

    /// Name and value of each part that is not the default, for the query of an address.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        if self.tab != Tab::default() {
            pairs.push(("tab", word(&self.tab)));
        }
        if let Some(stage) = &self.stage {
            pairs.push(("stage", word(stage)));
            if self.nth > 0 {
                pairs.push(("nth", (self.nth + 1).to_string()));
            }
        }
        if let Some(requirement) = &self.requirement {
            pairs.push(("requirement", requirement.0.clone()));
        }
        if let Some(session) = &self.session {
            pairs.push(("session", session.0.clone()));
        }
        pairs
    }

    /// Reads what [`Self::pairs`] wrote; other names and unknown values are passed over, because
    /// an old link should still open the instance.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut focus = Self::default();
        for (name, value) in pairs {
            match name {
                "tab" => focus.tab = from_word(value).unwrap_or_default(),
                "stage" => focus.stage = from_word(value),
                "nth" => focus.nth = value.parse::<u32>().unwrap_or(1).saturating_sub(1),
                "requirement" => focus.requirement = Some(value.into()),
                "session" => focus.session = Some(value.into()),
                _ => {}
            }
        }
        focus
    }
}

/// The serde name of a variant without data.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// The variant of a serde name.
pub(super) fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_short_and_come_back() {
        let focus = Focus {
            tab: Tab::Outcome,
            stage: Some(StageId::SalienceReranking),
            nth: 1,
            requirement: Some("r2".into()),
            session: Some("s0042".into()),
        };
        let pairs = focus.pairs();
        assert_eq!(
            pairs,
            [
                ("tab", "outcome".to_owned()),
                ("stage", "salience_reranking".to_owned()),
                ("nth", "2".to_owned()),
                ("requirement", "r2".to_owned()),
                ("session", "s0042".to_owned()),
            ]
        );
        let read = Focus::from_pairs(pairs.iter().map(|(k, v)| (*k, v.as_str())));
        assert_eq!(read, focus);
        assert!(Focus::default().pairs().is_empty());
    }

    #[test]
    fn unknown_words_are_passed_over() {
        let read = Focus::from_pairs([
            ("tab", "moon"),
            ("stage", "x"),
            ("nth", "-3"),
            ("colour", "red"),
        ]);
        assert_eq!(read, Focus::default());
    }
}
