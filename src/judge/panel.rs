//! The judges of a run: any number of models, each asked one or more times.

use crate::prompts::judge_hash;
use crate::words::numbered;
use serde::{Deserialize, Serialize};

/// Repeats of one judge at most: the paper's five, and room for studies of judges.
pub const MOST_REPEATS: u32 = 25;

/// One model as judge, and how much it judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeModel {
    /// Model name as sent.
    pub model: String,
    /// Where calls go; for the record, and to tell two judges of one name apart.
    pub base_url: String,
    /// How often it is asked about each output; at least once.
    pub repeats: u32,
    /// Sent only when set.
    pub temperature: Option<f64>,
    /// Of the first repeat; each further one sends the next number.
    pub seed: Option<u64>,
    /// Limit of the answer, in tokens.
    pub max_output_tokens: u32,
    /// The prompt in other words than the shipped ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wording: Option<String>,
}

impl JudgeModel {
    /// The model, and which prompt where it is not the shipped one: verdicts of different prompts
    /// never stand under one name.
    fn label(&self) -> String {
        match &self.wording {
            None => self.model.clone(),
            Some(text) => {
                let hash = judge_hash(Some(text));
                format!("{} · edited prompt {}", self.model, &hash[..8])
            }
        }
    }

    /// The label with the host.
    pub(super) fn label_with_host(&self) -> String {
        format!("{} at {}", self.label(), host(&self.base_url))
    }
}

/// All judges of a run; none at all leaves what no rule decides unscored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    pub judges: Vec<JudgeModel>,
    /// Of the orders in which criteria and answers are shown.
    pub shuffle_seed: u64,
}

impl Panel {
    /// One judge, asked once.
    pub fn of(judge: JudgeModel, shuffle_seed: u64) -> Self {
        Self {
            judges: vec![judge],
            shuffle_seed,
        }
    }

    /// Names of the judges, in order: the model's, with the prompt's hash where it was edited, with
    /// its host where two share one, with a number where host and model are the same.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for judge in &self.judges {
            let shared = self
                .judges
                .iter()
                .filter(|other| other.label() == judge.label());
            let name = match shared.count() {
                1 => judge.label(),
                _ => judge.label_with_host(),
            };
            names.push(numbered(name, &names));
        }
        names
    }

    /// Model calls for one output, at most.
    pub fn calls(&self) -> u32 {
        self.judges.iter().map(|judge| judge.repeats.max(1)).sum()
    }
}

fn host(base_url: &str) -> &str {
    let rest = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(model: &str, base_url: &str) -> JudgeModel {
        JudgeModel {
            model: model.to_owned(),
            base_url: base_url.to_owned(),
            repeats: 5,
            temperature: None,
            seed: None,
            max_output_tokens: 1000,
            wording: None,
        }
    }

    #[test]
    fn an_edited_prompt_stands_in_the_name() {
        let plain = judge("qwen", "https://a.example/v1");
        let edited = JudgeModel {
            wording: Some("Be strict.".to_owned()),
            ..plain.clone()
        };
        let panel = Panel {
            judges: vec![plain, edited],
            shuffle_seed: 0,
        };
        // Of sha256 of "Be strict.", by sha256sum.
        assert_eq!(panel.names(), ["qwen", "qwen · edited prompt 133b7883"]);
    }

    #[test]
    fn no_two_judges_share_a_name() {
        let panel = Panel {
            judges: vec![
                judge("qwen", "https://a.example/v1"),
                judge("qwen", "http://localhost:11434/v1"),
                judge("deepseek", "https://a.example/v1"),
                judge("qwen", "https://a.example/v1"),
            ],
            shuffle_seed: 0,
        };
        let names = [
            "qwen at a.example",
            "qwen at localhost:11434",
            "deepseek",
            "qwen at a.example (2)",
        ];
        assert_eq!(panel.names(), names);
        assert_eq!(panel.calls(), 20);
    }
}
