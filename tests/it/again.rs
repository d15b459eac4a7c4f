//! Judging again: what is asked, what stays, what can be taken back, and what a file keeps of it.

use crate::support::{hidden, history, instance, obliging, run_spec};
use futures::executor::block_on;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::trace::{Output, System};
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::visible::History;
use iba_lab::judge::{JudgeModel, Panel, VerdictState};
use iba_lab::llm::Chat;
use iba_lab::prompts::{Edits, all, judge_hash};
use iba_lab::results::inspect::{FileMeta, read, write};
use iba_lab::results::table;
use iba_lab::run::StepError;
use iba_lab::run::again::{calls, judge_again, take_back, waiting};
use iba_lab::run::drive::{Case, RunSpec, judge_given, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::record::{ModelRef, RunRecord, RunStatus};
use serde_json::json;
use std::sync::Arc;

fn judge(model: &str, repeats: u32) -> JudgeModel {
    JudgeModel {
        model: model.to_owned(),
        base_url: "fake".to_owned(),
        repeats,
        temperature: None,
        seed: Some(42),
        max_output_tokens: 1000,
        wording: None,
    }
}

fn with(judges: Vec<JudgeModel>) -> RunSpec {
    let panel = Panel {
        judges,
        shuffle_seed: 42,
    };
    RunSpec {
        panel,
        ..run_spec(System::IbaAgent, ModelRef::Embedded)
    }
}

/// The model named `strict` finds nothing met, every other model everything.
fn answers(chat: &Chat) -> Option<Result<String, StepError>> {
    let text = message_text(chat.messages.last()?);
    if !text.contains("{\"verdicts\"") {
        return obliging(chat);
    }
    let ids = text.lines().filter_map(|line| {
        let (id, _) = line.trim_start_matches("- ").split_once(": ")?;
        let known = id.len() == 2 && id.starts_with(['R', 'E', 'L']);
        known.then(|| id.to_owned())
    });
    let met = u8::from(chat.model != "strict");
    let one = |id| json!({"id": id, "quote": "", "rationale": "so", "verdict": met});
    let verdicts: Vec<_> = ids.map(one).collect();
    Some(Ok(json!({ "verdicts": verdicts }).to_string()))
}

fn env() -> FakeEnv {
    FakeEnv::with_sessions(&history()).answering(answers)
}

fn in_case<T>(hidden: &HiddenInstance, act: impl FnOnce(Case<'_>) -> T) -> T {
    let history = History {
        persona: "p1".into(),
        sessions: history(),
    };
    let (instance, domain) = (instance(), "work".into());
    act(Case {
        instance: &instance,
        hidden,
        domain: &domain,
        history: &history,
    })
}

fn first(spec: &RunSpec) -> RunRecord {
    in_case(&hidden(), |case| {
        block_on(run_instance(&env(), spec, case, &StageMemo::new()))
    })
}

/// Judged again, and the number of calls it took.
fn again(before: &RunRecord, judges: Vec<JudgeModel>) -> (RunRecord, usize) {
    let env = env();
    let spec = with(judges);
    let planned = calls(&spec.panel, before) as usize;
    let record = in_case(&hidden(), |case| {
        block_on(judge_again(&env, &spec, case, before)).expect("judged")
    });
    let chats = env.chats.borrow();
    let asked = chats
        .iter()
        .filter(|chat| message_text(&chat.messages[1]).contains("The criteria:"));
    let asked = asked.count();
    assert!(asked <= planned, "{asked} calls, {planned} announced");
    (record, asked)
}

fn seats(record: &RunRecord) -> Vec<(&str, u32, u32)> {
    record
        .judgements
        .iter()
        .map(|j| (j.judge.as_str(), j.repeat, j.round))
        .collect()
}

#[test]
fn only_what_was_not_said_is_asked_and_the_agent_rests() {
    let before = first(&with(vec![judge("mild", 1)]));
    assert_eq!(seats(&before), [("mild", 1, 0)]);
    let (more, asked) = again(&before, vec![judge("mild", 3), judge("strict", 1)]);
    assert_eq!(asked, 3);
    assert_eq!(
        seats(&more),
        [
            ("mild", 1, 0),
            ("mild", 2, 1),
            ("mild", 3, 1),
            ("strict", 1, 1)
        ]
    );
    assert_eq!(more.stages, before.stages);
    assert_eq!(more.judgements[0], before.judgements[0]);
    let links = more.links.as_ref().expect("what strict fails is followed");
    assert!(!links.requirements.is_empty() && before.links.is_none());
    let (same, asked) = again(&more, vec![judge("mild", 3), judge("strict", 1)]);
    assert_eq!((same, asked), (more, 0), "nothing is paid twice");
}

#[test]
fn a_judge_that_left_a_requirement_out_is_asked_again() {
    let spec = with(vec![judge("mild", 1)]);
    let times = std::cell::Cell::new(0);
    let forgetful = move |chat: &Chat| {
        let whole = answers(chat)?;
        let asks = message_text(chat.messages.last()?).contains("The criteria:");
        times.set(times.get() + u32::from(asks));
        let keep = |text: String| {
            let mut said: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let all = said["verdicts"].as_array_mut().expect("verdicts");
            all.truncate(1);
            said.to_string()
        };
        Some(match asks && times.get() == 1 {
            true => whole.map(keep),
            false => whole,
        })
    };
    let env = FakeEnv::with_sessions(&history()).answering(forgetful);
    let before = in_case(&hidden(), |case| {
        block_on(run_instance(&env, &spec, case, &StageMemo::new()))
    });
    let open = |record: &RunRecord| {
        let all = record.judgements.iter().flat_map(|j| &j.verdicts);
        all.filter(|v| v.state == VerdictState::Unscored).count()
    };
    assert_eq!(open(&before), 1, "one of the two that are asked for");
    let (after, asked) = again(&before, vec![judge("mild", 1)]);
    assert_eq!((asked, open(&after)), (1, 0));
    assert_eq!(seats(&after), [("mild", 1, 1)]);
    assert_eq!(after.set_aside.len(), 1, "what was paid for is kept");
    let (same, asked) = again(&after, vec![judge("mild", 1)]);
    assert_eq!((same, asked), (after, 0));
}

#[test]
fn taken_back_is_set_aside_and_comes_back_unpaid() {
    let before = first(&with(vec![judge("mild", 1)]));
    let (mut record, _) = again(&before, vec![judge("strict", 2)]);
    assert_eq!(take_back(&mut record), 2);
    assert_eq!(record.judgements, before.judgements);
    assert_eq!(waiting(&record), 2);
    let (back, asked) = again(&record, vec![judge("strict", 2)]);
    assert_eq!((asked, waiting(&back)), (0, 0));
    assert_eq!(back.judgements.len(), 3);
}

#[test]
fn an_edited_prompt_is_another_judge_everywhere() {
    let shipped = all().into_iter().find(|p| p.id == "judge").expect("known");
    let mut edits = Edits::default();
    let text = shipped
        .text
        .replace("a strict examiner", "a lenient examiner");
    edits.set("judge", &text).expect("fits");
    let edited = JudgeModel {
        wording: edits.of_judges(),
        ..judge("mild", 1)
    };
    let before = first(&with(vec![judge("mild", 1)]));
    let (record, asked) = again(&before, vec![edited]);
    assert_eq!(asked, 1);
    let (old, new) = (&record.judgements[0], &record.judgements[1]);
    assert_eq!(
        old.prompt.as_ref().map(|p| p.sha256.as_str()),
        Some(shipped.sha256.as_str())
    );
    let hash = judge_hash(Some(&text));
    assert_eq!(
        new.prompt.as_ref().map(|p| p.sha256.clone()),
        Some(hash.clone())
    );
    assert_eq!(new.judge, format!("mild · edited prompt {}", &hash[..8]));
    assert_eq!(new.wording.as_deref(), Some(text.as_str()), "word for word");
    assert!(message_text(&new.calls[0].request.messages[0]).contains("a lenient examiner"));
    let rows = table::build(&[Arc::new(record)], &[], None, &[]).rows;
    let of_judges: Vec<(&str, Option<&str>)> = rows
        .iter()
        .map(|row| (row.judge.as_str(), row.prompt.as_deref()))
        .collect();
    assert_eq!(of_judges[1], ("mild", Some(shipped.sha256.as_str())));
    assert_eq!(of_judges[2].1, Some(hash.as_str()));
    assert_eq!(of_judges[0].0, "mean of 2 judges");
}

#[test]
fn a_file_keeps_every_round_and_can_be_judged_again() {
    let before = first(&with(vec![judge("mild", 1)]));
    let (mut record, _) = again(&before, vec![judge("strict", 1)]);
    take_back(&mut record);
    let (record, _) = again(&record, vec![judge("other", 1)]);
    let meta = FileMeta {
        id: "x".to_owned(),
        created_ms: 0.0,
    };
    let log = write(std::slice::from_ref(&record), &meta).expect("written");
    let (file, _) = read(log.json().as_bytes(), "x.json").expect("read");
    let kept = file.rows[0].record.as_ref().expect("ours");
    assert_eq!(**kept, record);
    let (back, asked) = again(kept, vec![judge("strict", 1)]);
    assert_eq!((asked, back.judgements.len()), (0, 3));
}

#[test]
fn another_programs_output_can_be_judged_again() {
    let spec = RunSpec {
        agent: ModelRef::External {
            name: "nanobot".to_owned(),
        },
        ..RunSpec {
            system: System::Imported,
            ..with(vec![judge("mild", 1)])
        }
    };
    let output = Output::GenerateText {
        text: "1. a\n2. b".to_owned(),
    };
    let before = in_case(&hidden(), |case| {
        block_on(judge_given(&env(), &spec, case, output))
    });
    let (record, asked) = again(&before, vec![judge("strict", 1)]);
    assert_eq!((asked, record.judgements.len()), (1, 2));
    let states: Vec<VerdictState> = record.judgements[1]
        .verdicts
        .iter()
        .map(|v| v.state)
        .collect();
    use VerdictState::{Met, NotMet};
    assert_eq!(
        states,
        [Met, NotMet, NotMet],
        "the check decides the first for every judge"
    );
}

#[test]
fn a_failed_judge_is_asked_again_and_a_cancelled_one_changes_nothing() {
    let silent = FakeEnv::with_sessions(&history()).answering(|chat| match chat.model.as_str() {
        "mild" => Some(Ok("no".to_owned())),
        _ => obliging(chat),
    });
    let spec = with(vec![judge("mild", 1)]);
    let before = in_case(&hidden(), |case| {
        block_on(run_instance(&silent, &spec, case, &StageMemo::new()))
    });
    assert_eq!(before.status, RunStatus::Done);
    let (record, asked) = again(&before, vec![judge("mild", 1)]);
    assert_eq!(asked, 1);
    assert_eq!(seats(&record), [("mild", 1, 1)]);
    assert_eq!(
        record.set_aside[0].judgement, before.judgements[0],
        "its calls were paid"
    );
    let stopped = FakeEnv::default().fail(StepError::Cancelled);
    let error = in_case(&hidden(), |case| {
        block_on(judge_again(
            &stopped,
            &with(vec![judge("strict", 1)]),
            case,
            &record,
        ))
    });
    assert_eq!(error, Err(StepError::Cancelled));
}

#[test]
fn other_requirements_than_the_runs_are_refused_in_a_sentence() {
    let before = first(&with(vec![judge("mild", 1)]));
    let mut other = hidden();
    other.requirements[1].text = "Nobody is thanked".to_owned();
    let error = in_case(&other, |case| {
        block_on(judge_again(
            &env(),
            &with(vec![judge("strict", 1)]),
            case,
            &before,
        ))
    });
    let error = error.expect_err("refused").to_string();
    assert!(
        error.contains("other requirements") && error.contains("notice-a"),
        "{error}"
    );
}
