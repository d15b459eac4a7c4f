//! What runs cost, by role and model. Unknown stays unknown: it is counted beside the sum.

use super::record::RunRecord;
use crate::agent::trace::CallRecord;
use crate::llm::budget::dollars;
use crate::llm::price::PriceTable;
use std::collections::BTreeMap;

/// Calls of one role to one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    pub calls: u32,
    /// Tokens of prompts, as far as they were counted.
    pub input: u64,
    pub output: u64,
    /// Calls whose provider counted no tokens; the sums above are without them.
    pub uncounted: u32,
    /// US dollars, as far as counts and prices are known.
    pub usd: f64,
    /// Calls that cannot be priced, because their tokens or their price are not known.
    pub unpriced: u32,
}

impl Spent {
    fn add(&mut self, call: &CallRecord, prices: &PriceTable) {
        self.calls += 1;
        let usage = call.reply.usage.unwrap_or_default();
        match (usage.input, usage.output) {
            (Some(input), Some(output)) => {
                self.input += input;
                self.output += output;
            }
            (input, output) => {
                self.input += input.unwrap_or(0);
                self.output += output.unwrap_or(0);
                self.uncounted += 1;
            }
        }
        let price = prices.price(&call.base_url, &call.request.model);
        // A server that costs nothing costs nothing, counted or not.
        let cost = price.and_then(|price| {
            if price.is_free() {
                Some(0.0)
            } else {
                price.cost(&usage)
            }
        });
        match cost {
            Some(cost) => self.usd += cost,
            None => self.unpriced += 1,
        }
    }

    /// `$0.12`, `$0.12 and 3 calls of unknown price`, `unknown`.
    pub fn words(&self) -> String {
        match self.unpriced {
            0 => dollars(self.usd),
            all if all == self.calls => "unknown price".to_owned(),
            1 => format!("{} and one call of unknown price", dollars(self.usd)),
            some => format!("{} and {some} calls of unknown price", dollars(self.usd)),
        }
    }

    /// `12 300 tokens in, 456 out`, and how many calls are not in it.
    pub fn tokens(&self) -> String {
        let counted = format!("{} tokens in, {} out", self.input, self.output);
        match self.uncounted {
            0 => counted,
            all if all == self.calls => "tokens not counted by the provider".to_owned(),
            some => format!(
                "{counted}; partly: {some} of {} calls not counted",
                self.calls
            ),
        }
    }
}

/// What some calls cost together, whoever paid.
pub fn of_calls<'a>(calls: impl IntoIterator<Item = &'a CallRecord>, prices: &PriceTable) -> Spent {
    let mut spent = Spent::default();
    for call in calls {
        spent.add(call, prices);
    }
    spent
}

/// Every paid call, by (role, model). A call that came from the journal of an earlier pass is in
/// that pass's record or in this one, so it counts where it stands, once for each record.
pub fn by_role<'a>(
    records: impl IntoIterator<Item = &'a RunRecord>,
    prices: &PriceTable,
) -> BTreeMap<(String, String), Spent> {
    let mut all: BTreeMap<(String, String), Spent> = BTreeMap::new();
    for record in records {
        for call in record.paid_calls() {
            let key = (call.role.clone(), call.request.model.clone());
            all.entry(key).or_default().add(call, prices);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::trace::PromptRef;
    use crate::llm::{Chat, Reply, Usage};

    fn call(base_url: &str, model: &str, usage: Option<(u64, u64)>) -> CallRecord {
        CallRecord {
            role: "agent".to_owned(),
            base_url: base_url.to_owned(),
            request: Chat {
                model: model.to_owned(),
                ..Chat::default()
            },
            reply: Reply {
                usage: usage.map(|(input, output)| Usage {
                    input: Some(input),
                    output: Some(output),
                    ..Usage::default()
                }),
                ..Reply::default()
            },
            prompt: PromptRef::default(),
            started_ms: 0.0,
            duration_ms: 1.0,
            from_journal: false,
            retries: 0,
            sent: serde_json::Map::new(),
        }
    }

    fn spent(calls: &[CallRecord]) -> Spent {
        of_calls(calls, &PriceTable::default())
    }

    #[test]
    fn unknown_prices_and_counts_are_said() {
        let known = call(
            "https://api.deepseek.com",
            "deepseek-chat",
            Some((1_000_000, 100_000)),
        );
        let strange = call("https://relay.example/v1", "m", Some((10, 1)));
        let uncounted = call("https://api.deepseek.com", "deepseek-chat", None);
        let local = call("http://localhost:11434/v1", "llama", None);
        // 0.28 $ and a tenth of 0.42 $.
        assert_eq!(spent(std::slice::from_ref(&known)).words(), "$0.3220");
        assert_eq!(
            spent(&[known.clone(), strange.clone(), uncounted]).words(),
            "$0.3220 and 2 calls of unknown price"
        );
        assert_eq!(spent(&[strange]).words(), "unknown price");
        assert_eq!(spent(std::slice::from_ref(&local)).words(), "$0");
        assert_eq!(
            spent(std::slice::from_ref(&local)).tokens(),
            "tokens not counted by the provider"
        );
        assert!(
            spent(&[known, local])
                .tokens()
                .contains("1 of 2 calls not counted")
        );
    }
}
