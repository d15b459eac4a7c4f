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
    /// Slot and words of the one plan item.
    plan: Option<(Option<&'static str>, &'static str)>,
    /// The slot `cuisine` of the output, which is text without.
    cuisine: Option<&'static str>,
}

fn full(ids: &[&'static str]) -> Planted {
    let ids = Some(ids.to_vec());
    Planted {
        retrieved: ids.clone(),
        kept: ids.clone(),
        ranked: ids.clone(),
        compacted: ids.clone(),
        cited: ids,
        plan: Some((None, "x")),
        cuisine: None,
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
    if let Some((slot, text)) = planted.plan {
        let items = vec![PlanItem {
            aspect: "constraint".into(),
            text: text.into(),
            slot: slot.map(str::to_owned),
        }];
        let outcome = StageOutcome::Plan {
            plan: AlignmentPlan { items },
        };
        stages.push(record(StageId::TaskPreferenceAlignment, outcome));
    }
    let output = match planted.cuisine {
        None => Output::GenerateText { text: "x".into() },
        Some(cuisine) => serde_json::from_value(serde_json::json!({
            "action": "call_api", "slots": {"cuisine": cuisine}, "description": "",
        }))
        .expect("an output"),
    };
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
            accept: &["Japanese".into(), "plain_food".into()],
            dynamic,
            ..Wanted::default()
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
fn a_plan_for_a_call_is_judged_by_the_value_it_names_for_the_slot() {
    let planned = |slot, text, cuisine| Planted {
        plan: Some((Some(slot), text)),
        cuisine: Some(cuisine),
        ..full(&BOTH)
    };
    let says = |planted: Planted, loss: Loss, sentence: &str| {
        let path = check(false, Some("cuisine"), planted, loss);
        assert!(path.sentence().contains(sentence), "{}", path.sentence());
    };
    says(
        planned("budget", "Japanese", "italian"),
        Loss::At(Gate::Planned),
        "no point for this slot",
    );
    for right in ["japanese, as always", "Plain food: her tooth is out"] {
        says(
            planned("cuisine", right, "italian"),
            Loss::At(Gate::Output),
            "names an accepted value for this slot, yet",
        );
    }
    // The output did what the plan said: the plan was wrong.
    says(
        planned("cuisine", "Italian, her favourite", "italian"),
        Loss::At(Gate::Planned),
        "decided this slot otherwise",
    );
    // It names no value, so that nothing tells what it meant.
    for vague in ["Something soft", "Italianate", ""] {
        says(
            planned("cuisine", vague, "italian"),
            Loss::After(Gate::Extracted),
            "no link tells",
        );
    }
}

fn retrieved(ids: &[&'static str]) -> StageRecord {
    let planted = Planted {
        retrieved: Some(ids.to_vec()),
        ..Planted::default()
    };
    stages(&planted).remove(0)
}

fn kept(ids: &[&'static str], dropped: &[&'static str]) -> StageRecord {
    let outcome = StageOutcome::Filtered {
        kept: ids.iter().map(|id| passage(id)).collect(),
        dropped: drops(dropped),
    };
    record(StageId::RedundancyFiltering, outcome)
}

fn ranked(ids: &[&'static str], dropped: &[&'static str]) -> StageRecord {
    let outcome = StageOutcome::Ranked {
        scored: vec![],
        kept: ids.iter().map(pid).collect(),
        dropped: drops(dropped),
    };
    record(StageId::SalienceReranking, outcome)
}

fn drops(ids: &[&'static str]) -> Vec<Dropped> {
    let drop = |id| Dropped {
        passage: pid(id),
        reason: "so".into(),
    };
    ids.iter().map(drop).collect()
}

fn output() -> StageRecord {
    stages(&Planted::default()).remove(0)
}

/// A model that picks its tools calls them again and in any order.
#[test]
fn tools_called_in_any_order_lose_evidence_where_they_drop_it() {
    let other = || retrieved(&["s7#0"]);
    let evidence = || retrieved(&["s1#0"]);
    let cases = [
        // Found by the first of two retrievals.
        (vec![evidence(), other()], Gate::Output),
        // Found after the filter was called, which it therefore never met.
        (
            vec![other(), kept(&["s7#0"], &[]), evidence()],
            Gate::Output,
        ),
        // The filter drops it; a later retrieval finds other things.
        (vec![evidence(), kept(&[], &["s1#0"]), other()], Gate::Kept),
        // Ranked out first, so that the filter never saw it.
        (
            vec![
                evidence(),
                other(),
                ranked(&["s7#0"], &["s1#0"]),
                kept(&["s7#0"], &[]),
            ],
            Gate::RankedIn,
        ),
        // Ranked in, found again, and ranked out the second time.
        (
            vec![
                evidence(),
                ranked(&["s1#0"], &[]),
                evidence(),
                ranked(&[], &["s1#0"]),
            ],
            Gate::RankedIn,
        ),
        // Ranked in while another one is ranked out, twice.
        (
            vec![
                evidence(),
                ranked(&["s1#0"], &[]),
                other(),
                ranked(&["s1#0"], &["s7#0"]),
            ],
            Gate::Output,
        ),
    ];
    let sessions = [SessionId::from("s1")];
    for (n, (mut stages, gate)) in cases.into_iter().enumerate() {
        stages.push(output());
        let wanted = Wanted {
            sessions: &sessions,
            ..Wanted::default()
        };
        let path = trace(wanted, &stages);
        assert_eq!(path.loss, Loss::At(gate), "case {n}: {path:#?}");
    }
}

#[test]
fn evidence_that_did_not_fit_into_the_context_was_cut() {
    let fit = |kept: &[&str], cut: &[&str]| {
        let ids = |ids: &[&str]| ids.iter().map(|id| SessionId::from(*id)).collect();
        let fit = crate::agent::trace::Fit {
            kept: ids(kept),
            cut: ids(cut),
            room_tokens: 10,
            kept_tokens: 9,
            cut_tokens: 9,
        };
        record(StageId::HistoryFitting, StageOutcome::Fitted { fit })
    };
    let sessions = [SessionId::from("s1"), SessionId::from("s2")];
    let end = |stage: StageRecord| {
        let wanted = Wanted {
            sessions: &sessions,
            ..Wanted::default()
        };
        trace(wanted, &[stage, output()])
    };
    let cut = end(fit(&["s3"], &["s1", "s2"]));
    assert_eq!(cut.loss, Loss::At(Gate::Retrieved));
    assert!(cut.sentence().contains("did not fit into the context"));
    let half = end(fit(&["s2", "s3"], &["s1"]));
    assert_eq!(half.loss, Loss::At(Gate::Output));
    assert_eq!(half.steps[0].passed, Passed::Some);
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
    let path = trace(Wanted::default(), &stages(&full(&BOTH)));
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

#[test]
fn another_users_history_cannot_have_the_evidence() {
    // The donor's sessions have names of their own, so that its s1 is not the user's.
    let sessions = [SessionId::from("s1")];
    let wanted = Wanted {
        sessions: &sessions,
        donor: true,
        ..Wanted::default()
    };
    let path = trace(wanted, &[retrieved(&["p2/s1#0"]), output()]);
    assert_eq!(path.loss, Loss::At(Gate::Retrieved));
    assert!(path.sentence().starts_with("Another user's history"));
}

#[test]
fn a_run_that_reads_no_history_has_nothing_to_follow() {
    let path = check(false, None, Planted::default(), Loss::Unknown);
    assert!(path.sentence().contains("no stage that reads the history"));
}

#[test]
fn the_nearest_preference_counts_when_it_rests_on_the_evidence() {
    let sessions = [SessionId::from("s1")];
    let near = |similarity: f64| RequirementLinks {
        requirement: "r1".into(),
        extracted: Some(Link {
            found: false,
            entry: "x".to_owned(),
            similarity: Some(similarity),
        }),
        planned: None,
        by: None,
    };
    let end = |similarity: f64, cited: &'static str| {
        let planted = Planted {
            cited: Some(vec![cited]),
            plan: None,
            ..full(&["s1#0"])
        };
        let (by, links) = (LinkedBy::Similarity { threshold: 0.4 }, near(similarity));
        let wanted = Wanted {
            sessions: &sessions,
            links: Some((&by, &links)),
            ..Wanted::default()
        };
        let path = trace(wanted, &stages(&planted));
        (path.loss, path.means(Gate::Extracted))
    };
    assert_eq!(end(0.3, "s1#0"), (Loss::At(Gate::Output), Means::Citation));
    let denied = (Loss::At(Gate::Extracted), Means::Similarity);
    assert_eq!(end(0.3, "s7#0"), denied, "it rests on something else");
    assert_eq!(end(0.1, "s1#0"), denied, "it says something else");
}
