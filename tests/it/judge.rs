//! Checks against Python's verdicts and the gold labels of IBA-Mini; the judge over scripted
//! graders.

use crate::support::{hidden, instance, json_file, path, sources};
use futures::executor::block_on;
use iba_lab::agent::trace::Output;
use iba_lab::bench::hidden::{Check, HiddenInstance};
use iba_lab::judge::{
    JudgeModel, Judgement, Panel, VerdictSource, VerdictState, checks, judge_instance,
};
use iba_lab::llm::Message;
use iba_lab::run::StepError;
use iba_lab::run::fake::FakeEnv;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Row {
    check: Check,
    passed: String,
}

// Expected values: tests/reference/checks.py, run by Python 3.
#[test]
fn every_check_decides_every_sample_text_as_python_does() {
    let reference = json_file(path("tests/data/checks_python.json"));
    let rows: Vec<Row> = serde_json::from_value(reference["checks"].clone()).unwrap();
    let sources = sources("instances");
    let outputs = reference["outputs"].as_array().unwrap();
    assert!(rows.len() > 100 && outputs.len() == 84);
    for (n, row) in rows.into_iter().enumerate() {
        // A third of the pairs, spread over all checks and all texts, is enough and quick.
        for (id, wanted) in outputs
            .iter()
            .zip(row.passed.chars())
            .skip(n % 3)
            .step_by(3)
        {
            let output = &sources[id.as_str().unwrap()]["sample"]["output"];
            let outcome = checks::run(output, &row.check);
            assert_eq!(
                outcome.passed,
                Some(wanted == '1'),
                "{id}: {:?}: {}",
                row.check,
                outcome.reason
            );
        }
    }
}

#[test]
fn every_check_of_iba_mini_agrees_with_the_gold_label_of_its_sample() {
    let mut seen = 0;
    for (id, source) in sources("instances") {
        for requirement in source["requirements"].as_array().unwrap() {
            if requirement["check"].is_null() {
                continue;
            }
            let check: Check = serde_json::from_value(requirement["check"].clone()).unwrap();
            let outcome = checks::run(&source["sample"]["output"], &check);
            let label = source["sample"]["labels"][requirement["id"].as_str().unwrap()] == 1;
            assert_eq!(
                outcome.passed,
                Some(label),
                "{id} {}: {}",
                requirement["id"],
                outcome.reason
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 180);
}

#[test]
fn slot_values_are_compared_by_meaning() {
    let cases = [
        (json!(30), json!("30"), true),
        (json!(30.0), json!(30), true),
        (json!("30.0"), json!(30), true),
        (json!("Mild"), json!("mild"), true),
        (json!(true), json!("true"), true),
        (json!(false), json!(true), false),
        (json!("mild "), json!("mild"), true),
        (json!(null), json!("none"), false),
        (json!("31"), json!(30), false),
    ];
    for (given, accepted, wanted) in cases {
        let check = Check::Slot {
            slot: "s".to_owned(),
            accept: vec![accepted.clone()],
        };
        let outcome = checks::run(&json!({ "s": given }), &check);
        assert_eq!(outcome.passed, Some(wanted), "{given} for {accepted}");
    }
    let check = Check::Slot {
        slot: "s".to_owned(),
        accept: vec![json!("none")],
    };
    assert_eq!(checks::run(&json!({}), &check).passed, Some(false));
    assert_eq!(checks::run(&json!("text"), &check).passed, None);
}

#[test]
fn reasons_are_sentences_a_reader_understands() {
    let numbered = Check::Count {
        of: iba_lab::bench::hidden::Countable::Numbered,
        min: Some(1),
        max: Some(3),
    };
    let of = |output: Value, check: &Check| checks::run(&output, check).reason;
    assert_eq!(
        of(json!("1. a\n2. b\n3. c\n4. d"), &numbered),
        "the output has 4 numbered items; 1 to 3 wanted"
    );
    let slot = Check::Slot {
        slot: "cuisine".to_owned(),
        accept: vec![json!("thai"), json!("any")],
    };
    assert_eq!(
        of(json!({}), &slot),
        "the slot 'cuisine' was left empty; 'thai' or 'any' wanted"
    );
}

#[test]
fn a_pattern_that_explodes_is_given_up_and_says_so() {
    let check = Check::Regex {
        pattern: r"^(?:(a|a)\1?)+b".to_owned(),
    };
    let outcome = checks::run(&json!("a".repeat(60)), &check);
    assert_eq!(outcome.passed, None);
    assert!(
        outcome.reason.contains("took too long"),
        "{}",
        outcome.reason
    );
    let broken = checks::run(
        &json!("a"),
        &Check::Regex {
            pattern: "(".to_owned(),
        },
    );
    assert_eq!(broken.passed, None);
}

fn grader() -> JudgeModel {
    JudgeModel {
        model: "grader-1".to_owned(),
        base_url: "https://grader.example".to_owned(),
        temperature: None,
        repeats: 1,
        seed: None,
        max_output_tokens: 1000,
        wording: None,
    }
}

fn text(text: &str) -> Output {
    Output::GenerateText {
        text: text.to_owned(),
    }
}

fn judged(
    env: &FakeEnv,
    judge: Option<&JudgeModel>,
    output: &Output,
    hidden: &HiddenInstance,
) -> Vec<Judgement> {
    let panel = Panel {
        judges: judge.into_iter().cloned().collect(),
        shuffle_seed: AS_WRITTEN,
    };
    block_on(judge_instance(env, &panel, output, &instance(), hidden)).unwrap()
}

/// A seed that leaves the requirements of [`instance`] in their order.
const AS_WRITTEN: u64 = 1;

fn states(judgement: &Judgement) -> Vec<VerdictState> {
    judgement.verdicts.iter().map(|v| v.state).collect()
}

use VerdictState::{Met, NotMet, Unscored};

#[test]
fn without_a_grader_only_rules_decide_and_the_rest_says_what_would_help() {
    let judgements = judged(&FakeEnv::default(), None, &text("1. a\n2. b"), &hidden());
    assert_eq!(judgements.len(), 1);
    assert_eq!(states(&judgements[0]), [Met, Unscored, Unscored]);
    let open = &judgements[0].verdicts[1];
    assert_eq!(open.source, VerdictSource::None);
    assert!(open.rationale.contains("Settings"), "{}", open.rationale);
}

#[test]
fn one_call_decides_what_rules_leave_open() {
    let reply = r#"{"verdicts": [
        {"id": "R1", "quote": "a 2. B", "rationale": "it does", "verdict": 1},
        {"id": "R2", "quote": "never said", "rationale": "it does not", "verdict": 0}]}"#;
    let env = FakeEnv::default().reply(reply);
    let judgements = judged(&env, Some(&grader()), &text("1. a\n2. b"), &hidden());
    assert_eq!(states(&judgements[0]), [Met, Met, NotMet]);
    let sources: Vec<VerdictSource> = judgements[0].verdicts.iter().map(|v| v.source).collect();
    assert_eq!(
        sources,
        [
            VerdictSource::Check,
            VerdictSource::Model,
            VerdictSource::Model
        ]
    );
    assert_eq!(judgements[0].verdicts[1].rationale, "it does");
    assert!(
        judgements[0].verdicts[2]
            .rationale
            .contains("quote does not occur")
    );
    assert_eq!(judgements[0].calls.len(), 1);
    assert_eq!(judgements[0].calls[0].role, "grader");
    assert_eq!(env.chats.borrow().len(), 1);
}

