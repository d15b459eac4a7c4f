//! What tokens cost. List prices in US dollars for a million tokens, each with the day it was
//! written down; the visitor edits them. A price that is not known stays unknown, never 0.

use super::Usage;
use super::address::{Address, Place};
use serde::{Deserialize, Serialize};

/// Tokens that a price is stated for.
const PER: f64 = 1_000_000.0;

/// The price of one model, or of all whose names begin alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// Host of the endpoint, for example `api.openai.com`; empty for any.
    pub host: String,
    /// Name of the model; with a `*` at its end, all names that begin so.
    pub model: String,
    /// US dollars for a million tokens of the prompt; absent until it is filled in.
    pub input: Option<f64>,
    /// The same for the answer, reasoning included.
    pub output: Option<f64>,
    /// The same for tokens of the prompt that came from the provider's cache; as `input` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// When the price was written down: `2025-10-15`.
    pub as_of: String,
}

impl Price {
    /// Nothing is charged for a token, as by a server of one's own.
    pub fn is_free(&self) -> bool {
        self.input == Some(0.0) && self.output == Some(0.0)
    }

    /// US dollars for a call; `None` when a count that matters is unknown.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (usage.input?, usage.output?);
        let cached = usage.cached.unwrap_or(0).min(input);
        let (input_price, output_price) = (self.input?, self.output?);
        let cached_price = self.cached.unwrap_or(input_price);
        let dollars = (input - cached) as f64 * input_price
            + cached as f64 * cached_price
            + output as f64 * output_price;
        Some(dollars / PER)
    }

    /// How exactly the row names this model at this host; `None` when it does not.
    fn fit(&self, host: &str, model: &str) -> Option<(usize, bool)> {
        if !self.host.is_empty() && !self.host.eq_ignore_ascii_case(host) {
            return None;
        }
        let named = match self.model.strip_suffix('*') {
            Some(start) => model.starts_with(start).then_some(start.len()),
            None => (self.model == model).then_some(usize::MAX),
        }?;
        Some((named, !self.host.is_empty()))
    }
}

/// Prices the visitor may change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceTable {
    pub rows: Vec<Price>,
}

impl Default for PriceTable {
    fn default() -> Self {
        let row = |(host, model, input, output, cached): &Listed| Price {
            host: (*host).to_owned(),
            model: (*model).to_owned(),
            input: Some(*input),
            output: Some(*output),
            cached: (*cached > 0.0).then_some(*cached),
            as_of: LISTED_ON.to_owned(),
        };
        Self {
            rows: LIST.iter().map(row).collect(),
        }
    }
}

impl PriceTable {
    /// The price of a model behind an address. A server on this machine or in its network costs
    /// nothing for a token unless a row says otherwise.
    pub fn price(&self, base_url: &str, model: &str) -> Option<Price> {
        let address = Address::parse(base_url).ok()?;
        let model = model.trim();
        let fits = |row: &Price| row.fit(&address.host, model);
        let best = self.rows.iter().filter(|row| fits(row).is_some());
        let best = best.max_by_key(|row| fits(row)).cloned();
        let local = address.place() != Place::Public;
        best.or_else(|| {
            local.then(|| Price {
                host: address.host.clone(),
                model: model.to_owned(),
                input: Some(0.0),
                output: Some(0.0),
                ..Price::default()
            })
        })
    }

    /// The most that a call can cost, in US dollars: a request of that many bytes, at two bytes to a
    /// token, which is half of what English and less than what Chinese takes, and an answer that
    /// fills its limit.
    pub fn most(&self, base_url: &str, model: &str, bytes: usize, limit: u32) -> Option<f64> {
        let price = self.price(base_url, model)?;
        let prompt = bytes as f64 / 2.0;
        Some((prompt * price.input? + f64::from(limit) * price.output?) / PER)
    }
}

/// Host, model, input, output, cached (0 for none).
type Listed = (&'static str, &'static str, f64, f64, f64);

/// The day on which [`LIST`] was written down.
const LISTED_ON: &str = "2025-10-15";

