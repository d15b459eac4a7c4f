//! Several judges, several times each: orders, names, seeds, failures.

use crate::support::{hidden, instance};
use futures::executor::block_on;
use iba_lab::agent::trace::Output;
use iba_lab::judge::{JudgeModel, Judgement, Panel, VerdictState, judge_instance};
use iba_lab::llm::Chat;
use iba_lab::run::StepError;
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::score;
use serde_json::json;
use std::collections::BTreeSet;

fn judge(model: &str, repeats: u32) -> JudgeModel {
    JudgeModel {
        model: model.to_owned(),
        base_url: format!("https://{model}.example/v1"),
        repeats,
        temperature: None,
        seed: Some(42),
        max_output_tokens: 1000,
        wording: None,
    }
}

fn output() -> Output {
    Output::GenerateText {
        text: "1. a\n2. b".to_owned(),
    }
}

/// Ids and texts of the criteria as a judge was shown them.
fn criteria(chat: &Chat) -> Vec<(String, String)> {
    let text = message_text(chat.messages.last().unwrap());
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines
        .filter(|(id, _)| id.starts_with('R') && id[1..].parse::<u32>().is_ok())
        .map(|(id, text)| (id.to_owned(), text.to_owned()))
        .collect()
}

/// A judge that goes by the criterion's text, wherever it stands.
fn by_text(chat: &Chat) -> Option<Result<String, StepError>> {
    let verdict = |(id, text): (String, String)| {
        let met = u8::from(text == "Somebody is thanked");
        json!({"id": id, "quote": "", "rationale": text, "verdict": met})
    };
    let verdicts: Vec<_> = criteria(chat).into_iter().map(verdict).collect();
    Some(Ok(json!({ "verdicts": verdicts }).to_string()))
}

fn run(env: &FakeEnv, judges: Vec<JudgeModel>) -> Result<Vec<Judgement>, StepError> {
    let panel = Panel {
        judges,
        shuffle_seed: 7,
    };
    block_on(judge_instance(
        env,
        &panel,
        &output(),
        &instance(),
        &hidden(),
    ))
}

fn states(judgement: &Judgement) -> Vec<VerdictState> {
    judgement.verdicts.iter().map(|v| v.state).collect()
}

use VerdictState::{Met, NotMet, Unscored};

#[test]
fn shuffled_criteria_come_back_to_their_requirements() {
    let env = FakeEnv::default().answering(by_text);
    let judged = run(&env, vec![judge("a", 8), judge("b", 8)]).unwrap();
    assert_eq!(judged.len(), 16);
    for judgement in &judged {
        assert_eq!(
            states(judgement),
            [Met, Met, NotMet],
            "{:?}",
            judgement.order
        );
        assert_eq!(judgement.verdicts[1].rationale, "Somebody is thanked");
        assert!(judgement.prompt.is_some());
        assert_eq!(judgement.calls.len(), 1);
    }
    let chats = env.chats.borrow();
    let shown: BTreeSet<Vec<String>> = chats
        .iter()
        .map(|chat| criteria(chat).into_iter().map(|(_, text)| text).collect())
        .collect();
    assert_eq!(shown.len(), 2, "both orders of two criteria were shown");
    let zero_first = |chat: &Chat| {
        let text = message_text(chat.messages.last().unwrap());
        text.find("- 0:").unwrap() < text.find("- 1:").unwrap()
    };
    let firsts = chats.iter().filter(|chat| zero_first(chat)).count();
    assert_eq!(
        firsts, 8,
        "each order of the verdicts in half of the repeats"
    );
}

#[test]
fn each_repeat_is_recorded_under_its_judge_with_its_own_seed() {
    let env = FakeEnv::default().answering(by_text);
    let judged = run(&env, vec![judge("a", 3), judge("b", 1)]).unwrap();
    let seats: Vec<(&str, u32)> = judged
        .iter()
        .map(|j| (j.judge.as_str(), j.repeat))
        .collect();
    assert_eq!(seats, [("a", 1), ("a", 2), ("a", 3), ("b", 1)]);
    let seeds: Vec<_> = judged.iter().map(|j| j.calls[0].request.seed).collect();
    assert_eq!(seeds, [Some(42), Some(43), Some(44), Some(42)]);
    // The same question for every judge.
    assert_eq!(judged[0].order, judged[3].order);
    let kept: Vec<Judgement> =
        serde_json::from_str(&serde_json::to_string(&judged).unwrap()).unwrap();
    assert_eq!(kept, judged);
}

#[test]
fn one_judge_that_fails_leaves_the_others_their_verdicts() {
    let env = FakeEnv::default().answering(|chat| match chat.model.as_str() {
        "b" => Some(Err(StepError::Model(
            "the endpoint answered 401".to_owned(),
        ))),
        _ => by_text(chat),
    });
    let judged = run(&env, vec![judge("a", 1), judge("b", 2)]).unwrap();
    assert_eq!(states(&judged[0]), [Met, Met, NotMet]);
    for failed in &judged[1..] {
        // The first requirement has a check, which needs no judge.
        assert_eq!(states(failed), [Met, Unscored, Unscored]);
        assert!(failed.verdicts[1].rationale.contains("401"));
    }
    let env = FakeEnv::default().answering(|chat| match chat.model.as_str() {
        "b" => Some(Err(StepError::Cancelled)),
        _ => by_text(chat),
    });
    assert_eq!(
        run(&env, vec![judge("a", 1), judge("b", 1)]),
        Err(StepError::Cancelled)
    );
}

// By hand: judge a gives 2 of 3 in both repeats, judge b 2 of 3 and 1 of 3. Repeats first: 2/3 and
// 1/2; judges equally: 7/12. Pooled it would be 7/12 as well only by chance, so a has three repeats.
#[test]
fn the_score_averages_repeats_first_then_judges() {
    let env = FakeEnv::default().answering(|chat| {
        let harsh = chat.model == "b" && chat.seed == Some(43);
        let verdict = |(id, text): (String, String)| {
            let met = u8::from(text == "Somebody is thanked" && !harsh);
            json!({"id": id, "quote": "", "rationale": "x", "verdict": met})
        };
        let verdicts: Vec<_> = criteria(chat).into_iter().map(verdict).collect();
        Some(Ok(json!({ "verdicts": verdicts }).to_string()))
    });
    let judged = run(&env, vec![judge("a", 3), judge("b", 2)]).unwrap();
    let score = score::of_judgements(&judged).mean.unwrap();
    assert!((score - 7.0 / 12.0).abs() < 1e-12, "{score}");
}
