//! The model as judge: one call for all requirements, verdict, reason and quote for each.

use super::grade::Seat;
use super::{JudgeModel, Judgement, Order, Verdict, VerdictSource, VerdictState};
use crate::agent::trace::Output;
use crate::bench::hidden::Requirement;
use crate::bench::ids::RequirementId;
use crate::bench::visible::Instance;
use crate::llm::Reply;
use crate::llm::read::{self, ReadVerdict, VerdictItem};
use crate::prompts;
use crate::run::ask::{AskError, Asked, Traces};
use crate::run::{CallRole, Env, StepError, ask};

/// Asks a judge about these requirements. Whatever fails leaves them unscored; only a cancelled
/// run is an error. The verdicts come in the order of `requirements`, whatever order was shown.
pub(super) async fn ask(
    env: &impl Env,
    seat: &Seat<'_>,
    repeat: u32,
    output: &Output,
    instance: &Instance,
    requirements: &[&Requirement],
) -> Result<Judgement, StepError> {
    let text = output_text(output);
    let given: Vec<&RequirementId> = requirements.iter().map(|r| &r.id).collect();
    let order = Order::new(seat.shuffle_seed, &instance.id, repeat, &given);
    let of = |id: &RequirementId| requirements.iter().copied().find(|r| r.id == *id);
    let shown: Vec<&Requirement> = order.requirements.iter().filter_map(of).collect();
    let ids = short_ids(shown.len());
    let lines: Vec<(String, &str)> = ids
        .iter()
        .cloned()
        .zip(shown.iter().map(|r| r.text.as_str()))
        .collect();
    let prompt = prompts::judge(
        seat.judge.wording.as_deref(),
        instance,
        &text,
        &lines,
        order.not_met_first,
    );
    let reference = prompt.reference.clone();
    let mut traces = Traces::default();
    let read = |r: &Reply| read::verdicts(&r.text, &r.finish, &ids);
    let answer = ask::ask(env, &asked(seat, repeat), prompt, &mut traces, read).await;
    let mut verdicts: Vec<Verdict> = match answer {
        Ok(items) => shown
            .iter()
            .zip(items)
            .map(|(r, item)| verdict(r, item, &text))
            .collect(),
        Err(AskError::Call(StepError::Cancelled)) => return Err(StepError::Cancelled),
        Err(error) => all_unscored(requirements, &seat.name, &error),
    };
    let place = |v: &Verdict| given.iter().position(|id| **id == v.requirement);
    verdicts.sort_by_key(place);
    Ok(Judgement {
        judge: seat.name.clone(),
        repeat,
        order: Some(order),
        prompt: Some(reference),
        wording: seat.judge.wording.clone(),
        verdicts,
        calls: traces.calls,
        ..Judgement::default()
    })
}

fn asked(seat: &Seat<'_>, repeat: u32) -> Asked {
    let JudgeModel {
        model,
        temperature,
        seed,
        max_output_tokens,
        ..
    } = seat.judge;
    Asked {
        role: CallRole::Grader(seat.index),
        model: model.clone(),
        temperature: *temperature,
        max_tokens: *max_output_tokens,
        // The same number again would have a deterministic server answer the same again.
        seed: seed.map(|seed| seed.wrapping_add(u64::from(repeat) - 1)),
    }
}

/// `R1`, `R2`, …: what the model sees instead of requirement ids.
fn short_ids(n: usize) -> Vec<String> {
    (1..=n).map(|i| format!("R{i}")).collect()
}

fn output_text(output: &Output) -> String {
    match output {
        Output::GenerateText { text } => text.clone(),
        Output::CallApi { slots, .. } => serde_json::to_string_pretty(slots).unwrap_or_default(),
    }
}

fn all_unscored(requirements: &[&Requirement], model: &str, error: &AskError) -> Vec<Verdict> {
    let why = match error {
        AskError::Call(error) => format!("{model} could not judge: {error}"),
        AskError::Read(why) => {
            format!("{model} was asked twice and {why}; judge again, or choose another judge")
        }
    };
    requirements
        .iter()
        .map(|r| Verdict::unscored(&r.id, why.as_str()))
        .collect()
}

fn verdict(requirement: &Requirement, item: VerdictItem, output: &str) -> Verdict {
    let state = match item.verdict {
        ReadVerdict::Met => VerdictState::Met,
        ReadVerdict::NotMet => VerdictState::NotMet,
        ReadVerdict::Missing => {
            return Verdict::unscored(
                &requirement.id,
                "the judge's answer left this requirement out; judge again",
            );
        }
        ReadVerdict::Invalid(what) => {
            let why = format!("the judge's verdict is neither 0 nor 1: {what}; judge again");
            return Verdict::unscored(&requirement.id, why);
        }
    };
    let quote = item.quote.filter(|quote| !quote.trim().is_empty());
    let mut rationale = item.rationale;
    if quote.as_ref().is_some_and(|quote| !occurs(quote, output)) {
        rationale.push_str(" (The quote does not occur in the output.)");
    }
    Verdict {
        requirement: requirement.id.clone(),
        state,
        source: VerdictSource::Model,
        rationale: rationale.trim().to_owned(),
        quote,
    }
}

/// Whether the output has the quote, whatever the spacing, case, quotation marks and Markdown
/// emphasis; parts joined by an ellipsis may stand apart.
fn occurs(quote: &str, output: &str) -> bool {
    let output = plain(output);
    let parts = quote.replace('…', "...");
    let mut from = 0;
    parts
        .split("...")
        .map(plain)
        .filter(|part| !part.is_empty())
        .all(|part| match output[from..].find(&part) {
            Some(at) => {
                from += at + part.len();
                true
            }
            None => false,
        })
}

fn plain(text: &str) -> String {
    let letters = text.chars().filter_map(|c| match c {
        '“' | '”' | '„' | '"' | '*' | '_' | '`' => None,
        '’' | '‘' => Some('\''),
        c => Some(c),
    });
    let text: String = letters.collect();
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_for_quotes_tolerantly_but_not_blindly() {
        let output = "Dear **Ada**,\n\nI’ve read it twice. It is good.";
        let cases = [
            ("dear Ada, I've read", true),
            ("\"I've read it\"", true),
            ("Dear Ada … It is good", true),
            ("It is good … Dear Ada", false),
            ("I have read it", false),
            ("", true),
        ];
        for (quote, wanted) in cases {
            assert_eq!(occurs(quote, output), wanted, "{quote}");
        }
    }
}
