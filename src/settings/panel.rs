//! The judges the visitor chose, as a panel.

use super::{Choice, Endpoint, Judge, Settings};
use crate::judge::panel::{JudgeModel, MOST_REPEATS, Panel};
use serde::{Deserialize, Serialize};

/// A judge beside the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoreJudge {
    pub endpoint: Endpoint,
    pub repeats: u32,
}

impl Default for MoreJudge {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::default(),
            repeats: 1,
        }
    }
}

impl Settings {
    /// Where the first judge's model answers; `None` for references and checks only.
    pub fn judge_endpoint(&self) -> Option<&Endpoint> {
        match self.judge {
            Judge::Programmatic => None,
            Judge::Same => match self.agent {
                Choice::Embedded => None,
                Choice::Endpoint => Some(&self.endpoint),
                Choice::ByHand => Some(&self.by_hand.0),
            },
            Judge::Other => Some(&self.judge_endpoint),
        }
    }

    /// Endpoint and repeats of every judge. Others count only beside a first one.
    pub fn judges(&self) -> Vec<(&Endpoint, u32)> {
        let Some(first) = self.judge_endpoint() else {
            return Vec::new();
        };
        let more = self
            .more_judges
            .iter()
            .map(|more| (&more.endpoint, more.repeats));
        std::iter::once((first, self.judge_repeats))
            .chain(more)
            .map(|(endpoint, repeats)| (endpoint, repeats.clamp(1, MOST_REPEATS)))
            .collect()
    }

    /// The panel of a run.
    pub fn panel(&self) -> Panel {
        let judge = |(endpoint, repeats): (&Endpoint, u32)| JudgeModel {
            model: endpoint.model.trim().to_owned(),
            base_url: endpoint.plain_url(),
            repeats,
            temperature: None,
            seed: Some(self.params.seed),
            max_output_tokens: self.params.max_output_tokens,
            wording: self.prompts.of_judges(),
        };
        Panel {
            judges: self.judges().into_iter().map(judge).collect(),
            shuffle_seed: self.params.seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(model: &str) -> Endpoint {
        Endpoint {
            preset: String::new(),
            base_url: "https://judges.example/v1/".into(),
            model: model.into(),
        }
    }

    #[test]
    fn the_panel_has_every_judge_with_its_repeats() {
        let settings = Settings {
            judge: Judge::Other,
            judge_endpoint: endpoint(" qwen-4b "),
            judge_repeats: 5,
            more_judges: vec![
                MoreJudge {
                    endpoint: endpoint("qwen-30b"),
                    repeats: 0,
                },
                MoreJudge {
                    endpoint: endpoint("deepseek"),
                    repeats: 999,
                },
            ],
            ..Settings::default()
        };
        let panel = settings.panel();
        let seats: Vec<_> = panel
            .judges
            .iter()
            .map(|j| (j.model.as_str(), j.repeats))
            .collect();
        assert_eq!(
            seats,
            [("qwen-4b", 5), ("qwen-30b", 1), ("deepseek", MOST_REPEATS)]
        );
        assert_eq!(panel.judges[0].base_url, "https://judges.example/v1");
        assert_eq!(panel.shuffle_seed, 42);
        assert_eq!(Settings::read(&settings.write()), settings);
    }

    #[test]
    fn without_a_first_judge_there_is_no_panel() {
        let settings = Settings {
            more_judges: vec![MoreJudge::default()],
            ..Settings::default()
        };
        assert_eq!(settings.panel().judges, []);
        assert_eq!(settings.blocked(), None);
    }

    #[test]
    fn a_judge_without_address_blocks_a_run() {
        let settings = Settings {
            judge: Judge::Other,
            judge_endpoint: endpoint("a"),
            more_judges: vec![MoreJudge::default()],
            ..Settings::default()
        };
        let why = settings.blocked().expect("blocked");
        assert!(
            why.starts_with("Judge 2: The endpoint has no address"),
            "{why}"
        );
    }
}
