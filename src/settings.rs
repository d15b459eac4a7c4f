//! The visitor's choices. Keys are held apart and never serialised.

use crate::run::record::{ModelRef, Params};
use serde::{Deserialize, Serialize};

/// Everything a visitor can choose. Unknown fields of a later version are passed over, missing
/// ones are defaults, so that a new release never loses the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub agent: Choice,
    pub endpoint: Endpoint,
    pub judge: Judge,
    /// Where the judge's model answers, when [`Judge::Other`] is chosen.
    pub judge_endpoint: Endpoint,
    pub params: Params,
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

    /// The model behind the address, as results name it.
    pub fn model_ref(&self) -> ModelRef {
        ModelRef::Endpoint {
            base_url: self.base_url.trim().trim_end_matches('/').to_owned(),
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
        }
    }

    /// Where the judge's model answers; `None` for references and checks only.
    pub fn judge_endpoint(&self) -> Option<&Endpoint> {
        match self.judge {
            Judge::Programmatic => None,
            Judge::Same => (self.agent == Choice::Endpoint).then_some(&self.endpoint),
            Judge::Other => Some(&self.judge_endpoint),
        }
    }

    /// Why a run cannot start, in a sentence with the next step.
    pub fn blocked(&self) -> Option<String> {
        let agent = (self.agent == Choice::Endpoint)
            .then(|| self.endpoint.missing())
            .flatten();
        let judge = || self.judge_endpoint()?.missing();
        let (who, what) = agent
            .map(|what| ("", what))
            .or_else(|| judge().map(|what| ("The judge: ", what)))?;
        Some(format!(
            "{who}{what} Open Settings to complete it, or choose the embedded baseline."
        ))
    }
}

/// A parameter as the settings view shows it.
pub struct ParamInfo {
    /// The field of [`Params`].
    pub name: &'static str,
    pub label: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    pub min: f64,
    pub max: f64,
    pub step: f64,
    /// Whether it may be left empty.
    pub optional: bool,
}

const fn param(
    name: &'static str,
    label: &'static str,
    about: &'static str,
    [min, max, step]: [f64; 3],
) -> ParamInfo {
    ParamInfo {
        name,
        label,
        about,
        min,
        max,
        step,
        optional: false,
    }
}

/// Every parameter, in the order of the pipeline.
pub const PARAMS: &[ParamInfo] = &[
    param(
        "max_queries",
        "Expanded queries",
        "Facet queries made from the task; the task itself is always searched as well.",
        [0.0, 5.0, 1.0],
    ),
    param(
        "top_k",
        "Passages for each query",
        "How many passages of the history each query brings back.",
        [1.0, 50.0, 1.0],
    ),
    param(
        "near_duplicate",
        "Near-duplicate threshold",
        "Passages whose vectors are at least this similar (cosine) count as one.",
        [0.5, 1.0, 0.01],
    ),
    param(
        "min_salience",
        "Least salience",
        "Passages scored lower (0 to 10) are dropped when the rest is re-ranked.",
        [0.0, 10.0, 0.5],
    ),
    param(
        "max_passages",
        "Passages kept at most",
        "How many passages go on to compaction after re-ranking.",
        [1.0, 50.0, 1.0],
    ),
    param(
        "chunk_tokens",
        "Tokens of a passage",
        "Histories are cut into passages of this length. Other values than the published one are embedded here first, which takes minutes.",
        [32.0, 512.0, 1.0],
    ),
    param(
        "chunk_overlap",
        "Overlap of passages",
        "Tokens that neighbouring passages share.",
        [0.0, 256.0, 1.0],
    ),
    param(
        "max_output_tokens",
        "Longest answer",
        "Limit of each model answer, in tokens.",
        [64.0, 32000.0, 1.0],
    ),
    ParamInfo {
        optional: true,
        ..param(
            "temperature",
            "Temperature",
            "Not stated in the paper; sent only when set, so empty means the provider's default.",
            [0.0, 2.0, 0.1],
        )
    },
    param(
        "seed",
        "Seed",
        "Sent to providers that take one.",
        [0.0, 4_294_967_295.0, 1.0],
    ),
];

/// Value of a parameter; `None` when it is left empty.
pub fn param_value(params: &Params, name: &str) -> Option<f64> {
    serde_json::to_value(params).ok()?.get(name)?.as_f64()
}

/// The parameters with one changed. The error says in a sentence why the value does not fit, and
/// the parameters stay as they were.
pub fn with_param(params: &Params, info: &ParamInfo, typed: &str) -> Result<Params, String> {
    let typed = typed.trim();
    let value = match typed.parse::<f64>() {
        Ok(number) if number >= info.min && number <= info.max => number,
        _ if typed.is_empty() && info.optional => {
            return set(params, info, serde_json::Value::Null);
        }
        _ => return Err(range(info)),
    };
    let whole = info.step >= 1.0;
    if whole && value.fract() != 0.0 {
        return Err(format!("{} takes a whole number.", info.label));
    }
    set(
        params,
        info,
        if whole {
            (value as u64).into()
        } else {
            value.into()
        },
    )
}

fn range(info: &ParamInfo) -> String {
    let empty = if info.optional { ", or nothing" } else { "" };
    format!(
        "{} takes a number from {} to {}{empty}.",
        info.label, info.min, info.max
    )
}

fn set(params: &Params, info: &ParamInfo, value: serde_json::Value) -> Result<Params, String> {
    let mut object = serde_json::to_value(params).expect("parameters are plain numbers");
    object[info.name] = value;
    let changed: Params = serde_json::from_value(object).map_err(|_| range(info))?;
    if changed.chunk_overlap >= changed.chunk_tokens {
        return Err("The overlap must be shorter than the passage.".to_owned());
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str) -> &'static ParamInfo {
        PARAMS
            .iter()
            .find(|info| info.name == name)
            .expect("a parameter of that name")
    }

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
    fn the_embedded_baseline_has_no_model_to_judge_with() {
        let settings = Settings {
            judge: Judge::Same,
            ..Settings::default()
        };
        assert_eq!(settings.judge_endpoint(), None);
    }

    #[test]
    fn every_parameter_is_shown_and_its_default_fits() {
        let fields = serde_json::to_value(Params::default()).expect("plain numbers");
        let names: Vec<&str> = PARAMS.iter().map(|info| info.name).collect();
        for field in fields.as_object().expect("an object").keys() {
            assert!(names.contains(&field.as_str()), "{field} is missing");
        }
        for info in PARAMS {
            let typed =
                param_value(&Params::default(), info.name).map_or(String::new(), |v| v.to_string());
            assert_eq!(
                with_param(&Params::default(), info, &typed),
                Ok(Params::default()),
                "{}",
                info.name
            );
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused_in_a_sentence() {
        let table = [
            ("top_k", "0", "from 1 to 50"),
            ("top_k", "2.5", "whole number"),
            ("top_k", "many", "from 1 to 50"),
            ("min_salience", "", "from 0 to 10"),
            ("temperature", "9", "or nothing"),
            ("chunk_overlap", "256", "shorter than the passage"),
        ];
        for (name, typed, says) in table {
            let error = with_param(&Params::default(), info(name), typed).expect_err(name);
            assert!(error.contains(says), "{error}");
        }
        let set = with_param(&Params::default(), info("temperature"), "0.7").expect("fits");
        assert_eq!(set.temperature, Some(0.7));
        assert_eq!(
            with_param(&set, info("temperature"), " ")
                .expect("fits")
                .temperature,
            None
        );
    }
}