#[test]
fn a_missing_verdict_is_unscored_never_not_met() {
    let reply = r#"{"verdicts": [{"id": "R2", "quote": "", "rationale": "no", "verdict": 0}]}"#;
    let env = FakeEnv::default().reply(reply);
    let judgements = judged(&env, Some(&grader()), &text("1. a\n2. b"), &hidden());
    assert_eq!(states(&judgements[0]), [Met, Unscored, NotMet]);
}

#[test]
fn a_grader_that_cannot_be_read_is_asked_again_then_leaves_unscored() {
    let good = r#"{"verdicts": [{"id":"R1","verdict":1,"rationale":"y","quote":""},{"id":"R2","verdict":1,"rationale":"y","quote":""}]}"#;
    let env = FakeEnv::default()
        .reply("As an examiner I feel good about it.")
        .reply(good);
    let judgements = judged(&env, Some(&grader()), &text("1. a"), &hidden());
    assert_eq!(states(&judgements[0])[1..], [Met, Met]);
    let chats = env.chats.borrow();
    let Message::User { text: repair } = chats[1].messages.last().unwrap() else {
        panic!()
    };
    assert!(repair.contains("could not be used"), "{repair}");
    drop(chats);

    for bad in ["", "no JSON here", "I'm sorry, but I can't help with that."] {
        let env = FakeEnv::default().reply(bad).reply(bad);
        let judgements = judged(&env, Some(&grader()), &text("1. a"), &hidden());
        assert_eq!(states(&judgements[0])[1..], [Unscored, Unscored], "{bad}");
        assert!(
            judgements[0].verdicts[1].rationale.contains("grader-1"),
            "{bad}"
        );
        assert_eq!(judgements[0].calls.len(), 2);
    }
}

#[test]
fn a_failed_call_leaves_unscored_and_a_cancelled_one_cancels() {
    let env = FakeEnv::default().fail(StepError::Model("the endpoint answered 401".to_owned()));
    let judgements = judged(&env, Some(&grader()), &text("1. a\n2. b"), &hidden());
    assert_eq!(states(&judgements[0]), [Met, Unscored, Unscored]);
    assert!(judgements[0].verdicts[1].rationale.contains("401"));

    let env = FakeEnv::default().fail(StepError::Cancelled);
    let output = text("1. a");
    let result = block_on(judge_instance(
        &env,
        &Panel::of(grader(), AS_WRITTEN),
        &output,
        &instance(),
        &hidden(),
    ));
    assert_eq!(result, Err(StepError::Cancelled));
}

#[test]
fn slots_need_no_model() {
    let mut hidden = hidden();
    hidden.api_reference = serde_json::from_value(json!({
        "cuisine": {"requirement": "r1", "accept": ["japanese"]},
        "sort_by": {"requirement": "r2", "accept": ["rating"]},
        "limit": {"requirement": "r2", "accept": [20, 25]},
        "mode": {"requirement": "r3", "accept": ["soft"]}
    }))
    .unwrap();
    let slots = json!({"cuisine": "Japanese", "sort_by": "rating", "limit": "30"});
    let Value::Object(slots) = slots else {
        unreachable!()
    };
    let output = Output::CallApi {
        slots,
        description: String::new(),
    };
    let env = FakeEnv::default();
    let judgements = judged(&env, Some(&grader()), &output, &hidden);
    assert_eq!(states(&judgements[0]), [Met, NotMet, NotMet]);
    assert_eq!(judgements[0].verdicts[0].source, VerdictSource::Reference);
    let spanning = &judgements[0].verdicts[1].rationale;
    assert!(
        spanning.contains("'sort_by'") && spanning.contains("'limit'"),
        "{spanning}"
    );
    assert!(env.chats.borrow().is_empty());
}
