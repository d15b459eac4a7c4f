//! Output head B without a language model: each option of a slot against what the user and the
//! accepted drafts say.
//!
//! A sentence speaks for an option by how much nearer it is to it than to the slot's other
//! options. Sentences of a user's reactions and of the last draft speak for what they are near
//! to, sentences of the first draft, which the user then changed, against it. Later sessions
//! count more.

use super::dialogue::{self, Speaker, Utterance, sentences};
use super::facts;
use crate::agent::mind::{Ctx, FilledCall, StageLog};
use crate::agent::trace::CompactItem;
use crate::bench::taxonomy::{ApiTemplate, Slot};
use crate::run::{Env, StepError};
use serde_json::{Map, Value};

/// Weight of a sentence by its place in the session.
const REACTION: f32 = 0.6;
const FIRST_DRAFT: f32 = -0.5;
const MIDDLE_DRAFT: f32 = 0.4;
const LAST_DRAFT: f32 = 1.5;
/// What one session older weighs.
const RECENCY: f32 = 0.7;
/// Cosine from which a sentence is about a slot at all.
const ABOUT: f32 = 0.15;
/// Handicap of an option that leaves everything open.
const OPEN_OPTION: f32 = 0.1;
/// Sentences read at most, newest first; each costs an embedding.
const MAX_SENTENCES: usize = 100;

/// A sentence and what it weighs.
#[derive(Clone, Debug, PartialEq)]
pub struct Voice {
    pub text: String,
    pub weight: f32,
}

/// Sentences of all evidence, newest session first.
pub fn voices(evidence: &[CompactItem]) -> Vec<Voice> {
    let mut sessions: Vec<(&str, &str, Vec<Utterance>)> = Vec::new();
    for item in evidence {
        let session = item.passage.0.split('#').next().unwrap_or_default();
        let turns = dialogue::parse(&item.text);
        match sessions.iter_mut().find(|(id, _, _)| *id == session) {
            Some((_, _, all)) => all.extend(turns),
            None => sessions.push((session, &item.date, turns)),
        }
    }
    sessions.sort_by(|a, b| b.1.cmp(a.1));
    let mut out = Vec::new();
    for (age, (_, _, turns)) in sessions.iter().enumerate() {
        let recency = RECENCY.powi(age as i32);
        out.extend(of_session(turns).into_iter().map(|v| Voice {
            weight: v.weight * recency,
            ..v
        }));
    }
    out.truncate(MAX_SENTENCES);
    out
}

fn of_session(turns: &[Utterance]) -> Vec<Voice> {
    let last = turns.iter().rposition(|turn| turn.speaker != Speaker::User);
    let first_user = turns.iter().position(|turn| turn.speaker == Speaker::User);
    let weigh = |(i, turn): (usize, &Utterance)| match turn.speaker {
        Speaker::User => REACTION,
        _ if first_user.is_none_or(|user| i < user) => FIRST_DRAFT,
        _ if Some(i) == last => LAST_DRAFT,
        _ => MIDDLE_DRAFT,
    };
    let mut out = Vec::new();
    for (i, turn) in turns.iter().enumerate() {
        let weight = weigh((i, turn));
        out.extend(sentences(&turn.text).into_iter().map(|s| Voice {
            text: s.to_owned(),
            weight,
        }));
    }
    out
}

/// Fills a template.
pub async fn fill<E: Env>(
    ctx: &Ctx<'_, E>,
    template: &ApiTemplate,
    evidence: &[CompactItem],
    log: &mut StageLog,
) -> Result<FilledCall, StepError> {
    let task = &ctx.instance.task;
    let voices = voices(evidence);
    let chosen = choose(ctx, template, &voices).await?;
    let mut slots = Map::new();
    for slot in &template.slots {
        let choice = chosen
            .iter()
            .find(|(name, _)| *name == slot.name)
            .map(|(_, v)| v.clone());
        match choice.or_else(|| facts::value(slot, task)) {
            Some(value) => {
                slots.insert(slot.name.clone(), value);
            }
            None if slot.required => {
                log.note(format!("nothing was found for the slot '{}'", slot.name))
            }
            None => {}
        }
    }
    let description = format!(
        "Calls {} for this request: {}",
        template.name, task.instruction
    );
    Ok(FilledCall { slots, description })
}

fn is_open(slot: &Slot) -> bool {
    slot.options.is_some() && !facts::is_fixed(slot)
}

