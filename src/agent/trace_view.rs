//! A trajectory as a reader meets it: names of stages, one-line summaries, and the trail of every
//! passage through the stages.

use super::trace::{Decision, Dropped, QueryHits, StageId, StageOutcome, StageRecord, System};
use crate::bench::ids::SessionId;
use crate::bench::taxonomy::Action;
use crate::embed::{Passage, PassageId};
use std::collections::HashMap;

/// All tools in the fixed order of the paper; the last two are the output heads.
pub const TOOLS: [StageId; 9] = [
    StageId::QueryExpansion,
    StageId::SimilarityRetrieval,
    StageId::RedundancyFiltering,
    StageId::SalienceReranking,
    StageId::CompactEvidence,
    StageId::PreferenceExtraction,
    StageId::TaskPreferenceAlignment,
    StageId::TextGeneration,
    StageId::ParameterFilling,
];

/// The steps of a system in its order: for a task with this action, or for questions in its place.
/// A system that picks its tools itself has none that are known before.
pub fn steps(system: System, action: Action, questions: bool) -> Vec<StageId> {
    use StageId::*;
    let deep = [
        QueryExpansion,
        SimilarityRetrieval,
        RedundancyFiltering,
        SalienceReranking,
    ];
    let mut steps: Vec<StageId> = match system {
        System::IbaAgentFc | System::Imported | System::Samples => return Vec::new(),
        System::IbaAgent | System::OtherHistory | System::WoBtDa | System::WoSynthesis => {
            deep.to_vec()
        }
        System::WoDeepRetrieval | System::StandardRag => vec![SimilarityRetrieval],
        System::NoHistory => Vec::new(),
        System::WholeHistory => vec![HistoryFitting],
        System::OracleEvidence => vec![GivenEvidence],
    };
    let thinks = !matches!(
        system,
        System::WoBtDa | System::StandardRag | System::NoHistory | System::WholeHistory
    );
    if thinks {
        steps.extend([CompactEvidence, PreferenceExtraction]);
        steps.extend((!questions).then_some(TaskPreferenceAlignment));
    }
    steps.push(match action {
        _ if questions => QuestionAnswering,
        Action::GenerateText => TextGeneration,
        Action::CallApi => ParameterFilling,
    });
    steps
}

/// One step in the list of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepKey {
    pub stage: StageId,
    /// Steps of the same stage before it; a model that picks its tools may call one again.
    pub nth: u32,
    /// Whether it is a part of the run; the other tools stand in the list as left out.
    pub used: bool,
}

/// The list of a run's steps: in fixed order with the tools the system leaves out, or, where the
/// model picks them, as they came. `done` are the stages so far, `current` the one at work.
pub fn layout(expected: &[StageId], done: &[StageId], current: Option<StageId>) -> Vec<StepKey> {
    if expected.is_empty() {
        let all: Vec<StageId> = done.iter().copied().chain(current).collect();
        let nth = |at: usize| all[..at].iter().filter(|stage| **stage == all[at]).count();
        let key = |at| StepKey {
            stage: all[at],
            nth: nth(at) as u32,
            used: true,
        };
        return (0..all.len()).map(key).collect();
    }
    let before = expected
        .iter()
        .filter(|stage| !TOOLS.contains(stage) && !is_answer(**stage));
    let after = expected.iter().filter(|stage| is_answer(**stage));
    let all = before.chain(&TOOLS).chain(after);
    let key = |stage: &StageId| StepKey {
        stage: *stage,
        nth: 0,
        used: expected.contains(stage),
    };
    all.map(key).collect()
}

fn is_answer(stage: StageId) -> bool {
    stage == StageId::QuestionAnswering
}

/// Name of a tool, as headings show it.
pub fn name(tool: StageId) -> &'static str {
    match tool {
        StageId::Controller => "Controller",
        StageId::GivenEvidence => "Given evidence",
        StageId::HistoryFitting => "History fitting",
        StageId::QuestionAnswering => "Question answering",
        StageId::QueryExpansion => "Query expansion",
        StageId::SimilarityRetrieval => "Similarity retrieval",
        StageId::RedundancyFiltering => "Redundancy filtering",
        StageId::SalienceReranking => "Salience re-ranking",
        StageId::CompactEvidence => "Compact evidence",
        StageId::PreferenceExtraction => "Preference extraction",
        StageId::TaskPreferenceAlignment => "Task-preference alignment",
        StageId::TextGeneration => "Text generation",
        StageId::ParameterFilling => "Parameter filling",
    }
}

