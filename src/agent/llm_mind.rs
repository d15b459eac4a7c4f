//! The steps carried out by a language model behind [`crate::run::Env::chat`].

use super::facets::FACETS;
use super::mind::{Ctx, FilledCall, Material, Mind, StageLog};
use super::trace::{
    AlignmentPlan, CompactItem, ExtractedPreference, PlanItem, Query, ScoredPassage,
};
use crate::embed::{Passage, PassageId};
use crate::llm::read::{self, FacetQuery, Read, ReadError, ReadScore, Slots};
use crate::llm::{Finish, Reply};
use crate::prompts::{self, Rendered, quote};
use crate::run::ask::{AskError, Asked, Traces, ask};
use crate::run::record::ModelRef;
use crate::run::{CallRole, Env, StepError};

/// A model at an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmMind {
    /// Model name as sent.
    pub model: String,
    /// Where calls go; for the record only, [`crate::run::Env`] sends them.
    pub base_url: String,
}

impl LlmMind {
    async fn ask<E: Env, T>(
        &self,
        ctx: &Ctx<'_, E>,
        prompt: Rendered,
        log: &mut StageLog,
        read: impl Fn(&Reply) -> Result<Read<T>, ReadError>,
    ) -> Result<T, StepError> {
        let asked = Asked {
            role: CallRole::Agent,
            model: self.model.clone(),
            temperature: ctx.params.temperature,
            max_tokens: ctx.params.max_output_tokens,
            seed: Some(ctx.params.seed),
        };
        let mut traces = Traces::default();
        let answer = ask(ctx.env, &asked, prompt, &mut traces, read).await;
        log.calls.append(&mut traces.calls);
        log.notes.append(&mut traces.notes);
        answer.map_err(|error| self.explain(error))
    }

    fn explain(&self, error: AskError) -> StepError {
        match error {
            AskError::Call(error) => error,
            AskError::Read(why) => StepError::Model(format!(
                "{} was asked twice and {why}. Run again, raise the output limit, or choose another model",
                self.model
            )),
        }
    }
}

impl Mind for LlmMind {
    fn model(&self) -> ModelRef {
        ModelRef::Endpoint {
            base_url: self.base_url.clone(),
            model: self.model.clone(),
        }
    }

    async fn expand<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        log: &mut StageLog,
    ) -> Result<Vec<Query>, StepError> {
        let max = ctx.params.max_queries;
        if max == 0 {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = FACETS.iter().map(|facet| facet.id).collect();
        let prompt = prompts::query_expansion(ctx.edits, ctx.instance, &FACETS, max);
        let read = |r: &Reply| read::facet_queries(&r.text, &r.finish, &names, max as usize);
        let queries = self.ask(ctx, prompt, log, read).await?;
        Ok(queries
            .into_iter()
            .enumerate()
            .map(|(i, query)| with_facet(i, query))
            .collect())
    }

    async fn salience<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        passages: &[Passage],
        log: &mut StageLog,
    ) -> Result<Vec<ScoredPassage>, StepError> {
        let ids = quote::short_ids(passages.len());
        let prompt = prompts::salience(ctx.edits, ctx.instance, passages);
        let read = |r: &Reply| read::salience(&r.text, &r.finish, &ids);
        let items = self.ask(ctx, prompt, log, read).await?;
        let scored = passages.iter().zip(items).map(|(passage, item)| {
            let id = &passage.id.0;
            let salience = match item.score {
                ReadScore::Score(value) => Some(value),
                ReadScore::Missing => {
                    log.note(format!("the model gave no salience for {id}"));
                    None
                }
                ReadScore::Invalid(what) => {
                    log.note(format!(
                        "the salience of {id} is no number from 0 to 10: {what}"
                    ));
                    None
                }
            };
            ScoredPassage {
                passage: passage.id.clone(),
                salience,
                signals: item.signals,
            }
        });
        Ok(scored.collect())
    }

    async fn compact<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        passages: &[Passage],
        log: &mut StageLog,
    ) -> Result<Vec<CompactItem>, StepError> {
        let ids = quote::short_ids(passages.len());
        let prompt = prompts::compact_evidence(ctx.edits, ctx.instance, passages);
        let read = |r: &Reply| read::compact(&r.text, &r.finish, &ids);
        let texts = self.ask(ctx, prompt, log, read).await?;
        let items = passages.iter().zip(texts).filter_map(|(passage, item)| {
            if item.text.is_none() {
                log.note(format!("the model's answer left out {}", passage.id.0));
            }
            let text = item.text.filter(|text| !text.trim().is_empty())?;
            Some(CompactItem {
                passage: passage.id.clone(),
                date: passage.date.clone(),
                text,
            })
        });
        Ok(items.collect())
    }

    async fn extract<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        evidence: &[CompactItem],
        log: &mut StageLog,
    ) -> Result<Vec<ExtractedPreference>, StepError> {
        let short = quote::short_ids(evidence.len());
        let ids: Vec<PassageId> = evidence.iter().map(|item| item.passage.clone()).collect();
        let prompt = prompts::preference_extraction(ctx.edits, ctx.instance, evidence);
        let read = |r: &Reply| read::preferences(&r.text, &r.finish, &short);
        let items = self.ask(ctx, prompt, log, read).await?;
        let preferences = items.into_iter().map(|item| ExtractedPreference {
            text: item.text,
            kind: item.kind.unwrap_or_else(|| "asked".to_owned()),
            passages: item
                .passages
                .iter()
                .filter_map(|id| quote::resolve(id, &ids))
                .collect(),
        });
        Ok(preferences.collect())
    }

    async fn align<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        preferences: &[ExtractedPreference],
        log: &mut StageLog,
    ) -> Result<AlignmentPlan, StepError> {
        let prompt = prompts::alignment(ctx.edits, ctx.instance, preferences);
        let entries = self
            .ask(ctx, prompt, log, |r| read::plan(&r.text, &r.finish))
            .await?;
        let item = |e: read::PlanEntry| PlanItem {
            aspect: e.aspect,
            text: e.text,
            slot: e.slot,
        };
        Ok(AlignmentPlan {
            items: entries.into_iter().map(item).collect(),
        })
    }

    async fn write_text<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<String, StepError> {
        self.ask(ctx, head_prompt(ctx, material, false), log, whole_text)
            .await
    }

    async fn fill_slots<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<FilledCall, StepError> {
        let template = ctx.instance.api.as_ref().ok_or_else(|| no_template(ctx))?;
        let prompt = head_prompt(ctx, material, true);
        let read = |r: &Reply| read::slots(&r.text, &r.finish, template);
        let Slots { slots, description } = self.ask(ctx, prompt, log, read).await?;
        let empty = template
            .slots
            .iter()
            .filter(|s| s.required && !slots.contains_key(&s.name));
        for slot in empty {
            log.note(format!("the required slot '{}' was left empty", slot.name));
        }
        Ok(FilledCall {
            slots,
            description: description.unwrap_or_default(),
        })
    }

    async fn answer<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        questions: &[String],
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<Vec<String>, StepError> {
        let ids: Vec<String> = (1..=questions.len()).map(|n| format!("Q{n}")).collect();
        let prompt =
            prompts::answer_questions(ctx.edits, ctx.instance, questions, &context(material));
        let read = |r: &Reply| read::answers(&r.text, &r.finish, &ids);
        let items = self.ask(ctx, prompt, log, read).await?;
        let answers = ids.iter().zip(items).map(|(id, item)| {
            item.text.unwrap_or_else(|| {
                log.note(format!("the model's answer left out {id}"));
                NO_ANSWER.to_owned()
            })
        });
        Ok(answers.collect())
    }
}

