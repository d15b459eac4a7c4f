//! The embedded baseline: rules in place of a language model. Deterministic, needs no key, and
//! is named for what it is wherever a number of it stands.

mod answer;
mod cues;
mod dialogue;
mod expand;
mod extract;
mod facts;
mod salience;
mod shape;
mod slots;
mod text;

use super::llm_mind::no_template;
use super::mind::{Ctx, FilledCall, Material, Mind, StageLog};
use super::trace::{AlignmentPlan, CompactItem, ExtractedPreference, Query, ScoredPassage};
use crate::bench::taxonomy::ApiTemplate;
use crate::embed::Passage;
use crate::run::record::ModelRef;
use crate::run::{Env, StepError};
use dialogue::Speaker;

/// Rules for every step; no language model.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddedMind;

impl Mind for EmbeddedMind {
    fn model(&self) -> ModelRef {
        ModelRef::Embedded
    }

    async fn expand<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        _log: &mut StageLog,
    ) -> Result<Vec<Query>, StepError> {
        Ok(expand::queries(ctx.instance))
    }

    async fn salience<E: Env>(
        &self,
        _ctx: &Ctx<'_, E>,
        passages: &[Passage],
        _log: &mut StageLog,
    ) -> Result<Vec<ScoredPassage>, StepError> {
        Ok(passages.iter().map(scored).collect())
    }

    async fn compact<E: Env>(
        &self,
        _ctx: &Ctx<'_, E>,
        passages: &[Passage],
        _log: &mut StageLog,
    ) -> Result<Vec<CompactItem>, StepError> {
        Ok(passages.iter().filter_map(extract::compact).collect())
    }

    async fn extract<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        evidence: &[CompactItem],
        log: &mut StageLog,
    ) -> Result<Vec<ExtractedPreference>, StepError> {
        let candidates = extract::candidates(evidence);
        if candidates.is_empty() {
            log.note("no sentence of the user carries a cue this baseline knows");
            return Ok(Vec::new());
        }
        let mut texts: Vec<String> = candidates
            .iter()
            .map(|c| c.preference.text.clone())
            .collect();
        texts.push(ctx.instance.task.text());
        let mut vectors = ctx.env.embed(&texts).await?;
        let task = vectors.pop().unwrap_or_default();
        Ok(extract::rank(candidates, &vectors, &task))
    }

    async fn align<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        preferences: &[ExtractedPreference],
        _log: &mut StageLog,
    ) -> Result<AlignmentPlan, StepError> {
        let api = ctx.instance.api.as_ref();
        let nearest = match api {
            Some(api) => nearest_slots(ctx, preferences, api).await?,
            None => Vec::new(),
        };
        Ok(extract::plan(preferences, api, &nearest))
    }

    async fn write_text<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<String, StepError> {
        let evidence = evidence(material);
        let wanted = text::Wanted {
            shape: model_draft(ctx, &evidence)
                .await?
                .map(|draft| shape::of(&draft)),
            max_words: limit(&ctx.instance.task.text(), &evidence),
        };
        log.note(
            "written by rules: the task's own sentences in the form of the last accepted draft",
        );
        Ok(text::write(&ctx.instance.task, &wanted))
    }

    async fn fill_slots<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<FilledCall, StepError> {
        let template = ctx.instance.api.as_ref().ok_or_else(|| no_template(ctx))?;
        slots::fill(ctx, template, &evidence(material), log).await
    }

    async fn answer<E: Env>(
        &self,
        ctx: &Ctx<'_, E>,
        questions: &[String],
        material: Material<'_>,
        log: &mut StageLog,
    ) -> Result<Vec<String>, StepError> {
        log.note("answered by rules: the nearest sentence of the user or of an accepted draft");
        answer::answers(ctx, questions, preferences(&material), &evidence(material)).await
    }
}

fn scored(passage: &Passage) -> ScoredPassage {
    let found = salience::contributions(&dialogue::parse(&passage.text), extract::opens(passage));
    let mut signals: Vec<String> = Vec::new();
    for contribution in &found {
        if !signals.iter().any(|s| s == contribution.signal) {
            signals.push(contribution.signal.to_owned());
        }
    }
    ScoredPassage {
        passage: passage.id.clone(),
        salience: Some(salience::total(&found)),
        signals,
    }
}

