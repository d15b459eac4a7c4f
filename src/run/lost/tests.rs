//! Losses planted at each gate are found there.

use super::*;
use crate::agent::trace::{
    AlignmentPlan, CompactItem, ExtractedPreference, Output, PlanItem, Query, QueryHits, StageId,
};
use crate::embed::{Hit, Passage};

/// Passage ids that leave each stage; `None` where the stage is absent.
#[derive(Clone, Default)]
struct Planted {
    retrieved: Option<Vec<&'static str>>,
    kept: Option<Vec<&'static str>>,
    ranked: Option<Vec<&'static str>>,
    compacted: Option<Vec<&'static str>>,
    /// Citations of the one extracted preference.
    cited: Option<Vec<&'static str>>,
    /// Slot of the one plan item.
    plan: Option<Option<&'static str>>,
}

fn full(ids: &[&'static str]) -> Planted {
    let ids = Some(ids.to_vec());
    Planted {
        retrieved: ids.clone(),
        kept: ids.clone(),
        ranked: ids.clone(),
        compacted: ids.clone(),
        cited: ids,
        plan: Some(None),
    }
}

fn passage(id: &str) -> Passage {
    let id = PassageId(id.to_owned());
    let session = session_of(&id);
    Passage {
        id,
        session,
        date: "2025-01-01T00:00:00".into(),
        text: String::new(),
        start: None,
    }
}

fn record(stage: StageId, outcome: StageOutcome) -> StageRecord {
    let (calls, notes) = (vec![], vec![]);
    StageRecord {
        stage,
        started_ms: 0.0,
        duration_ms: 0.0,
        outcome,
        calls,
        notes,
        key: String::new(),
        shared_from: None,
    }
}

fn pid(id: &&'static str) -> PassageId {
    PassageId((*id).to_owned())
}

fn stages(planted: &Planted) -> Vec<StageRecord> {
    let mut stages = Vec::new();
    if let Some(ids) = &planted.retrieved {
        let hits = ids
            .iter()
            .map(|id| Hit {
                passage: passage(id),
                score: 0.5,
            })
            .collect();
        let query = Query {
            facet: "task".into(),
            text: "t".into(),
        };
        let outcome = StageOutcome::Retrieved {
            lists: vec![QueryHits { query, hits }],
        };
        stages.push(record(StageId::SimilarityRetrieval, outcome));
    }
    if let Some(ids) = &planted.kept {
        let kept = ids.iter().map(|id| passage(id)).collect();
        let outcome = StageOutcome::Filtered {
            kept,
            dropped: vec![],
        };
        stages.push(record(StageId::RedundancyFiltering, outcome));
    }
    if let Some(ids) = &planted.ranked {
        let kept = ids.iter().map(pid).collect();
        let reason = "salience 3 is below 5".to_owned();
        let dropped = vec![Dropped {
            passage: PassageId("s1#9".into()),
            reason,
        }];
        let outcome = StageOutcome::Ranked {
            scored: vec![],
            kept,
            dropped,
        };
        stages.push(record(StageId::SalienceReranking, outcome));
    }
    if let Some(ids) = &planted.compacted {
        let item = |id| CompactItem {
            passage: pid(id),
            date: String::new(),
            text: String::new(),
        };
        let items = ids.iter().map(item).collect();
        let outcome = StageOutcome::Compacted {
            items,
            dropped: vec![],
        };
        stages.push(record(StageId::CompactEvidence, outcome));
    }
    if let Some(ids) = &planted.cited {
        let passages = ids.iter().map(pid).collect();
        let (text, kind) = ("x".to_owned(), "asked".to_owned());
        let items = vec![ExtractedPreference {
            text,
            kind,
            passages,
        }];
        stages.push(record(
            StageId::PreferenceExtraction,
            StageOutcome::Preferences { items },
        ));
    }
    if let Some(slot) = planted.plan {
        let slot = slot.map(str::to_owned);
        let items = vec![PlanItem {
            aspect: "constraint".into(),
            text: "x".into(),
            slot,
        }];
        let outcome = StageOutcome::Plan {
            plan: AlignmentPlan { items },
        };
        stages.push(record(StageId::TaskPreferenceAlignment, outcome));
    }
    let output = Output::GenerateText { text: "x".into() };
    stages.push(record(
        StageId::TextGeneration,
        StageOutcome::Output { output },
    ));
    stages
}

#[track_caller]
fn check(dynamic: bool, slot: Option<&str>, planted: Planted, expected: Loss) -> Path {
    let sessions = [SessionId::from("s1"), SessionId::from("s2")];
    let path = trace(
        Wanted {
            sessions: &sessions,
            slot,
            dynamic,
            links: None,
            disputed: false,
        },
        &stages(&planted),
    );
    assert_eq!(path.loss, expected, "{path:#?}");
    path
}

const BOTH: [&str; 3] = ["s1#0", "s2#3", "s7#0"];
const OLD: [&str; 2] = ["s1#0", "s7#0"];
const OTHER: [&str; 1] = ["s7#0"];

#[test]
fn planted_losses_are_found_where_they_were_planted() {
    let other = || Some(OTHER.to_vec());
    let cases: [(Planted, Gate); 5] = [
        (full(&OTHER), Gate::Retrieved),
        (
            Planted {
                retrieved: Some(BOTH.to_vec()),
                ..full(&OTHER)
            },
            Gate::Kept,
        ),
        (
            Planted {
                ranked: other(),
                compacted: other(),
                cited: other(),
                ..full(&BOTH)
            },
            Gate::RankedIn,
        ),
        (
            Planted {
                compacted: other(),
                cited: other(),
                ..full(&BOTH)
            },
            Gate::CompactedIn,
        ),
        (
            Planted {
                cited: other(),
                ..full(&BOTH)
            },
            Gate::Extracted,
        ),
    ];
    for (planted, gate) in cases {
        check(false, None, planted.clone(), Loss::At(gate));
        check(true, Some("slot"), planted, Loss::At(gate));
    }
}

#[test]
fn a_text_plan_carries_no_link_so_nothing_is_claimed() {
    let path = check(false, None, full(&BOTH), Loss::After(Gate::Extracted));
    assert!(
        path.sentence()
            .starts_with("The evidence was extracted; no link tells")
    );
}

#[test]
fn a_plan_for_a_call_is_judged_by_its_slot() {
    let wrong = Planted {
        plan: Some(Some("budget")),
        ..full(&BOTH)
    };
    check(false, Some("cuisine"), wrong, Loss::At(Gate::Planned));
    let right = Planted {
        plan: Some(Some("cuisine")),
        ..full(&BOTH)
    };
    let path = check(false, Some("cuisine"), right, Loss::At(Gate::Output));
    assert!(path.sentence().starts_with("The plan decided this slot"));
}

#[test]
fn the_latest_evidence_counts_where_a_preference_changed() {
    let lost = Planted {
        retrieved: Some(BOTH.to_vec()),
        ..full(&OLD)
    };
    check(true, None, lost.clone(), Loss::LatestAt(Gate::Kept));
    check(false, None, lost, Loss::After(Gate::Extracted));
}

#[test]
fn standard_rag_puts_what_it_retrieves_in_front_of_the_model() {
    let rag = |ids: &[&'static str]| Planted {
        retrieved: Some(ids.to_vec()),
        ..Planted::default()
    };
    check(false, None, rag(&BOTH), Loss::At(Gate::Output));
    let path = check(false, None, rag(&OTHER), Loss::At(Gate::Retrieved));
    assert_eq!(path.steps[1].passed, Passed::NotRun);
}

#[test]
fn preferences_without_citations_end_the_trace() {
    let mute = Planted {
        cited: Some(vec![]),
        ..full(&BOTH)
    };
    check(false, None, mute, Loss::After(Gate::CompactedIn));
}

#[test]
fn without_evidence_links_nothing_is_said() {
    let path = trace(
        Wanted {
            sessions: &[],
            dynamic: false,
            slot: None,
            links: None,
            disputed: false,
        },
        &stages(&full(&BOTH)),
    );
    assert_eq!(path.loss, Loss::Unknown);
}

#[test]
fn reasons_of_the_stage_are_carried_along() {
    let ranked_out = Planted {
        ranked: Some(OTHER.to_vec()),
        ..full(&BOTH)
    };
    let path = check(false, None, ranked_out, Loss::At(Gate::RankedIn));
    let reasons = &path.steps[2].reasons;
    assert_eq!(reasons.len(), 1);
    assert_eq!(reasons[0].1, "salience 3 is below 5");
}