/// The best option of each slot that the task leaves open.
async fn choose<E: Env>(
    ctx: &Ctx<'_, E>,
    template: &ApiTemplate,
    voices: &[Voice],
) -> Result<Vec<(String, Value)>, StepError> {
    let open: Vec<&Slot> = template.slots.iter().filter(|slot| is_open(slot)).collect();
    let mut texts: Vec<String> = voices.iter().map(|voice| voice.text.clone()).collect();
    for slot in &open {
        texts.extend(options(slot).iter().map(|option| option_text(slot, option)));
    }
    if voices.is_empty() || open.is_empty() {
        return Ok(Vec::new());
    }
    let vectors = ctx.env.embed(&texts).await?;
    let (said, mut rest) = vectors.split_at(voices.len().min(vectors.len()));
    let mut chosen = Vec::new();
    for slot in open {
        let options = options(slot);
        let (mine, others) = rest.split_at(options.len().min(rest.len()));
        rest = others;
        if let Some(best) = best_option(options, mine, said, voices) {
            chosen.push((slot.name.clone(), best.clone()));
        }
    }
    Ok(chosen)
}

fn options(slot: &Slot) -> &[Value] {
    slot.options.as_deref().unwrap_or_default()
}

/// How a slot's option is put into words.
fn option_text(slot: &Slot, option: &Value) -> String {
    format!("{}: {}", slot.description, words(option))
}

fn words(option: &Value) -> String {
    option
        .as_str()
        .map_or_else(|| option.to_string(), |text| text.replace('_', " "))
}

fn best_option<'a>(
    options: &'a [Value],
    option_vectors: &[Vec<f32>],
    said: &[Vec<f32>],
    voices: &[Voice],
) -> Option<&'a Value> {
    let mut totals: Vec<f32> = options
        .iter()
        .map(|option| {
            if option.as_str() == Some("any") {
                -OPEN_OPTION
            } else {
                0.0
            }
        })
        .collect();
    for (voice, vector) in voices.iter().zip(said) {
        let near: Vec<f32> = option_vectors
            .iter()
            .map(|option| dot(option, vector))
            .collect();
        let highest = near.iter().copied().fold(f32::MIN, f32::max);
        let mean = near.iter().sum::<f32>() / near.len().max(1) as f32;
        let about = (highest - ABOUT).max(0.0);
        for (total, cosine) in totals.iter_mut().zip(&near) {
            *total += voice.weight * about * (cosine - mean);
        }
    }
    let best = totals
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?;
    options.get(best.0)
}

/// Cosine of unit vectors.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::PassageId;
    use serde_json::json;

    fn item(id: &str, date: &str, text: &str) -> CompactItem {
        CompactItem {
            passage: PassageId(id.to_owned()),
            date: date.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_last_draft_speaks_for_and_the_first_against() {
        let text =
            "Assistant: Tortelli.\nUser: Rice.\nAssistant: Soup.\nUser: More.\nAssistant: Bowl.";
        let weights: Vec<f32> = voices(&[item("s1#0", "2025-01-05", text)])
            .iter()
            .map(|v| v.weight)
            .collect();
        assert_eq!(
            weights,
            [FIRST_DRAFT, REACTION, MIDDLE_DRAFT, REACTION, LAST_DRAFT]
        );
    }

    #[test]
    fn chunks_of_one_session_are_read_together_and_later_sessions_weigh_more() {
        let items = [
            item("s1#0", "2025-01-05", "User: Old."),
            item("s2#0", "2025-02-05", "Assistant: First.\nUser: New."),
            item("s2#1", "2025-02-05", "Assistant: Last."),
        ];
        let heard = voices(&items);
        let texts: Vec<&str> = heard.iter().map(|v| v.text.as_str()).collect();
        assert_eq!(texts, ["First.", "New.", "Last.", "Old."]);
        assert_eq!(heard[2].weight, LAST_DRAFT);
        assert_eq!(heard[3].weight, REACTION * RECENCY);
    }

    // By hand: the sentence is near b (0.9) and far from a (0.1); mean 0.5, about 0.75.
    #[test]
    fn an_option_wins_by_what_speaks_for_it_above_the_others() {
        let options = [json!("a"), json!("b")];
        let vectors = [vec![0.1, 0.0], vec![0.9, 0.0]];
        let voice = |weight| Voice {
            text: String::new(),
            weight,
        };
        let said = [vec![1.0, 0.0]];
        assert_eq!(
            best_option(&options, &vectors, &said, &[voice(1.0)]),
            Some(&json!("b"))
        );
        assert_eq!(
            best_option(&options, &vectors, &said, &[voice(-1.0)]),
            Some(&json!("a"))
        );
        assert_eq!(best_option(&options, &vectors, &[], &[]), Some(&json!("a")));
    }
}
