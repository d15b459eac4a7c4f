//! Equal stages are taken over from earlier runs, counted in model calls and searches.

use crate::support::{hidden, history, instance, obliging, run_spec};
use futures::executor::block_on;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::trace::{StageId, System};
use iba_lab::bench::visible::History;
use iba_lab::prompts;
use iba_lab::run::drive::{Case, RunSpec, run_instance};
use iba_lab::run::fake::FakeEnv;
use iba_lab::run::record::{ModelRef, RunRecord, RunStatus};

/// A run with what the earlier ones found; gives the record, the model calls and the searches.
fn run_after(earlier: &[&RunRecord], spec: &RunSpec) -> (RunRecord, usize, usize) {
    let env = FakeEnv::with_sessions(&history()).answering(obliging);
    run_in(&env, earlier, spec)
}

fn run_in(env: &FakeEnv, earlier: &[&RunRecord], spec: &RunSpec) -> (RunRecord, usize, usize) {
    let mut memo = StageMemo::new();
    for record in earlier {
        memo.add(&record.id, &record.stages);
    }
    let history = History {
        persona: "p1".into(),
        sessions: history(),
    };
    let case = Case {
        instance: &instance(),
        hidden: &hidden(),
        domain: &"work".into(),
        history: &history,
    };
    let record = block_on(run_instance(env, spec, case, &memo));
    assert_eq!(record.status, RunStatus::Done);
    let (calls, searches) = (env.chats.borrow().len(), env.texts.borrow().len());
    (record, calls, searches)
}

fn spec(id: &str, system: System) -> RunSpec {
    let agent = ModelRef::Endpoint {
        base_url: "https://m.example".to_owned(),
        model: "m".to_owned(),
    };
    RunSpec {
        id: id.to_owned(),
        ..run_spec(system, agent)
    }
}

fn shared(record: &RunRecord) -> Vec<StageId> {
    let taken = record
        .stages
        .iter()
        .filter(|stage| stage.shared_from.is_some());
    taken.map(|stage| stage.stage).collect()
}

use StageId::*;
const DEEP: [StageId; 3] = [QueryExpansion, SimilarityRetrieval, SalienceReranking];

