//! What the later stages made of a requirement, by meaning: whether an extracted preference or a
//! point of the plan says what the requirement's preference says.
//!
//! A judge model decides it when the run has one; else the nearest entry decides by similarity of
//! its embedding. Similarity cannot tell a wish from its opposite, so it is a lead, not a proof,
//! and every view that uses it says so.

use crate::agent::trace::{CallRecord, PromptRef, StageOutcome, StageRecord};
use crate::bench::hidden::HiddenInstance;
use crate::bench::ids::RequirementId;
use crate::judge::{JudgeModel, Panel};
use crate::llm::Reply;
use crate::llm::read::{self, ReadVerdict, VerdictItem};
use crate::prompts;
use crate::run::ask::{AskError, Asked, Traces, ask};
use crate::run::{CallRole, Env, StepError};
use serde::{Deserialize, Serialize};

/// Cosine from which an entry counts as saying the same. Measured with all-MiniLM-L6-v2 on
/// IBA-Mini, where it links 83 % of preferences to their own requirement and 4 % to another one of
/// the same instance (`tests/engine/lost_similarity.rs`).
pub const SIMILAR: f64 = 0.4;

/// Cosine from which the nearest entry counts although it is below [`SIMILAR`], when it rests on a
/// passage of the requirement's own evidence.
pub const SIMILAR_AND_CITED: f64 = 0.25;

/// Links of the requirements that were followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Links {
    pub by: LinkedBy,
    pub requirements: Vec<RequirementLinks>,
    /// The model's call, where one was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRecord>,
}

/// Who found the links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LinkedBy {
    Model { model: String, prompt: PromptRef },
    Similarity { threshold: f64 },
}

/// What carries one requirement. A stage that the run does not have is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequirementLinks {
    pub requirement: RequirementId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted: Option<Link>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Link>,
    /// Who found these, where it was another than the rest: the output was judged again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<LinkedBy>,
}

/// Whether a stage's entries carry the requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    pub found: bool,
    /// The entry in question; the nearest one where none was found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entry: String,
    /// Cosine, where similarity decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

/// Entries of the two stages; `None` where the run has no such stage.
struct Entries {
    extracted: Option<Vec<String>>,
    planned: Option<Vec<String>>,
}

impl Entries {
    fn of(stages: &[StageRecord]) -> Self {
        let last = |pick: fn(&StageOutcome) -> Option<Vec<String>>| {
            stages.iter().rev().find_map(|stage| pick(&stage.outcome))
        };
        Self {
            extracted: last(|outcome| match outcome {
                StageOutcome::Preferences { items } => {
                    Some(items.iter().map(|item| item.text.clone()).collect())
                }
                _ => None,
            }),
            planned: last(|outcome| match outcome {
                StageOutcome::Plan { plan } => {
                    Some(plan.items.iter().map(|item| item.text.clone()).collect())
                }
                _ => None,
            }),
        }
    }
}

/// A requirement to follow: its preference and its own text.
#[derive(Clone, Debug)]
struct Wish {
    id: RequirementId,
    preference: String,
    requirement: String,
}

fn wishes(hidden: &HiddenInstance, ids: &[RequirementId]) -> Vec<Wish> {
    let wish = |id: &RequirementId| {
        let requirement = hidden.requirements.iter().find(|r| r.id == *id)?;
        let mut preferences = hidden.preferences.iter();
        let preference = preferences.find(|p| p.id == requirement.preference);
        Some(Wish {
            id: id.clone(),
            preference: preference.map(|p| p.text.clone()).unwrap_or_default(),
            requirement: requirement.text.clone(),
        })
    };
    ids.iter().filter_map(wish).collect()
}

