//! Questions about the user without a language model: the user's or an accepted draft's sentence
//! nearest to the question, word for word.

use super::slots::{dot, voices};
use crate::agent::mind::Ctx;
use crate::agent::trace::{CompactItem, ExtractedPreference};
use crate::run::{Env, StepError};

/// Said where no sentence is left to quote.
const NOT_KNOWN: &str = "not known";

/// One sentence for each question. What the user changed away from, the first drafts, is no answer.
pub async fn answers<E: Env>(
    ctx: &Ctx<'_, E>,
    questions: &[String],
    preferences: &[ExtractedPreference],
    evidence: &[CompactItem],
) -> Result<Vec<String>, StepError> {
    let said = voices(evidence).into_iter().filter(|v| v.weight > 0.0);
    let mut texts: Vec<String> = preferences.iter().map(|p| p.text.clone()).collect();
    texts.extend(said.map(|voice| voice.text));
    texts.dedup();
    if texts.is_empty() || questions.is_empty() {
        return Ok(vec![NOT_KNOWN.to_owned(); questions.len()]);
    }
    let asked: Vec<String> = texts.iter().chain(questions).cloned().collect();
    let vectors = ctx.env.embed(&asked).await?;
    let (said, wanted) = vectors.split_at(texts.len().min(vectors.len()));
    let nearest = |question: &Vec<f32>| {
        let near = said.iter().map(|vector| dot(vector, question)).enumerate();
        // The first of equals: preferences come before other sentences, later sessions before earlier.
        let best = near.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        texts.get(best.0).cloned()
    };
    Ok(wanted
        .iter()
        .map(|question| nearest(question).unwrap_or_else(|| NOT_KNOWN.to_owned()))
        .collect())
}