#[test]
fn an_ablation_pays_for_what_is_its_own_only() {
    let (full, calls, _) = run_after(&[], &spec("full", System::IbaAgent));
    assert_eq!(calls, 6);
    // Of w/o BT + DA only the head is new; of w/o Synthesis too.
    for system in [System::WoBtDa, System::WoSynthesis] {
        let (record, calls, searches) = run_after(&[&full], &spec("ablation", system));
        assert_eq!((calls, searches), (1, 0), "{system:?}");
        assert_eq!(shared(&record)[..3], DEEP, "{system:?}");
        let payer = record.stages[0].shared_from.as_deref();
        assert_eq!(payer, Some("full"));
        assert!(record.stages[0].calls.iter().all(|call| call.from_journal));
        // The result is the same as without sharing.
        let (alone, _, _) = run_after(&[], &spec("ablation", system));
        assert_eq!(alone.output, record.output);
        let outcomes = |r: &RunRecord| {
            r.stages
                .iter()
                .map(|s| s.outcome.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(outcomes(&alone), outcomes(&record));
    }
    // Standard RAG searches one query where IBA-Agent searched three: nothing is equal.
    let (rag, calls, searches) = run_after(&[&full], &spec("rag", System::StandardRag));
    assert_eq!((calls, searches, shared(&rag).len()), (1, 1, 0));
    // And w/o Deep Retrieval searches just that.
    let (_, _, searches) = run_after(&[&full, &rag], &spec("wo", System::WoDeepRetrieval));
    assert_eq!(searches, 0);
}

#[test]
fn what_was_odd_about_a_search_is_kept_with_its_results() {
    let odd = "1 of 3 queries is longer than the model reads";
    let notes = |record: &RunRecord| {
        let noted = record.stages.iter().filter(|s| !s.notes.is_empty());
        let noted = noted.filter(|s| s.notes.iter().any(|note| note == odd));
        noted
            .map(|s| (s.stage, s.notes.clone()))
            .collect::<Vec<_>>()
    };
    let env = FakeEnv::with_sessions(&history())
        .answering(obliging)
        .wondering(odd);
    let (full, ..) = run_in(&env, &[], &spec("full", System::IbaAgent));
    let expected = [(SimilarityRetrieval, vec![odd.to_owned()])];
    assert_eq!(notes(&full), expected);
    // Whoever takes the result over did not search, and is told all the same.
    let (record, _, searches) = run_after(&[&full], &spec("ablation", System::WoSynthesis));
    assert_eq!(searches, 0);
    assert_eq!(notes(&record), expected);
    // The history of somebody else is searched by way of the same engine.
    let env = FakeEnv::with_sessions(&history())
        .answering(obliging)
        .wondering(odd);
    let mut borrowed = spec("other", System::OtherHistory);
    borrowed.variant.donor = Some("p2".into());
    let (other, ..) = run_in(&env, &[], &borrowed);
    assert_eq!(notes(&other), expected);
}

#[test]
fn the_same_run_again_costs_nothing_and_another_repeat_everything() {
    let (first, _, _) = run_after(&[], &spec("first", System::IbaAgent));
    let (again, calls, searches) = run_after(&[&first], &spec("again", System::IbaAgent));
    assert_eq!((calls, searches), (0, 0));
    assert_eq!(again.output, first.output);
    let repeat = RunSpec {
        epoch: 2,
        ..spec("repeat", System::IbaAgent)
    };
    let (_, calls, _) = run_after(&[&first], &repeat);
    assert_eq!(calls, 6, "a repeat is really asked again");
}

#[test]
fn a_parameter_makes_only_what_lies_behind_it_run_again() {
    let (first, _, _) = run_after(&[], &spec("first", System::IbaAgent));
    let with = |change: fn(&mut RunSpec)| {
        let mut spec = spec("next", System::IbaAgent);
        change(&mut spec);
        run_after(&[&first], &spec)
    };
    // The cut is local: scores are kept, and with the same passages left nothing else changes.
    let (record, calls, searches) = with(|spec| spec.params.min_salience = 6.0);
    assert_eq!((calls, searches), (0, 0));
    assert_eq!(record.params.min_salience, 6.0);
    // With fewer passages left, thinking and writing run again; retrieval and scores do not. The
    // preferences come out the same, so the plan is shared as well.
    let (record, calls, searches) = with(|spec| spec.params.max_passages = 1);
    assert_eq!((calls, searches), (3, 0));
    let kept = [DEEP.as_slice(), &[TaskPreferenceAlignment]].concat();
    assert_eq!(shared(&record), kept);
    // Another retrieval runs everything behind it again, but no expansion.
    let (record, calls, searches) = with(|spec| spec.params.top_k = 1);
    assert_eq!((calls, searches), (4, 3));
    assert_eq!(shared(&record)[0], QueryExpansion);
    // Sampling is part of every question to a model.
    let (_, calls, searches) = with(|spec| spec.params.temperature = Some(0.5));
    assert_eq!((calls, searches), (6, 0));
}

#[test]
fn another_model_prompt_retriever_or_version_shares_no_answer() {
    let (first, _, _) = run_after(&[], &spec("first", System::IbaAgent));
    let mut other = spec("next", System::IbaAgent);
    other.agent = ModelRef::Endpoint {
        base_url: "https://m.example".to_owned(),
        model: "other".to_owned(),
    };
    assert_eq!(run_after(&[&first], &other).1, 6);
    let mut other = spec("next", System::IbaAgent);
    other.retriever.model_sha256 = "1".to_owned();
    assert_eq!(run_after(&[&first], &other).1, 6);
    let mut other = spec("next", System::IbaAgent);
    other.app_version = "9".to_owned();
    assert_eq!(run_after(&[&first], &other).1, 6);
    let shipped = prompts::all()
        .into_iter()
        .find(|p| p.id == "salience")
        .unwrap();
    let mut other = spec("next", System::IbaAgent);
    let changed = shipped.text.replace("whole number", "number");
    other.variant.edits.set("salience", &changed).unwrap();
    let (record, calls, searches) = run_after(&[&first], &other);
    assert_eq!(
        (calls, searches),
        (1, 0),
        "only the scores are asked for anew"
    );
    let salience = &record.stages[3].calls[0];
    assert_ne!(
        salience.prompt.sha256, shipped.sha256,
        "the hash is that of the text sent"
    );
    assert_eq!(record.variant.edits.get("salience"), Some(changed.as_str()));
    assert!(record.system_label().contains("edited prompts"));
}

#[test]
fn a_failed_stage_is_asked_again() {
    let env = FakeEnv::with_sessions(&history());
    let history = History {
        persona: "p1".into(),
        sessions: history(),
    };
    let case = Case {
        instance: &instance(),
        hidden: &hidden(),
        domain: &"work".into(),
        history: &history,
    };
    let failed = block_on(run_instance(
        &env,
        &spec("bad", System::StandardRag),
        case,
        &StageMemo::new(),
    ));
    assert!(matches!(failed.status, RunStatus::Failed { .. }));
    let (record, calls, _) = run_after(&[&failed], &spec("good", System::StandardRag));
    assert_eq!(calls, 1);
    assert_eq!(
        shared(&record),
        [SimilarityRetrieval],
        "what had succeeded is kept"
    );
}