/// What the tool is for, in a sentence.
pub fn about(tool: StageId) -> &'static str {
    match tool {
        StageId::Controller => "Picks the next tools; the model's own choice.",
        StageId::GivenEvidence => {
            "Takes the sessions that reveal the preferences, as a perfect retriever would find them."
        }
        StageId::HistoryFitting => {
            "Takes the latest sessions, as many as fit the context window beside request and answer."
        }
        StageId::QuestionAnswering => "Answers the questions about the user.",
        StageId::QueryExpansion => {
            "Asks about style, structure, decisions, corrections and habits beside the task itself."
        }
        StageId::SimilarityRetrieval => "Finds the passages of the history nearest to each query.",
        StageId::RedundancyFiltering => "Drops passages that repeat one another.",
        StageId::SalienceReranking => {
            "Keeps passages that say something about the user, scored 0 to 10."
        }
        StageId::CompactEvidence => "Shortens the kept passages to what bears on the task.",
        StageId::PreferenceExtraction => {
            "Names what the user asked for, corrected, rejected, chose again or lately changed."
        }
        StageId::TaskPreferenceAlignment => "Turns preferences into a plan for this task.",
        StageId::TextGeneration => "Writes the text the plan asks for.",
        StageId::ParameterFilling => "Fills the slots of the call as the plan asks.",
    }
}

/// What the stage did, in a few words, for example `9 kept, 5 dropped`.
pub fn summary(record: &StageRecord) -> String {
    match &record.outcome {
        StageOutcome::Decided { decisions, .. } => decided(decisions),
        StageOutcome::Given { passages } => count(passages.len(), "session", "sessions"),
        StageOutcome::Fitted { fit } => {
            format!("{} kept, {} cut", fit.kept.len(), fit.cut.len())
        }
        StageOutcome::Queries { queries } => count(queries.len(), "query", "queries"),
        StageOutcome::Retrieved { lists } => retrieved(lists),
        StageOutcome::Filtered { kept, dropped } => kept_dropped(kept.len(), dropped),
        StageOutcome::Ranked { kept, dropped, .. } => kept_dropped(kept.len(), dropped),
        StageOutcome::Compacted { items, .. } => count(items.len(), "note", "notes"),
        StageOutcome::Preferences { items } => count(items.len(), "preference", "preferences"),
        StageOutcome::Plan { plan } => count(plan.items.len(), "point", "points"),
        StageOutcome::Output { output } => output_size(output),
        StageOutcome::Failed { .. } => "failed".to_owned(),
    }
}

