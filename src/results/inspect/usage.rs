//! Tokens by model and by role, as Inspect counts them.

use super::wire::{ModelUsage, UsageMap};
use crate::llm::Usage;
use crate::run::record::RunRecord;

/// Inspect leaves cached tokens out of the input; providers of the OpenAI dialect count them in.
pub fn convert(usage: &Usage) -> ModelUsage {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    ModelUsage {
        input_tokens: input.saturating_sub(usage.cached.unwrap_or(0)),
        output_tokens: output,
        total_tokens: input + output,
        input_tokens_cache_read: usage.cached,
        reasoning_tokens: usage.reasoning,
    }
}

/// Usage by model and by role of what was paid for.
pub fn of_records<'a>(records: impl IntoIterator<Item = &'a RunRecord>) -> (UsageMap, UsageMap) {
    let (mut models, mut roles) = (UsageMap::new(), UsageMap::new());
    for call in records.into_iter().flat_map(RunRecord::paid_calls) {
        if let Some(usage) = &call.reply.usage {
            add(&mut models, &call.request.model, usage);
            add(&mut roles, &call.role, usage);
        }
    }
    (models, roles)
}

fn add(map: &mut UsageMap, key: &str, usage: &Usage) {
    let sum = map.entry(key.to_owned()).or_default();
    let usage = convert(usage);
    sum.input_tokens += usage.input_tokens;
    sum.output_tokens += usage.output_tokens;
    sum.total_tokens += usage.total_tokens;
    sum.input_tokens_cache_read = plus(sum.input_tokens_cache_read, usage.input_tokens_cache_read);
    sum.reasoning_tokens = plus(sum.reasoning_tokens, usage.reasoning_tokens);
}

fn plus(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_counted_once() {
        let usage = Usage {
            input: Some(100),
            output: Some(7),
            cached: Some(40),
            reasoning: None,
        };
        let expected = ModelUsage {
            input_tokens: 60,
            output_tokens: 7,
            total_tokens: 107,
            input_tokens_cache_read: Some(40),
            reasoning_tokens: None,
        };
        assert_eq!(convert(&usage), expected);
    }
}
