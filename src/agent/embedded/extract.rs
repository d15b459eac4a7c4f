//! Compaction, extraction and alignment by rules: the user's own sentences that carry a cue,
//! nearest to the task first, later ones before earlier ones that say much the same.

use super::cues::{self, Cue};
use super::dialogue::{self, Speaker, Utterance, sentences};
use super::slots::dot;
use crate::agent::trace::{AlignmentPlan, CompactItem, ExtractedPreference, PlanItem};
use crate::bench::taxonomy::ApiTemplate;
use crate::embed::Passage;

/// Cosine from which a later sentence replaces an earlier one.
const SAME_MATTER: f32 = 0.6;
/// Preferences kept at most.
const MAX_PREFERENCES: usize = 12;
/// What nearness to the task weighs against recency, which goes from 0 to 1 over the evidence.
const RECENCY_WEIGHT: f32 = 0.1;

/// Whether a passage begins with its session.
pub fn opens(passage: &Passage) -> bool {
    passage.id.0.ends_with("#0") || passage.id.0.ends_with("#all")
}

/// A passage without its opening task; `None` when no user speaks in what is left. The assistant's
/// turns stay: a draft that the user left standing shows what suits them, without any cue word.
pub fn compact(passage: &Passage) -> Option<CompactItem> {
    let mut turns = dialogue::parse(&passage.text);
    if opens(passage) && turns.len() > 2 {
        turns.remove(0);
    }
    let has_user = turns.iter().any(|turn| turn.speaker == Speaker::User);
    has_user.then(|| CompactItem {
        passage: passage.id.clone(),
        date: passage.date.clone(),
        text: dialogue::render(&turns),
    })
}

/// A user's sentence that carries a cue.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub preference: ExtractedPreference,
    date: String,
}

/// All of them, oldest first.
pub fn candidates(evidence: &[CompactItem]) -> Vec<Candidate> {
    let mut out = Vec::new();
    for item in evidence {
        for turn in dialogue::parse(&item.text)
            .iter()
            .filter(|t| t.speaker == Speaker::User)
        {
            out.extend(of_turn(turn, item));
        }
    }
    out.sort_by(|a, b| a.date.cmp(&b.date));
    out
}

fn of_turn(turn: &Utterance, item: &CompactItem) -> Vec<Candidate> {
    let candidate = |sentence: &str| {
        let kind = kind(sentence)?;
        let preference = ExtractedPreference {
            text: sentence.to_owned(),
            kind: kind.to_owned(),
            passages: vec![item.passage.clone()],
        };
        Some(Candidate {
            preference,
            date: item.date.clone(),
        })
    };
    sentences(&turn.text)
        .into_iter()
        .filter_map(candidate)
        .collect()
}

fn kind(sentence: &str) -> Option<&'static str> {
    let has = |cue| cues::strength(cue, sentence) > 0;
    if has(Cue::Revision) {
        Some("corrected")
    } else if has(Cue::Complaint) {
        Some("rejected")
    } else if has(Cue::Statement) {
        Some("asked")
    } else {
        has(Cue::Pattern).then_some("repeated")
    }
}

/// The best candidates. `vectors` holds one for each candidate, `task` the task's.
pub fn rank(
    candidates: Vec<Candidate>,
    vectors: &[Vec<f32>],
    task: &[f32],
) -> Vec<ExtractedPreference> {
    let n = candidates.len().max(1) as f32;
    let mut kept: Vec<(f32, usize, ExtractedPreference)> = Vec::new();
    for (i, candidate) in candidates.into_iter().enumerate().rev() {
        let Some(vector) = vectors.get(i) else {
            continue;
        };
        let later = kept
            .iter_mut()
            .find(|(_, j, _)| dot(&vectors[*j], vector) >= SAME_MATTER);
        match later {
            Some((_, _, preference)) => {
                let elsewhere = candidate
                    .preference
                    .passages
                    .iter()
                    .any(|p| !preference.passages.contains(p));
                if elsewhere {
                    preference.kind = "updated".to_owned();
                    preference.passages.extend(candidate.preference.passages);
                }
            }
            None => {
                let score = dot(vector, task) + RECENCY_WEIGHT * i as f32 / n;
                kept.push((score, i, candidate.preference));
            }
        }
    }
    kept.sort_by(|a, b| b.0.total_cmp(&a.0));
    kept.into_iter()
        .take(MAX_PREFERENCES)
        .map(|(_, _, preference)| preference)
        .collect()
}

/// Words by which a sentence is about form rather than manner.
const FORM: &[&str] = &[
    "table",
    "bullet",
    "list",
    "number",
    "paragraph",
    "heading",
    "title",
    "column",
    "row",
    "line",
    "word",
    "short",
    "long",
    "top",
    "first",
    "last",
    "end",
    "order",
    "box",
];

/// Plan items in the order of the preferences. `nearest` is the slot each is nearest to.
pub fn plan(
    preferences: &[ExtractedPreference],
    api: Option<&ApiTemplate>,
    nearest: &[Option<String>],
) -> AlignmentPlan {
    let item = |(i, preference): (usize, &ExtractedPreference)| PlanItem {
        aspect: aspect(preference, api.is_some()).to_owned(),
        text: preference.text.clone(),
        slot: nearest.get(i).cloned().flatten(),
    };
    AlignmentPlan {
        items: preferences.iter().enumerate().map(item).collect(),
    }
}

fn aspect(preference: &ExtractedPreference, call: bool) -> &'static str {
    let text = preference.text.to_lowercase();
    match preference.kind.as_str() {
        "rejected" => "constraint",
        _ if call => "priority",
        _ if FORM.iter().any(|word| text.contains(word)) => "structure",
        _ => "style",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::PassageId;

    fn item(id: &str, date: &str, text: &str) -> CompactItem {
        CompactItem {
            passage: PassageId(id.to_owned()),
            date: date.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_later_correction_replaces_an_earlier_one_on_the_same_matter() {
        let evidence = [
            item(
                "s1#0",
                "2025-02-01T08:00:00",
                "User: Put the verdict last. Make it blue.",
            ),
            item(
                "s9#0",
                "2025-09-01T08:00:00",
                "User: Put the verdict first.",
            ),
        ];
        let found = candidates(&evidence);
        let vectors = [vec![1.0, 0.0], vec![0.0, 1.0], vec![0.9, 0.1]];
        let ranked = rank(found, &vectors, &[1.0, 0.0]);
        let said: Vec<(&str, &str)> = ranked
            .iter()
            .map(|p| (p.text.as_str(), p.kind.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                ("Put the verdict first.", "updated"),
                ("Make it blue.", "corrected")
            ]
        );
        assert_eq!(ranked[0].passages.len(), 2);
    }

    #[test]
    fn compaction_drops_the_old_task_and_talk_without_a_user() {
        let passage = |id: &str, text: &str| Passage {
            id: PassageId(id.to_owned()),
            session: "s1".into(),
            date: String::new(),
            text: text.to_owned(),
            start: None,
        };
        let text = "User: A notice.\nAssistant: Draft.\nUser: Cut it.\nAssistant: Short.";
        let of = |p: Passage| compact(&p).map(|item| item.text);
        assert_eq!(
            of(passage("s1#0", text)).unwrap(),
            "Assistant: Draft.\nUser: Cut it.\nAssistant: Short."
        );
        assert_eq!(
            of(passage("s1#1", "User: The cat slept.\nAssistant: Oh.")).unwrap(),
            "User: The cat slept.\nAssistant: Oh."
        );
        assert_eq!(of(passage("s1#2", "and so on.")), None);
    }
}