/// Follows these requirements through the later stages of a run. `None` where there is nothing to
/// follow. Only a cancelled run is an error: a model that fails leaves the work to similarity, and
/// an engine that fails leaves no links.
pub async fn find(
    env: &impl Env,
    panel: &Panel,
    stages: &[StageRecord],
    hidden: &HiddenInstance,
    ids: &[RequirementId],
) -> Result<Option<Links>, StepError> {
    let (entries, wishes) = (Entries::of(stages), wishes(hidden, ids));
    let empty = entries.extracted.is_none() && entries.planned.is_none();
    if wishes.is_empty() || empty {
        return Ok(None);
    }
    let mut calls = Vec::new();
    if let Some(judge) = panel.judges.first() {
        let mut traces = Traces::default();
        let answer = by_model(env, judge, &entries, &wishes, &mut traces).await;
        calls = traces.calls;
        match answer {
            Ok((prompt, requirements)) => {
                let model = judge.model.clone();
                let by = LinkedBy::Model { model, prompt };
                return Ok(Some(Links {
                    by,
                    requirements,
                    calls,
                }));
            }
            Err(AskError::Call(StepError::Cancelled)) => return Err(StepError::Cancelled),
            Err(_) => {}
        }
    }
    match by_similarity(env, &entries, &wishes).await {
        Ok(requirements) => Ok(Some(Links {
            by: LinkedBy::Similarity { threshold: SIMILAR },
            requirements,
            calls,
        })),
        Err(StepError::Cancelled) => Err(StepError::Cancelled),
        Err(_) => Ok(None),
    }
}

async fn by_model(
    env: &impl Env,
    judge: &JudgeModel,
    entries: &Entries,
    wishes: &[Wish],
    traces: &mut Traces,
) -> Result<(PromptRef, Vec<RequirementLinks>), AskError> {
    let ids = |list: &Option<Vec<String>>, letter: char| -> Vec<String> {
        let n = if list.is_some() { wishes.len() } else { 0 };
        (1..=n).map(|i| format!("{letter}{i}")).collect()
    };
    let (of_extracted, of_planned) = (ids(&entries.extracted, 'E'), ids(&entries.planned, 'L'));
    let asked: Vec<String> = of_extracted.iter().chain(&of_planned).cloned().collect();
    let lines: Vec<(&str, &str)> = wishes
        .iter()
        .map(|wish| (wish.preference.as_str(), wish.requirement.as_str()))
        .collect();
    let none = Vec::new();
    let prompt = prompts::where_lost(
        entries.extracted.as_ref().unwrap_or(&none),
        entries.planned.as_ref().unwrap_or(&none),
        &lines,
        &asked,
    );
    let reference = prompt.reference.clone();
    let to = Asked {
        role: CallRole::Grader(0),
        model: judge.model.clone(),
        temperature: judge.temperature,
        max_tokens: judge.max_output_tokens,
        seed: judge.seed,
    };
    let read = |r: &Reply| read::verdicts(&r.text, &r.finish, &asked);
    let items = ask(env, &to, prompt, traces, read).await?;
    let (extracted, planned) = items.split_at(of_extracted.len());
    let links = wishes.iter().enumerate().map(|(n, wish)| RequirementLinks {
        requirement: wish.id.clone(),
        extracted: extracted.get(n).and_then(link),
        planned: planned.get(n).and_then(link),
        by: None,
    });
    Ok((reference, links.collect()))
}

/// What the model left out or wrote unreadably is no link and no absence of one.
fn link(item: &VerdictItem) -> Option<Link> {
    let found = match item.verdict {
        ReadVerdict::Met => true,
        ReadVerdict::NotMet => false,
        ReadVerdict::Missing | ReadVerdict::Invalid(_) => return None,
    };
    Some(Link {
        found,
        entry: item.quote.clone().unwrap_or_default(),
        similarity: None,
    })
}