/// The compacted evidence of a trajectory, or what compaction makes of retrieved passages.
fn evidence(material: Material<'_>) -> Vec<CompactItem> {
    match material {
        Material::Trajectory(known) | Material::Joined(known) => known.evidence.to_vec(),
        Material::Passages(passages) => passages.iter().filter_map(extract::compact).collect(),
        Material::Nothing => Vec::new(),
    }
}

/// Preferences of a trajectory; passages and the bare request have none.
fn preferences<'a>(material: &Material<'a>) -> &'a [ExtractedPreference] {
    match material {
        Material::Trajectory(known) | Material::Joined(known) => known.preferences,
        Material::Passages(_) | Material::Nothing => &[],
    }
}

/// A draft and its date.
struct Draft {
    date: String,
    text: String,
}

/// The last draft of each piece of evidence in which the user had something changed.
fn accepted_drafts(evidence: &[CompactItem]) -> Vec<Draft> {
    let accepted = |item: &CompactItem| {
        let turns = dialogue::parse(&item.text);
        let at = turns
            .iter()
            .rposition(|turn| turn.speaker == Speaker::Assistant)?;
        let changed = turns[..at].iter().any(|turn| turn.speaker == Speaker::User);
        changed.then(|| Draft {
            date: item.date.clone(),
            text: turns[at].text.clone(),
        })
    };
    evidence.iter().filter_map(accepted).collect()
}

/// Drafts this much farther from the task than the nearest are of the same kind still.
const SAME_KIND: f32 = 0.15;
/// Characters of a draft that show what kind it is; embedding more costs more.
const DRAFT_CHARS: usize = 300;

/// The latest of the drafts that are about as near to the task as the nearest one.
async fn model_draft<E: Env>(
    ctx: &Ctx<'_, E>,
    evidence: &[CompactItem],
) -> Result<Option<String>, StepError> {
    let drafts = accepted_drafts(evidence);
    if drafts.is_empty() {
        return Ok(None);
    }
    let mut texts: Vec<String> = drafts
        .iter()
        .map(|draft| draft.text.chars().take(DRAFT_CHARS).collect())
        .collect();
    texts.push(ctx.instance.task.text().chars().take(DRAFT_CHARS).collect());
    let mut vectors = ctx.env.embed(&texts).await?;
    let task = vectors.pop().unwrap_or_default();
    let near: Vec<f32> = vectors
        .iter()
        .map(|vector| slots::dot(vector, &task))
        .collect();
    let nearest = near.iter().copied().fold(f32::MIN, f32::max);
    let alike = drafts
        .into_iter()
        .zip(near)
        .filter(|(_, near)| nearest - near <= SAME_KIND);
    Ok(alike
        .map(|(draft, _)| draft)
        .max_by(|a, b| a.date.cmp(&b.date))
        .map(|draft| draft.text))
}

/// The limit of words the task names, else the latest the user named.
fn limit(task: &str, evidence: &[CompactItem]) -> Option<usize> {
    let said = |item: &CompactItem| {
        let turns = dialogue::parse(&item.text);
        let user = turns.iter().filter(|turn| turn.speaker == Speaker::User);
        let last = user
            .filter_map(|turn| text::word_limit(&turn.text))
            .next_back()?;
        Some((item.date.clone(), last))
    };
    let latest = || {
        evidence
            .iter()
            .filter_map(said)
            .max()
            .map(|(_, words)| words)
    };
    text::word_limit(task).or_else(latest)
}

async fn nearest_slots<E: Env>(
    ctx: &Ctx<'_, E>,
    preferences: &[ExtractedPreference],
    api: &ApiTemplate,
) -> Result<Vec<Option<String>>, StepError> {
    let mut texts: Vec<String> = preferences.iter().map(|p| p.text.clone()).collect();
    let open: Vec<_> = api
        .slots
        .iter()
        .filter(|slot| !facts::is_fixed(slot))
        .collect();
    texts.extend(open.iter().map(|slot| slot.description.clone()));
    let vectors = ctx.env.embed(&texts).await?;
    let (said, slots) = vectors.split_at(preferences.len().min(vectors.len()));
    let nearest = |vector: &Vec<f32>| {
        let near = slots
            .iter()
            .map(|slot| slots::dot(vector, slot))
            .enumerate();
        let (best, _) = near.max_by(|a, b| a.1.total_cmp(&b.1))?;
        open.get(best).map(|slot| slot.name.clone())
    };
    Ok(said.iter().map(nearest).collect())
}
