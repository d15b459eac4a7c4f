//! Outputs that were not made here: another program's predictions, and gold-labelled samples.

use crate::support::{call_instance, hidden, instance, sources, visible};
use futures::executor::block_on;
use iba_lab::agent::trace::{Output, System};
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::taxonomy::Scenario;
use iba_lab::bench::visible::History;
use iba_lab::judge::{JudgeModel, Panel, VerdictSource, VerdictState};
use iba_lab::llm::Chat;
use iba_lab::results::calibration;
use iba_lab::results::inspect::{self, FileMeta};
use iba_lab::results::table;
use iba_lab::run::StepError;
use iba_lab::run::drive::{Case, RunSpec, judge_given};
use iba_lab::run::fake::{FakeEnv, message_text};
use iba_lab::run::lost::funnel::{End, cases};
use iba_lab::run::predictions;
use iba_lab::run::record::{
    DatasetRef, ModelRef, Params, RetrieverRef, RunRecord, RunStatus, Variant,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn spec(system: System, by: &str, judges: &[&str]) -> RunSpec {
    let judge = |model: &&str| JudgeModel {
        model: (*model).to_owned(),
        base_url: "https://judges.example".to_owned(),
        repeats: 1,
        temperature: None,
        seed: None,
        max_output_tokens: 1000,
        wording: None,
    };
    RunSpec {
        id: "given-1".to_owned(),
        system,
        epoch: 1,
        params: Params::default(),
        agent: ModelRef::External {
            name: by.to_owned(),
        },
        panel: Panel {
            judges: judges.iter().map(judge).collect(),
            shuffle_seed: 42,
        },
        dataset: DatasetRef {
            name: "iba-mini".to_owned(),
            sha256: "ab".repeat(32),
        },
        retriever: RetrieverRef {
            model: "none".to_owned(),
            model_sha256: String::new(),
            method: "exact".to_owned(),
            ..RetrieverRef::default()
        },
        app_version: "0".to_owned(),
        variant: Variant::default(),
    }
}

/// Whose history it is does not matter to a judge.
fn nobody() -> History {
    History {
        persona: "p".into(),
        sessions: Vec::new(),
    }
}

/// The criteria of a question: id and text.
fn criteria(chat: &Chat) -> Vec<(String, String)> {
    let text = message_text(chat.messages.last().unwrap());
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines
        .filter(|(id, _)| id.starts_with('R') && id[1..].parse::<u32>().is_ok())
        .map(|(id, text)| (id.to_owned(), text.to_owned()))
        .collect()
}

/// A judge that says of each criterion what `verdict` says of its text.
fn judge(
    verdict: impl Fn(&str) -> bool + 'static,
) -> impl Fn(&Chat) -> Option<Result<String, StepError>> {
    move |chat| {
        let one = |(id, text): (String, String)| json!({"id": id, "quote": "", "rationale": "so", "verdict": u8::from(verdict(&text))});
        let verdicts: Vec<Value> = criteria(chat).into_iter().map(one).collect();
        Some(Ok(json!({ "verdicts": verdicts }).to_string()))
    }
}

#[test]
fn another_programs_outputs_are_judged_like_our_own() {
    let file = r#"{"instance": "food-a", "output": {"cuisine": "japanese", "portions": 2}, "agent": "nanobot"}
{"instance": "notice-a", "output": "1. Shut.\n2. Keys.", "agent": "nanobot"}"#;
    let [food, notice] = [call_instance(), instance()].map(|of| Scenario {
        id: of.scenario,
        domain: "work".into(),
        name: of.scenario_name,
        action: of.action,
        dynamic: false,
        api: of.api,
    });
    let read = predictions::read(file, |id| match id.as_str() {
        "food-a" => Some(&food),
        _ => Some(&notice),
    });
    assert_eq!(read.faults, []);
    let slot = json!({"cuisine": {"requirement": "r1", "accept": ["japanese"]}});
    let call_hidden = HiddenInstance {
        api_reference: serde_json::from_value(slot).unwrap(),
        ..hidden()
    };
    let mut records = Vec::new();
    for (prediction, instance, hidden) in [
        (&read.usable[0], call_instance(), call_hidden),
        (&read.usable[1], instance(), hidden()),
    ] {
        let env = FakeEnv::default().answering(judge(|text| text.contains("thanked")));
        let spec = spec(System::Imported, prediction.by.as_deref().unwrap(), &["j"]);
        let output = prediction.output.clone();
        let domain = "work".into();
        let case = Case {
            instance: &instance,
            hidden: &hidden,
            domain: &domain,
            history: &nobody(),
        };
        let record = block_on(judge_given(&env, &spec, case, output));
        assert_eq!(record.status, RunStatus::Done);
        let first = &record.judgements[0].verdicts[0];
        assert_eq!(first.state, VerdictState::Met);
        assert_ne!(
            first.source,
            VerdictSource::Model,
            "a rule decides it, as for our own"
        );
        assert!(record.stages.is_empty() && env.texts.borrow().is_empty());
        records.push(record);
    }
    let rows = table::build(
        &records.iter().cloned().map(Arc::new).collect::<Vec<_>>(),
        &[],
        None,
        &[],
    )
    .rows;
    assert_eq!(
        (rows[0].system.as_str(), rows[0].model.as_str()),
        ("Imported", "nanobot")
    );
    assert_eq!(rows[0].overall.instances, Some(2));
    let meta = FileMeta {
        id: "x".to_owned(),
        created_ms: 0.0,
    };
    let log = inspect::write(&records, &meta).unwrap();
    let (file, notices) = inspect::read(log.json().as_bytes(), "x.json").unwrap();
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!(
        (file.system.as_str(), file.model.as_str()),
        ("imported", "nanobot")
    );
    assert_eq!(
        RunRecord::clone(file.rows[0].record.as_ref().unwrap()).output,
        records[0].output
    );
    // There is no trace to follow, so nothing is claimed about where it was lost.
    assert!(
        cases(&records)
            .iter()
            .all(|case| matches!(case.end, End::Met | End::Untold(None)))
    );
}

/// Text instances of IBA-Mini with their samples, judged by `verdict` on each criterion's text.
fn calibrated(verdict: fn(&Value, &str) -> bool) -> (Vec<RunRecord>, [u32; 2]) {
    let (instances, scenarios) = (sources("instances"), sources("scenarios"));
    let (mut records, mut labels) = (Vec::new(), [0, 0]);
    for source in instances.values() {
        let scenario = &scenarios[source["scenario"].as_str().unwrap()];
        let Value::String(text) = &source["sample"]["output"] else {
            continue;
        };
        for label in source["sample"]["labels"].as_object().unwrap().values() {
            labels[label.as_u64().unwrap() as usize] += 1;
        }
        let mut raw = source.clone();
        // Sessions get their ids when the dataset is built; here none is looked for.
        raw["evidence"] = json!([]);
        let hidden: HiddenInstance = serde_json::from_value(raw).unwrap();
        let own = source.clone();
        let env = FakeEnv::default().answering(judge(move |text| verdict(&own, text)));
        let output = Output::GenerateText { text: text.clone() };
        let spec = spec(System::Samples, "authors", &["j"]);
        let visible = visible(source, scenario);
        let domain = "work".into();
        let case = Case {
            instance: &visible,
            hidden: &hidden,
            domain: &domain,
            history: &nobody(),
        };
        records.push(block_on(judge_given(&env, &spec, case, output)));
    }
    (records, labels)
}

fn label(source: &Value, text: &str) -> bool {
    let requirements = source["requirements"].as_array().unwrap().iter();
    let mut of_it = requirements.filter(|r| r["text"] == text);
    let id = of_it.next().unwrap()["id"].as_str().unwrap();
    source["sample"]["labels"][id] == 1
}

#[test]
fn a_judge_is_measured_against_the_labels_of_iba_mini() {
    let (records, [not_met, met]) = calibrated(label);
    assert!(met > 150 && not_met > 30, "{met} {not_met}");
    let found = &calibration::of(&records)[0];
    assert_eq!((found.true_met, found.true_not_met), (met, not_met));
    assert_eq!(
        (found.false_met, found.false_not_met, found.unscored),
        (0, 0, 0)
    );
    assert_eq!(found.agreement().unwrap().ac1, Some(1.0));
    assert_eq!(found.corrected(0.6), Some(0.6));

    let (records, _) = calibrated(|_, _| true);
    let kind = &calibration::of(&records)[0];
    assert_eq!((kind.true_met, kind.false_met), (met, not_met));
    assert_eq!(
        (kind.false_met_rate(), kind.false_not_met_rate()),
        (Some(1.0), Some(0.0))
    );
    assert_eq!(
        kind.corrected(1.0),
        None,
        "a judge that always agrees tells nothing apart"
    );
    assert_eq!(kind.samples as usize, records.len());
}

#[test]
fn labelled_samples_stay_out_of_scores_and_funnel() {
    let (records, _) = calibrated(label);
    assert!(cases(&records).is_empty());
    let records: Vec<Arc<RunRecord>> = records.into_iter().map(Arc::new).collect();
    assert!(table::build(&records, &[], None, &[]).rows.is_empty());
    // Every requirement was asked about, those with a check as well.
    let verdicts = records.iter().flat_map(|r| &r.judgements[0].verdicts);
    assert!(
        verdicts.clone().count() > 200
            && verdicts.clone().all(|v| v.source == VerdictSource::Model)
    );
}