async fn by_similarity(
    env: &impl Env,
    entries: &Entries,
    wishes: &[Wish],
) -> Result<Vec<RequirementLinks>, StepError> {
    let none = Vec::new();
    let extracted = entries.extracted.as_ref();
    let planned = entries.planned.as_ref();
    let wanted = wishes
        .iter()
        .flat_map(|w| [w.preference.clone(), w.requirement.clone()]);
    let texts: Vec<String> = wanted
        .chain(extracted.unwrap_or(&none).iter().cloned())
        .chain(planned.unwrap_or(&none).iter().cloned())
        .collect();
    let vectors = env.embed(&texts).await?;
    let (wanted, rest) = vectors.split_at((2 * wishes.len()).min(vectors.len()));
    let (of_extracted, of_planned) = rest.split_at(extracted.map_or(0, Vec::len).min(rest.len()));
    let links = wishes.iter().enumerate().map(|(n, wish)| {
        let pair = wanted.get(2 * n..2 * n + 2).unwrap_or_default();
        RequirementLinks {
            requirement: wish.id.clone(),
            extracted: extracted.map(|texts| nearest(pair, of_extracted, texts)),
            planned: planned.map(|texts| nearest(pair, of_planned, texts)),
            by: None,
        }
    });
    Ok(links.collect())
}

/// The entry nearest to the preference or to the requirement, whichever is nearer.
fn nearest(wanted: &[Vec<f32>], entries: &[Vec<f32>], texts: &[String]) -> Link {
    let near = |entry: &Vec<f32>| {
        let to = wanted.iter().map(|vector| cosine(vector, entry));
        to.fold(f64::NEG_INFINITY, f64::max)
    };
    let scored = entries.iter().map(near).zip(texts);
    match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
        None => Link {
            found: false,
            entry: String::new(),
            similarity: None,
        },
        Some((similarity, text)) => Link {
            found: similarity >= SIMILAR,
            entry: text.clone(),
            similarity: Some(similarity),
        },
    }
}

/// Of unit vectors.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum()
}

impl Links {
    /// Links of one requirement, and who found them.
    pub fn of(&self, id: &RequirementId) -> Option<(&LinkedBy, &RequirementLinks)> {
        let mut all = self.requirements.iter();
        let own = all.find(|links| links.requirement == *id)?;
        Some((own.by.as_ref().unwrap_or(&self.by), own))
    }

    /// Takes in what was found later, maybe by another; of two findings the later one stands.
    pub fn add(&mut self, more: Links) {
        let newer = |old: &RequirementLinks| {
            let mut new = more.requirements.iter();
            new.any(|new| new.requirement == old.requirement)
        };
        self.requirements.retain(|old| !newer(old));
        let by = (more.by != self.by).then_some(more.by);
        let new = more.requirements.into_iter();
        self.requirements.extend(new.map(|links| RequirementLinks {
            by: links.by.or_else(|| by.clone()),
            ..links
        }));
        self.calls.extend(more.calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_keeps_who_made_it() {
        let finding = |id: &str, found: bool| RequirementLinks {
            requirement: id.into(),
            extracted: Some(Link {
                found,
                entry: String::new(),
                similarity: None,
            }),
            planned: None,
            by: None,
        };
        let near = LinkedBy::Similarity { threshold: SIMILAR };
        let model = LinkedBy::Model {
            model: "m".to_owned(),
            prompt: PromptRef::default(),
        };
        let links = |by: &LinkedBy, requirements| Links {
            by: by.clone(),
            requirements,
            calls: Vec::new(),
        };
        let mut all = links(&near, vec![finding("r1", true), finding("r2", true)]);
        all.add(links(
            &model,
            vec![finding("r2", false), finding("r3", true)],
        ));
        let of = |id: &str| {
            let (by, links) = all.of(&id.into()).expect(id);
            (
                by.clone(),
                links.extracted.as_ref().is_some_and(|l| l.found),
            )
        };
        assert_eq!(of("r1"), (near.clone(), true));
        assert_eq!(of("r2"), (model.clone(), false), "the later finding stands");
        assert_eq!(of("r3"), (model, true));
        assert_eq!(all.requirements.len(), 3);
        all.add(links(&near, vec![finding("r3", false)]));
        assert_eq!(all.of(&"r3".into()).map(|(by, _)| by), Some(&near));
    }
}
