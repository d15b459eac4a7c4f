//! QA mode: the preferences are asked for, judged as outputs are, and set against the action.

use crate::support::{hidden, history, instance, obliging, run_spec};
use futures::executor::block_on;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::trace::{StageId, System};
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::visible::History;
use iba_lab::judge::opinion::Standing;
use iba_lab::judge::{JudgeModel, Panel, VerdictState};
use iba_lab::llm::Chat;
use iba_lab::run::StepError;
use iba_lab::run::drive::{Case, RunSpec, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::qa;
use iba_lab::run::record::{Mode, ModelRef, RunRecord, RunStatus, Variant};
use serde_json::json;

fn asked_hidden() -> HiddenInstance {
    let qa = json!([
        {"preference": "q1", "question": "How does she want points?", "answer": "Numbered"},
        {"preference": "q2", "question": "What comes first?", "answer": "Thanks to somebody"},
    ]);
    HiddenInstance {
        qa: serde_json::from_value(qa).unwrap(),
        ..hidden()
    }
}

fn spec(system: System, agent: ModelRef, mode: Mode) -> RunSpec {
    RunSpec {
        variant: Variant {
            mode,
            ..Variant::default()
        },
        panel: Panel::of(
            JudgeModel {
                model: "g".to_owned(),
                base_url: String::new(),
                temperature: None,
                seed: None,
                max_output_tokens: 1000,
                repeats: 1,
                wording: None,
            },
            // An order that leaves the criteria as written.
            1,
        ),
        ..run_spec(system, agent)
    }
}

/// Answers questions, and judges by the criterion's words: numbering and thanks are met, the rest is
/// not.
fn knowing(chat: &Chat) -> Option<Result<String, StepError>> {
    let text = message_text(chat.messages.last()?);
    if text.contains("The questions:") {
        let items = json!([{"id": "Q1", "text": "Numbered."}, {"id": "Q2", "text": "not known"}]);
        return Some(Ok(json!({ "items": items }).to_string()));
    }
    if text.contains("{\"verdicts\"") {
        let criteria = text.lines().filter_map(|line| line.split_once(": "));
        let criteria = criteria.filter(|(id, _)| id.len() == 2 && id.starts_with('R'));
        let verdict = |(id, says): (&str, &str)| {
            let met = says.contains("Numbered") || says.contains("is thanked");
            json!({"id": id, "quote": "", "rationale": "so", "verdict": u8::from(met)})
        };
        let verdicts: Vec<_> = criteria.map(verdict).collect();
        return Some(Ok(json!({ "verdicts": verdicts }).to_string()));
    }
    obliging(chat)
}

fn run(spec: &RunSpec, hidden: &HiddenInstance) -> (RunRecord, FakeEnv) {
    let env = FakeEnv::with_sessions(&history()).answering(knowing);
    let history = History {
        persona: "p1".into(),
        sessions: history(),
    };
    let case = Case {
        instance: &instance(),
        hidden,
        domain: &"work".into(),
        history: &history,
    };
    let record = block_on(run_instance(&env, spec, case, &StageMemo::new()));
    (record, env)
}

fn endpoint() -> ModelRef {
    ModelRef::Endpoint {
        base_url: String::new(),
        model: "m".to_owned(),
    }
}

#[test]
fn questions_are_searched_for_answered_and_judged() {
    let hidden = asked_hidden();
    let (record, env) = run(&spec(System::IbaAgent, endpoint(), Mode::Qa), &hidden);
    assert_eq!(record.status, RunStatus::Done);
    let text = record.output.as_ref().unwrap().value();
    assert_eq!(
        text,
        json!(
            "Q1: How does she want points?\n\nA1: Numbered.\n\nQ2: What comes first?\n\nA2: not known"
        )
    );
    let searched = env.texts.borrow();
    assert_eq!(
        searched[..2],
        ["How does she want points?", "What comes first?"]
    );
    let stages: Vec<StageId> = record.stages.iter().map(|s| s.stage).collect();
    assert_eq!(stages.last(), Some(&StageId::QuestionAnswering));
    assert!(!stages.contains(&StageId::TaskPreferenceAlignment));
    let states: Vec<VerdictState> = record.judgements[0]
        .verdicts
        .iter()
        .map(|v| v.state)
        .collect();
    assert_eq!(states, [VerdictState::Met, VerdictState::NotMet]);
    assert_eq!(record.requirements.len(), 2);
    assert_eq!(record.requirements[0].evidence_sessions, ["s1"]);
    assert!(record.requirements[1].dynamic);
}

#[test]
fn no_answer_reaches_the_system() {
    for system in [
        System::IbaAgent,
        System::StandardRag,
        System::NoHistory,
        System::WholeHistory,
    ] {
        let (_, env) = run(&spec(system, endpoint(), Mode::Qa), &asked_hidden());
        for chat in env.chats.borrow().iter().filter(|chat| chat.model == "m") {
            for message in &chat.messages {
                assert!(
                    !message_text(message).contains("Thanks to somebody"),
                    "{system:?}"
                );
            }
        }
    }
}

#[test]
fn the_gap_sets_knowledge_against_action() {
    let hidden = asked_hidden();
    let (qa_run, _) = run(&spec(System::IbaAgent, endpoint(), Mode::Qa), &hidden);
    let (task_run, _) = run(&spec(System::IbaAgent, endpoint(), Mode::Task), &hidden);
    // By hand: QA 1 of 2; task r1 by its check (two numbered items) met, r2 met by the judge as its
    // first, r3 not: 2 of 3.
    let gap = qa::gap(&hidden, Some(&task_run), Some(&qa_run));
    assert_eq!(gap.qa, Some(0.5));
    assert!((gap.task.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert!((gap.points().unwrap() - 50.0 / 3.0).abs() < 1e-9);
    let known: Vec<_> = gap.rows.iter().map(|row| (row.known, row.acted)).collect();
    let (met, not) = (Some(Standing::Met), Some(Standing::NotMet));
    assert_eq!(known, [(met, met), (not, not)]);
    let empty = qa::gap(&hidden, None, None);
    assert_eq!((empty.points(), empty.rows[0].known), (None, None));
}

#[test]
fn without_a_judge_answers_stay_unscored_and_without_questions_the_run_says_so() {
    let mut spec = spec(System::IbaAgent, ModelRef::Embedded, Mode::Qa);
    spec.panel = Panel::default();
    let (record, _) = run(&spec, &asked_hidden());
    assert_eq!(record.status, RunStatus::Done);
    assert!(record.output.is_some());
    assert!(
        record.judgements[0]
            .verdicts
            .iter()
            .all(|v| v.state == VerdictState::Unscored)
    );
    let (record, _) = run(&spec, &hidden());
    let RunStatus::Failed { message } = record.status else {
        panic!()
    };
    assert!(message.contains("no questions"), "{message}");
}

#[test]
fn runs_on_questions_never_stand_in_one_mean_with_runs_on_tasks() {
    let hidden = asked_hidden();
    let (qa_run, _) = run(&spec(System::IbaAgent, endpoint(), Mode::Qa), &hidden);
    let (task_run, _) = run(&spec(System::IbaAgent, endpoint(), Mode::Task), &hidden);
    assert!(!qa_run.same_setup(&task_run));
    assert_eq!(qa_run.system_label(), "IBA-Agent · QA");
}
