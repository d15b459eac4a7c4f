//! The visitor's choices. Keys are held apart and never serialised.

pub mod panel;
pub mod params;
pub mod retriever;

use crate::llm::price::PriceTable;
use crate::prompts::Edits;
use crate::run::record::{ModelRef, Params};
use serde::{Deserialize, Serialize};

/// Everything a visitor can choose. Unknown fields of a later version are passed over, missing
/// ones are defaults, so that a new release never loses the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub agent: Choice,
    pub endpoint: Endpoint,
    pub by_hand: ByHand,
    pub judge: Judge,
    /// Where the judge's model answers, when [`Judge::Other`] is chosen.
    pub judge_endpoint: Endpoint,
    /// How often the judge is asked about each output.
    pub judge_repeats: u32,
    /// Judges beside it.
    pub more_judges: Vec<panel::MoreJudge>,
    pub params: Params,
    /// How passages are found.
    pub retriever: retriever::Retriever,
    /// What tokens cost; the visitor's to change.
    pub prices: PriceTable,
    /// US dollars that may be spent in all; none for no limit.
    pub cap_usd: Option<f64>,
    /// Name under which the visitor last changed a verdict.
    pub author: String,
    /// Prompt texts changed for the runs to come.
    pub prompts: Edits,
    pub theme: Theme,
    /// For a projector.
    pub large_type: bool,
}

/// Who does the agent's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The embedded baseline: rules, no language model, no network.
    #[default]
    Embedded,
    Endpoint,
    /// The visitor carries prompts to a model and its answers back.
    ByHand,
}

/// Stands for an address where answers come by hand.
pub const BY_HAND: &str = "by hand";

/// A model whose answers the visitor brings; its address is [`BY_HAND`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByHand(pub Endpoint);

impl ByHand {
    /// By the name the visitor gave the model.
    pub fn named(model: &str) -> Self {
        let model = match model.trim() {
            "" => "a model asked by hand",
            name => name,
        };
        Self(Endpoint {
            preset: String::new(),
            base_url: BY_HAND.to_owned(),
            model: model.to_owned(),
        })
    }
}

impl Default for ByHand {
    fn default() -> Self {
        Self::named("")
    }
}

/// An OpenAI-compatible address and a model behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    /// Id of the preset it came from; empty for an address typed by hand.
    pub preset: String,
    pub base_url: String,
    pub model: String,
}

impl Endpoint {
    /// What is missing before a call can be made, in a sentence.
    pub fn missing(&self) -> Option<&'static str> {
        if self.base_url.trim().is_empty() {
            Some("The endpoint has no address yet.")
        } else if self.model.trim().is_empty() {
            Some("No model is named yet.")
        } else {
            None
        }
    }

    /// The address as requests and results have it.
    pub fn plain_url(&self) -> String {
        self.base_url.trim().trim_end_matches('/').to_owned()
    }

    /// The model behind the address, as results name it.
    pub fn model_ref(&self) -> ModelRef {
        ModelRef::Endpoint {
            base_url: self.plain_url(),
            model: self.model.trim().to_owned(),
        }
    }
}

/// Who decides what neither a reference nor a check decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judge {
    /// References and checks only; the rest stays unscored.
    #[default]
    Programmatic,
    /// The agent's endpoint and model.
    Same,
    /// An endpoint of its own.
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    /// As the device is set.
    #[default]
    System,
    Light,
    Dark,
}

impl Settings {
    /// Reads kept settings; unreadable ones are as good as none.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// For keeping.
    pub fn write(&self) -> String {
        serde_json::to_string(self).expect("settings have only string keys")
    }

    /// The model that does the agent's work.
    pub fn agent_ref(&self) -> ModelRef {
        match self.agent {
            Choice::Embedded => ModelRef::Embedded,
            Choice::Endpoint => self.endpoint.model_ref(),
            Choice::ByHand => self.by_hand.0.model_ref(),
        }
    }

    /// Why a run cannot start, in a sentence with the next step.
    pub fn blocked(&self) -> Option<String> {
        let agent = (self.agent == Choice::Endpoint)
            .then(|| self.endpoint.missing())
            .flatten();
        let judges = || {
            let mut numbered = self.judges().into_iter().enumerate();
            numbered.find_map(|(n, (endpoint, _))| {
                let what = endpoint.missing()?;
                let who = match n {
                    0 => "The judge: ".to_owned(),
                    n => format!("Judge {}: ", n + 1),
                };
                Some((who, what))
            })
        };
        if let Some((who, what)) = agent.map(|what| (String::new(), what)).or_else(judges) {
            return Some(format!(
                "{who}{what} Open Settings to complete it, or choose the embedded baseline."
            ));
        }
        let missing = self.retriever.missing()?;
        Some(format!(
            "{missing} Open Settings to complete it, or choose the shipped embedding model."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_hold_no_key() {
        let settings = Settings {
            agent: Choice::Endpoint,
            endpoint: Endpoint {
                preset: "deepseek".into(),
                base_url: "https://api.deepseek.com".into(),
                model: "chat".into(),
            },
            theme: Theme::Dark,
            ..Settings::default()
        };
        assert_eq!(Settings::read(&settings.write()), settings);
        assert!(!settings.write().contains("key"));
    }

    #[test]
    fn other_versions_and_rubbish_give_the_rest() {
        let read = Settings::read(r#"{"theme":"light","new_in_v9":1,"params":{"top_k":7}}"#);
        assert_eq!(
            (read.theme, read.params.top_k, read.params.max_passages),
            (Theme::Light, 7, 10)
        );
        assert_eq!(Settings::read("rubbish"), Settings::default());
    }

    #[test]
    fn a_run_is_blocked_until_the_endpoint_is_whole() {
        let mut settings = Settings::default();
        assert_eq!(settings.blocked(), None);
        settings.agent = Choice::Endpoint;
        assert!(
            settings
                .blocked()
                .is_some_and(|text| text.contains("no address"))
        );
        settings.endpoint.base_url = "http://localhost:11434/v1/".into();
        assert!(
            settings
                .blocked()
                .is_some_and(|text| text.contains("No model"))
        );
        settings.endpoint.model = "small".into();
        settings.judge = Judge::Other;
        assert!(
            settings
                .blocked()
                .is_some_and(|text| text.starts_with("The judge"))
        );
        settings.judge = Judge::Same;
        assert_eq!(settings.blocked(), None);
        assert_eq!(settings.agent_ref().label(), "small");
    }

    #[test]
    fn answers_by_hand_need_no_address_and_name_their_model() {
        let mut settings = Settings {
            agent: Choice::ByHand,
            judge: Judge::Same,
            ..Settings::default()
        };
        assert_eq!(settings.blocked(), None);
        assert_eq!(settings.agent_ref().label(), "a model asked by hand");
        settings.by_hand = ByHand::named(" some chat app ");
        let judge = settings.judge_endpoint().expect("the same model judges");
        assert_eq!(
            (judge.base_url.as_str(), judge.model.as_str()),
            (BY_HAND, "some chat app")
        );
        assert_eq!(Settings::read(&settings.write()), settings);
    }

    #[test]
    fn the_embedded_baseline_has_no_model_to_judge_with() {
        let settings = Settings {
            judge: Judge::Same,
            ..Settings::default()
        };
        assert_eq!(settings.judge_endpoint(), None);
    }
}