/// Public list prices of models that are often used; everything else is for the visitor to add.
const LIST: [Listed; 24] = [
    ("api.openai.com", "text-embedding-3-small*", 0.02, 0.0, 0.0),
    ("api.openai.com", "text-embedding-3-large*", 0.13, 0.0, 0.0),
    ("api.openai.com", "gpt-5-mini*", 0.25, 2.0, 0.025),
    ("api.openai.com", "gpt-5-nano*", 0.05, 0.4, 0.005),
    ("api.openai.com", "gpt-5", 1.25, 10.0, 0.125),
    ("api.openai.com", "gpt-4.1-mini*", 0.4, 1.6, 0.1),
    ("api.openai.com", "gpt-4.1-nano*", 0.1, 0.4, 0.025),
    ("api.openai.com", "gpt-4.1", 2.0, 8.0, 0.5),
    ("api.openai.com", "gpt-4o-mini*", 0.15, 0.6, 0.075),
    ("api.openai.com", "gpt-4o", 2.5, 10.0, 1.25),
    ("api.openai.com", "o4-mini*", 1.1, 4.4, 0.275),
    ("api.openai.com", "o3", 2.0, 8.0, 0.5),
    ("api.anthropic.com", "claude-sonnet-4*", 3.0, 15.0, 0.3),
    ("api.anthropic.com", "claude-haiku-4-5*", 1.0, 5.0, 0.1),
    ("api.anthropic.com", "claude-opus-4-1*", 15.0, 75.0, 1.5),
    ("api.anthropic.com", "claude-3-5-haiku*", 0.8, 4.0, 0.08),
    (GOOGLE, "gemini-2.5-flash-lite*", 0.1, 0.4, 0.0),
    (GOOGLE, "gemini-2.5-flash", 0.3, 2.5, 0.0),
    // For prompts of up to 200 000 tokens; ours are shorter.
    (GOOGLE, "gemini-2.5-pro", 1.25, 10.0, 0.0),
    ("api.deepseek.com", "deepseek-chat", 0.28, 0.42, 0.028),
    ("api.deepseek.com", "deepseek-reasoner", 0.28, 0.42, 0.028),
    ("api.groq.com", "llama-3.3-70b-versatile", 0.59, 0.79, 0.0),
    ("api.groq.com", "llama-3.1-8b-instant", 0.05, 0.08, 0.0),
    ("api.mistral.ai", "mistral-small-*", 0.1, 0.3, 0.0),
];

const GOOGLE: &str = "generativelanguage.googleapis.com";

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: Option<u64>, output: Option<u64>, cached: Option<u64>) -> Usage {
        Usage {
            input,
            output,
            cached,
            reasoning: None,
        }
    }

    fn row(host: &str, model: &str, input: f64) -> Price {
        Price {
            host: host.to_owned(),
            model: model.to_owned(),
            input: Some(input),
            output: Some(10.0),
            cached: Some(0.5),
            as_of: String::new(),
        }
    }

    #[test]
    fn costs_are_added_by_hand() {
        let price = row("", "m", 2.0);
        // 600 000 at 2 $, 400 000 cached at 0.5 $, 50 000 at 10 $.
        let whole = usage(Some(1_000_000), Some(50_000), Some(400_000));
        let dollars = price.cost(&whole).expect("all counts are known");
        assert!((dollars - 1.9).abs() < 1e-12, "{dollars}");
    }

    #[test]
    fn what_is_not_counted_is_unknown_and_not_free() {
        let price = row("", "m", 2.0);
        assert_eq!(price.cost(&usage(None, Some(1), None)), None);
        assert_eq!(price.cost(&usage(Some(1), None, None)), None);
        let unfilled = Price::default();
        assert_eq!(unfilled.cost(&usage(Some(1), Some(1), None)), None);
        assert!(!unfilled.is_free());
        let table = PriceTable { rows: vec![] };
        assert_eq!(table.price("https://api.openai.com/v1", "gpt-5"), None);
    }

    #[test]
    fn the_row_that_names_the_model_best_counts() {
        let table = PriceTable {
            rows: vec![
                row("", "gpt-*", 1.0),
                row("api.openai.com", "gpt-4*", 2.0),
                row("api.openai.com", "gpt-4o", 3.0),
                row("", "gpt-4o", 4.0),
            ],
        };
        let cases = [
            ("https://api.openai.com/v1", "gpt-4o", Some(3.0)),
            ("https://api.openai.com/v1", "gpt-4o-2024-08-06", Some(2.0)),
            ("https://api.openai.com/v1", "gpt-3", Some(1.0)),
            ("https://relay.example/v1", "gpt-4o", Some(4.0)),
            ("https://relay.example/v1", "other", None),
            ("http://localhost:11434/v1", "other", Some(0.0)),
        ];
        for (url, model, expected) in cases {
            let found = table.price(url, model).and_then(|price| price.input);
            assert_eq!(found, expected, "{url} {model}");
        }
    }

    #[test]
    fn every_listed_price_has_a_day_and_is_a_price() {
        for row in PriceTable::default().rows {
            let (input, output) = (row.input.expect("a price"), row.output.expect("a price"));
            assert!(
                row.as_of.len() == 10
                    && input > 0.0
                    && (output > 0.0 || row.model.starts_with("text-embedding"))
            );
            assert!(row.cached.is_none_or(|cached| cached < input), "{row:?}");
        }
    }
}
