//! An answer while it is put together, from a stream or from a whole body alike.

use super::tool_calls::Calls;
use super::{Finish, LlmError, Reply, Said, Usage, think};
use serde_json::{Map, Value};

/// Everything said so far.
#[derive(Debug, Default)]
pub struct Answer {
    pub text: String,
    pub reasoning: String,
    /// What the model said instead of answering, where the provider marks it.
    pub refusal: String,
    pub calls: Calls,
    pub finish: Option<Finish>,
    pub usage: Option<Usage>,
    pub model: Option<String>,
    pub id: Option<String>,
    pub extra: Map<String, Value>,
}

impl Answer {
    /// The reply, unless what is there may not count as one.
    pub fn finish(self) -> Result<Reply, LlmError> {
        let cut = self.finish == Some(Finish::Length);
        let seed = self.id.clone().unwrap_or_default();
        let tool_calls = self.calls.finish(cut, &seed)?;
        let split = think::split_leading(&self.text);
        let reasoning = joined(self.reasoning, &split.reasoning);
        if tool_calls.is_empty() && split.answer.trim().is_empty() {
            return Err(nothing(self.finish, &self.refusal, reasoning.is_some()));
        }
        let finish = match self.finish {
            None | Some(Finish::Stop) if !tool_calls.is_empty() => Finish::ToolCalls,
            finish => finish.unwrap_or_default(),
        };
        let usage = self
            .usage
            .map(|usage| plausible(usage, !split.answer.is_empty()));
        Ok(Reply {
            text: split.answer,
            reasoning,
            tool_calls,
            finish: finish.clone(),
            usage: usage.filter(|usage| *usage != Usage::default()),
            model: self.model,
            request_id: self.id,
            warnings: warnings(&finish),
            extra: self.extra,
        })
    }
}

fn warnings(finish: &Finish) -> Vec<String> {
    let filtered = *finish == Finish::ContentFilter;
    let said = "the provider's content filter ended the answer; it may be incomplete";
    filtered.then(|| said.to_owned()).into_iter().collect()
}

fn joined(given: String, found: &str) -> Option<String> {
    let both = match (given.is_empty(), found.is_empty()) {
        (_, true) => given,
        (true, false) => found.to_owned(),
        (false, false) => format!("{given}\n\n{found}"),
    };
    (!both.is_empty()).then_some(both)
}

/// Why there is no answer; reasoning never stands in for it.
fn nothing(finish: Option<Finish>, refusal: &str, reasoned: bool) -> LlmError {
    if !refusal.trim().is_empty() {
        return LlmError::ContentFilter(Said::new(None, None, refusal));
    }
    match finish {
        Some(Finish::Length) => LlmError::OutputLimit {
            what: match reasoned {
                true => {
                    "it was reached before an answer, all tokens went into reasoning".to_owned()
                }
                false => "it was reached before an answer".to_owned(),
            },
            partial: String::new(),
        },
        Some(Finish::ContentFilter) => {
            LlmError::ContentFilter(Said::new(None, None, "the provider gave no text"))
        }
        _ => LlmError::EmptyAnswer,
    }
}

/// Servers that do not count send zeros; no prompt and no answer has zero tokens.
fn plausible(usage: Usage, answered: bool) -> Usage {
    Usage {
        input: usage.input.filter(|count| *count > 0),
        output: usage.output.filter(|count| *count > 0 || !answered),
        ..usage
    }
}