/// What stands for an answer the model left out.
const NO_ANSWER: &str = "(no answer)";

/// A facet the model did not name is the one at its place, as the prompt asks for their order.
fn with_facet(index: usize, query: FacetQuery) -> Query {
    let at_place = || {
        FACETS
            .get(index)
            .map_or("other", |facet| facet.id)
            .to_owned()
    };
    Query {
        facet: query.facet.unwrap_or_else(at_place),
        text: query.text,
    }
}

fn head_prompt<E: Env>(ctx: &Ctx<'_, E>, material: Material<'_>, call: bool) -> Rendered {
    let api = ctx.instance.api.as_ref().filter(|_| call);
    let (edits, instance) = (ctx.edits, ctx.instance);
    match material {
        Material::Trajectory(known) => prompts::synthesis(edits, instance, api, known),
        Material::Nothing => prompts::plain(edits, instance, api),
        joined => prompts::rag(edits, instance, api, &context(joined)),
    }
}

/// Material as text that stands beside a request or a question.
fn context(material: Material<'_>) -> String {
    match material {
        Material::Trajectory(known) | Material::Joined(known) => quote::known(known),
        Material::Passages(passages) => quote::passages(passages),
        Material::Nothing => "(nothing)".to_owned(),
    }
}

/// What both minds say of a call without a template.
pub(super) fn no_template<E>(ctx: &Ctx<'_, E>) -> StepError {
    StepError::Engine(format!(
        "instance {}: the action is call_api, but the scenario '{}' has no API template; validate the dataset",
        ctx.instance.id, ctx.instance.scenario_name
    ))
}

fn whole_text(reply: &Reply) -> Result<Read<String>, ReadError> {
    let text = unfence(reply.text.trim());
    if text.is_empty() {
        let reasoned = reply
            .reasoning
            .as_ref()
            .is_some_and(|r| !r.trim().is_empty());
        return Err(if reasoned {
            ReadError::ReasoningOnly
        } else {
            ReadError::Empty
        });
    }
    let truncated = reply.finish == Finish::Length;
    Ok(Read {
        value: text.to_owned(),
        truncated,
        problems: oddity(text).map(str::to_owned).into_iter().collect(),
    })
}

/// What is odd about a text. It is the output all the same: whatever a model hands over is judged.
fn oddity(text: &str) -> Option<&'static str> {
    let json = || serde_json::from_str::<serde_json::Value>(text);
    if read::is_refusal(text) {
        Some("the model seems to have declined; its words are the output as they stand")
    } else if json().is_ok_and(|value| value.is_object() || value.is_array()) {
        Some("the model wrote JSON in place of a text; it is the output as it stands")
    } else {
        None
    }
}

/// Takes off a fence round the whole text when it says that the text is prose; a fence round code
/// belongs to the text.
fn unfence(text: &str) -> &str {
    let inner = text.strip_suffix("```").and_then(|rest| {
        let opened = ["```markdown\n", "```md\n", "```text\n", "```txt\n"];
        opened.iter().find_map(|open| rest.strip_prefix(open))
    });
    inner
        .filter(|inner| !inner.contains("```"))
        .map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_off_a_fence_round_prose_only() {
        let cases = [
            ("```markdown\n# A\n```", "# A"),
            ("```rust\nfn a() {}\n```", "```rust\nfn a() {}\n```"),
            ("```text\na\n```\nb\n```", "```text\na\n```\nb\n```"),
            ("plain", "plain"),
        ];
        for (text, wanted) in cases {
            assert_eq!(unfence(text), wanted);
        }
    }
}