/// The tools called; those refused in brackets.
fn decided(decisions: &[Decision]) -> String {
    if decisions.is_empty() {
        return "no tool called".to_owned();
    }
    let name = |decision: &Decision| match decision.refused {
        None => decision.tool.clone(),
        Some(_) => format!("({}: refused)", decision.tool),
    };
    decisions.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn retrieved(lists: &[QueryHits]) -> String {
    let hits: usize = lists.iter().map(|list| list.hits.len()).sum();
    let ids: std::collections::HashSet<_> = lists
        .iter()
        .flat_map(|list| &list.hits)
        .map(|hit| &hit.passage.id)
        .collect();
    format!(
        "{}, {}",
        count(hits, "hit", "hits"),
        count(ids.len(), "passage", "passages")
    )
}

fn kept_dropped(kept: usize, dropped: &[Dropped]) -> String {
    format!("{kept} kept, {} dropped", dropped.len())
}

fn output_size(output: &super::trace::Output) -> String {
    match output {
        super::trace::Output::GenerateText { text } => {
            count(text.split_whitespace().count(), "word", "words")
        }
        super::trace::Output::CallApi { slots, .. } => count(slots.len(), "slot", "slots"),
    }
}

/// `1 note`, `3 notes`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Input and output tokens over the stage's calls; `None` where no call counted any.
pub fn tokens(record: &StageRecord) -> Option<(u64, u64)> {
    let usages: Vec<_> = record
        .calls
        .iter()
        .filter_map(|call| call.reply.usage)
        .collect();
    let known = usages
        .iter()
        .any(|usage| usage.input.is_some() || usage.output.is_some());
    known.then(|| {
        let input = usages.iter().filter_map(|usage| usage.input).sum();
        let output = usages.iter().filter_map(|usage| usage.output).sum();
        (input, output)
    })
}

/// `4 ms`, `0.38 s`, `12.4 s`, `2 min 05 s`.
pub fn duration(ms: f64) -> String {
    if ms < 100.0 {
        format!("{ms:.0} ms")
    } else if ms < 10_000.0 {
        format!("{:.2} s", ms / 1000.0)
    } else if ms < 60_000.0 {
        format!("{:.1} s", ms / 1000.0)
    } else {
        let seconds = (ms / 1000.0).round() as u64;
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

/// One retrieved passage on its way through the stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Trail {
    pub passage: Passage,
    /// Which queries found it, in their order.
    pub found_by: Vec<Found>,
    /// 0 to 10, once re-ranked.
    pub salience: Option<f64>,
    pub signals: Vec<String>,
    /// The stage that dropped it, and why.
    pub dropped: Option<(StageId, String)>,
}

/// A query that found a passage.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub facet: String,
    /// Cosine similarity.
    pub score: f32,
    /// From 1.
    pub rank: usize,
}

/// Trails of all retrieved passages, in order of first appearance.
pub fn trails(stages: &[StageRecord]) -> Vec<Trail> {
    let mut builder = Trails::default();
    for record in stages {
        builder.add(record);
    }
    builder.list
}

#[derive(Default)]
struct Trails {
    list: Vec<Trail>,
    index: HashMap<PassageId, usize>,
}

impl Trails {
    fn add(&mut self, record: &StageRecord) {
        match &record.outcome {
            StageOutcome::Retrieved { lists } => lists.iter().for_each(|list| self.found(list)),
            StageOutcome::Given { passages } => passages.iter().for_each(|p| self.given(p)),
            StageOutcome::Filtered { dropped, .. } | StageOutcome::Compacted { dropped, .. } => {
                self.drop(record.stage, dropped)
            }
            StageOutcome::Ranked {
                scored, dropped, ..
            } => {
                for score in scored {
                    if let Some(trail) = self.get(&score.passage) {
                        trail.salience = score.salience;
                        trail.signals.clone_from(&score.signals);
                    }
                }
                self.drop(record.stage, dropped);
            }
            _ => {}
        }
    }

    fn found(&mut self, list: &QueryHits) {
        for (rank, hit) in list.hits.iter().enumerate() {
            let at = *self.index.entry(hit.passage.id.clone()).or_insert_with(|| {
                self.list.push(Trail {
                    passage: hit.passage.clone(),
                    found_by: Vec::new(),
                    salience: None,
                    signals: Vec::new(),
                    dropped: None,
                });
                self.list.len() - 1
            });
            let facet = list.query.facet.clone();
            self.list[at].found_by.push(Found {
                facet,
                score: hit.score,
                rank: rank + 1,
            });
        }
    }

    fn given(&mut self, passage: &Passage) {
        self.index.insert(passage.id.clone(), self.list.len());
        self.list.push(Trail {
            passage: passage.clone(),
            found_by: Vec::new(),
            salience: None,
            signals: Vec::new(),
            dropped: None,
        });
    }

    fn drop(&mut self, stage: StageId, dropped: &[Dropped]) {
        for drop in dropped {
            if let Some(trail) = self.get(&drop.passage) {
                trail.dropped.get_or_insert((stage, drop.reason.clone()));
            }
        }
    }

    fn get(&mut self, id: &PassageId) -> Option<&mut Trail> {
        self.index.get(id).map(|&at| &mut self.list[at])
    }
}

/// The session a passage lies in: the part of its id before `#`.
pub fn session_of(passage: &PassageId) -> SessionId {
    SessionId(passage.0.split('#').next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::trace::{Query, ScoredPassage};
    use crate::embed::Hit;

    fn record(stage: StageId, outcome: StageOutcome) -> StageRecord {
        StageRecord {
            stage,
            started_ms: 0.0,
            duration_ms: 5.0,
            outcome,
            calls: vec![],
            notes: vec![],
            key: String::new(),
            shared_from: None,
        }
    }

    fn hit(id: &str, score: f32) -> Hit {
        let passage = Passage {
            id: PassageId(id.into()),
            session: session_of(&PassageId(id.into())),
            date: "2025-01-01T00:00:00".into(),
            text: id.into(),
            start: None,
        };
        Hit { passage, score }
    }

    fn hits(facet: &str, hits: Vec<Hit>) -> QueryHits {
        QueryHits {
            query: Query {
                facet: facet.into(),
                text: facet.into(),
            },
            hits,
        }
    }

    #[test]
    fn a_trail_joins_queries_salience_and_the_drop() {
        let stages = [
            record(
                StageId::SimilarityRetrieval,
                StageOutcome::Retrieved {
                    lists: vec![
                        hits("task", vec![hit("s1#0", 0.7), hit("s2#1", 0.6)]),
                        hits("style", vec![hit("s2#1", 0.5)]),
                    ],
                },
            ),
            record(
                StageId::SalienceReranking,
                StageOutcome::Ranked {
                    scored: vec![ScoredPassage {
                        passage: PassageId("s2#1".into()),
                        salience: Some(3.0),
                        signals: vec!["complaint".into()],
                    }],
                    kept: vec![PassageId("s1#0".into())],
                    dropped: vec![Dropped {
                        passage: PassageId("s2#1".into()),
                        reason: "salience 3 is below 5".into(),
                    }],
                },
            ),
        ];
        let trails = trails(&stages);
        assert_eq!(trails.len(), 2);
        let second = &trails[1];
        assert_eq!(second.passage.session.as_str(), "s2");
        let by: Vec<_> = second
            .found_by
            .iter()
            .map(|f| (f.facet.as_str(), f.rank))
            .collect();
        assert_eq!(by, [("task", 2), ("style", 1)]);
        assert_eq!(second.salience, Some(3.0));
        assert_eq!(
            second.dropped,
            Some((
                StageId::SalienceReranking,
                "salience 3 is below 5".to_owned()
            ))
        );
        assert_eq!(trails[0].dropped, None);
        assert_eq!(summary(&stages[0]), "3 hits, 2 passages");
        assert_eq!(summary(&stages[1]), "1 kept, 1 dropped");
    }

    #[test]
    fn durations_change_their_unit() {
        for (ms, text) in [
            (3.7, "4 ms"),
            (380.0, "0.38 s"),
            (12_400.0, "12.4 s"),
            (125_000.0, "2 min 05 s"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn a_list_shows_what_is_left_out_or_what_came() {
        use StageId::*;
        let oracle = steps(System::OracleEvidence, Action::GenerateText, false);
        let list = layout(&oracle, &[], None);
        assert_eq!((list[0].stage, list[0].used), (GivenEvidence, true));
        assert_eq!((list[1].stage, list[1].used), (QueryExpansion, false));
        assert_eq!(list.iter().filter(|step| step.used).count(), oracle.len());
        let came = [Controller, SimilarityRetrieval, Controller];
        let list = layout(&[], &came, Some(SimilarityRetrieval));
        let keys: Vec<_> = list.iter().map(|step| (step.stage, step.nth)).collect();
        assert_eq!(
            keys,
            [
                (Controller, 0),
                (SimilarityRetrieval, 0),
                (Controller, 1),
                (SimilarityRetrieval, 1)
            ]
        );
    }

    #[test]
    fn every_system_ends_in_one_head_and_leaves_out_what_its_name_says() {
        use StageId::*;
        let of = |system| steps(system, Action::CallApi, false);
        let full = of(System::IbaAgent);
        assert_eq!(full.len(), 8);
        let without = |gone: &[StageId]| {
            let mut steps = full.clone();
            steps.retain(|step| !gone.contains(step));
            steps
        };
        let thought = [
            CompactEvidence,
            PreferenceExtraction,
            TaskPreferenceAlignment,
        ];
        let deep = [QueryExpansion, RedundancyFiltering, SalienceReranking];
        assert_eq!(of(System::WoBtDa), without(&thought));
        assert_eq!(of(System::WoDeepRetrieval), without(&deep));
        assert_eq!(of(System::WoSynthesis), full);
        assert_eq!(
            of(System::StandardRag),
            [SimilarityRetrieval, ParameterFilling]
        );
        assert_eq!(of(System::NoHistory), [ParameterFilling]);
        assert_eq!(of(System::OracleEvidence)[0], GivenEvidence);
        let asked = steps(System::IbaAgent, Action::CallApi, true);
        assert_eq!(asked.last(), Some(&QuestionAnswering));
        assert!(!asked.contains(&TaskPreferenceAlignment));
    }
}
