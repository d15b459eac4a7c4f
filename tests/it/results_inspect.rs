//! Result files, written and read, here and by Inspect's own package.

use crate::results_records::{failed_call, record};
use iba_lab::judge::VerdictState::{self, Met, NotMet, Unscored};
use iba_lab::judge::edit;
use iba_lab::results::file::ScoreValue;
use iba_lab::results::inspect::{self, EvalLog, FileMeta};
use iba_lab::results::{ResultFile, ResultsError};
use iba_lab::run::record::RunRecord;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn meta() -> FileMeta {
    FileMeta {
        id: "a1b2".to_owned(),
        created_ms: 1_795_970_754_123.0,
    }
}

/// Two instances of one domain, one of them twice, and one of another domain without a verdict.
fn records() -> Vec<RunRecord> {
    vec![
        record("i1", 1, "work", &[Met, NotMet, Unscored]),
        record("i1", 2, "work", &[Met, Met, Met]),
        record("i2", 1, "work", &[NotMet, NotMet]),
        record("i3", 1, "planning", &[Unscored]),
    ]
}

fn log() -> EvalLog {
    inspect::write(&records(), &meta()).unwrap()
}

fn read(bytes: &[u8]) -> (ResultFile, Vec<String>) {
    let (file, notices) = inspect::read(bytes, "x.json").unwrap();
    (
        file,
        notices.into_iter().map(|notice| notice.text).collect(),
    )
}

fn restored(file: &ResultFile) -> Vec<RunRecord> {
    file.rows
        .iter()
        .map(|row| RunRecord::clone(row.record.as_ref().unwrap()))
        .collect()
}

#[test]
fn records_come_back_as_they_were() {
    let mut expected = records();
    expected.sort_by(|a, b| (a.epoch, &a.instance).cmp(&(b.epoch, &b.instance)));
    for bytes in [log().json().as_bytes().to_vec(), log().json_gz()] {
        let (file, notices) = read(&bytes);
        assert_eq!(restored(&file), expected);
        assert!(notices.is_empty(), "{notices:?}");
    }
    let failed = [failed_call("i9")];
    let file = inspect::write(&failed, &meta()).unwrap();
    assert_eq!(restored(&read(file.json().as_bytes()).0), failed);
}

#[test]
fn rows_show_what_every_reader_sees() {
    let (file, _) = read(log().json().as_bytes());
    assert_eq!(
        (file.task.as_str(), file.system.as_str()),
        ("iba-mini", "iba_agent")
    );
    assert_eq!(
        (file.model.as_str(), file.status.as_str()),
        ("some-model", "success")
    );
    assert_eq!(file.created, "2026-11-29T16:45:54.123+00:00");
    let row = &file.rows[0];
    assert_eq!(
        (row.instance.as_str(), row.epoch, row.domain.as_deref()),
        ("i1", 1, Some("work"))
    );
    assert_eq!(row.output, "Noodles, not spicy.");
    let key = |n: &str, state: VerdictState| (n.to_owned(), state);
    let verdicts = vec![key("r1", Met), key("r2", NotMet), key("r3", Unscored)];
    let scores: Vec<_> = row
        .scores
        .iter()
        .map(|s| (s.scorer.as_str(), &s.value))
        .collect();
    assert_eq!(scores[0], ("programmatic", &ScoreValue::Verdicts(verdicts)));
    assert_eq!(scores[1], ("programmatic_mean", &ScoreValue::Number(0.5)));
    assert_eq!(scores[3], ("judge-model_mean", &ScoreValue::Unscored));
}

#[test]
fn the_file_is_the_same_every_time_and_named_by_its_content() {
    assert_eq!(log(), log());
    assert_eq!(log().json_gz(), log().json_gz());
    assert_eq!(
        log().file_name(false),
        "2026-11-29T16-45-54_iba-mini_iba-agent_a1b2.json"
    );
    assert_eq!(
        log().file_name(true),
        "2026-11-29T16-45-54_iba-mini_iba-agent_a1b2.json.gz"
    );
    let mut odd = records();
    odd.iter_mut()
        .for_each(|record| record.dataset.name = "../a b\u{0}/c".to_owned());
    let name = inspect::write(&odd, &meta()).unwrap().file_name(false);
    assert_eq!(name, "2026-11-29T16-45-54_..-a-b--c_iba-agent_a1b2.json");
}

#[test]
fn one_file_holds_what_can_stand_in_one_mean() {
    let mut mixed = records();
    mixed.push(failed_call("i1"));
    mixed.push(record("i1", 1, "work", &[Met]));
    let error = inspect::write(&mixed, &meta()).unwrap_err();
    assert_eq!(error, ResultsError::Mixed { groups: 3 });
    assert_eq!(
        inspect::write(&[], &meta()).unwrap_err(),
        ResultsError::NothingToWrite
    );
    let logs = inspect::group(&mixed, &meta());
    let found: Vec<RunRecord> = logs
        .iter()
        .flat_map(|log| restored(&read(log.json().as_bytes()).0))
        .collect();
    assert_eq!(found.len(), mixed.len());
    assert!(mixed.iter().all(|record| found.contains(record)));
    let names: std::collections::BTreeSet<String> =
        logs.iter().map(|l| l.file_name(true)).collect();
    assert_eq!(names.len(), 3);
}

/// No type in a record holds a key; this guards against one that would.
#[test]
fn nothing_in_a_file_is_named_like_a_key() {
    let (text, _) = (log().json().replace("NaN", "null"), ());
    let mut names = Vec::new();
    collect_names(&serde_json::from_str(&text).unwrap(), &mut names);
    assert!(names.contains(&"base_url".to_owned()));
    let secret = [
        "api_key",
        "apikey",
        "authorization",
        "bearer",
        "secret",
        "password",
        "header",
    ];
    let found = names
        .iter()
        .filter(|name| secret.iter().any(|s| name.to_lowercase().contains(s)));
    assert_eq!(found.collect::<Vec<_>>(), Vec::<&String>::new());
}

fn collect_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, inner)| {
            names.push(name.clone());
            collect_names(inner, names);
        }),
        Value::Array(list) => list.iter().for_each(|inner| collect_names(inner, names)),
        _ => {}
    }
}

#[test]
fn bad_files_are_refused_in_a_sentence() {
    let text = log().json().to_owned();
    let cut = &text[..text.len() / 2];
    let gz = log().json_gz();
    let manifest = json!({ "format": "iba-dataset", "shards": [] }).to_string();
    let cases: [(&[u8], &str); 8] = [
        (cut.as_bytes(), "x.json ends in the middle, at line "),
        (&gz[..gz.len() / 2], "x.json cannot be unpacked: "),
        (
            b"<html><body>Not found</body></html>",
            "x.json is a web page",
        ),
        (
            b"[1]",
            "x.json is JSON, but not an Inspect log: it is a list",
        ),
        (
            b"{\"eval\": 1}",
            "x.json is JSON, but not an Inspect log: it has no object `eval`",
        ),
        (
            manifest.as_bytes(),
            "x.json is JSON, but not an Inspect log: it has shards",
        ),
        (
            b"{\"eval\": {},}",
            "x.json is not JSON at line 1, column 13: ",
        ),
        (
            include_bytes!("../data/inspect/foreign.eval"),
            "x.json is an .eval archive",
        ),
    ];
    for (bytes, expected) in cases {
        let error = inspect::read(bytes, "x.json").unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(error.hint().ends_with('.'));
    }
}

/// Whatever stands in a file, reading it ends without a panic.
#[test]
fn no_cut_and_no_swapped_value_is_a_panic() {
    let text = inspect::write(&records()[..1], &meta())
        .unwrap()
        .json()
        .to_owned();
    for end in (0..text.len())
        .step_by(97)
        .filter(|end| text.is_char_boundary(*end))
    {
        assert!(inspect::read(&text.as_bytes()[..end], "x").is_err());
    }
    let log: Value = serde_json::from_str(&text.replace("NaN", "null")).unwrap();
    let mut paths = Vec::new();
    collect_paths(&log, String::new(), &mut paths);
    for (n, path) in paths.iter().enumerate().filter(|(n, _)| n % 7 == 0) {
        let mut odd = log.clone();
        *odd.pointer_mut(path).unwrap() =
            [json!(null), json!([1]), json!({}), json!(-3)][n % 4].clone();
        let _ = inspect::read(odd.to_string().as_bytes(), "x");
    }
}

fn collect_paths(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            collect_paths(inner, format!("{path}/{key}"), paths);
        }),
        Value::Array(list) => list.iter().enumerate().for_each(|(n, inner)| {
            collect_paths(inner, format!("{path}/{n}"), paths);
        }),
        _ => {}
    }
    paths.push(path);
}

#[test]
fn what_was_ignored_is_said() {
    let (file, notices) = read(
        br#"{"version": 3, "eval": {"task": "t", "future": 1}, "shiny": 1, "invalidated": true,
            "samples": [{"input": "a", "scores": {"s": {"value": Infinity}}}, 7,
                        {"id": "b"}, {"id": "b", "input": "again"}]}"#,
    );
    assert_eq!(notices[0], "1 infinite numbers were read as \"unscored\".");
    assert!(notices[1].starts_with("The log has version 3; this page knows version 2"));
    assert!(notices.contains(&"Unknown fields were ignored: shiny.".to_owned()));
    assert!(notices.contains(&"Its author marked this log as invalid.".to_owned()));
    assert!(
        notices
            .iter()
            .any(|n| n.contains("have no id and are named by their position"))
    );
    assert!(
        notices
            .iter()
            .any(|n| n.contains("are no objects and were ignored (first: number 2)"))
    );
    assert!(
        notices
            .iter()
            .any(|n| n.contains("occur again and replace their first entry"))
    );
    let rows: Vec<_> = file
        .rows
        .iter()
        .map(|r| (r.instance.as_str(), r.input.as_str()))
        .collect();
    assert_eq!(rows, [("sample 1", "a"), ("b", "again")]);
    let (file, notices) = read(br#"{"version": 2, "eval": {"task": "t"}}"#);
    assert!(file.rows.is_empty());
    assert_eq!(notices, ["The log holds no samples, only its summary."]);
}

#[test]
fn a_damaged_or_newer_record_still_shows_as_a_sample() {
    let log: Value = serde_json::from_str(&log().json().replace("NaN", "null")).unwrap();
    for (path, value, said) in [
        (
            "/samples/0/metadata/iba/record/params",
            json!(1),
            "have a damaged record",
        ),
        (
            "/samples/0/metadata/iba/version",
            json!(99),
            "have a record of another version",
        ),
    ] {
        let mut odd = log.clone();
        *odd.pointer_mut(path).unwrap() = value;
        let (file, notices) = read(odd.to_string().as_bytes());
        assert!(file.rows[0].record.is_none() && file.rows[1].record.is_some());
        assert_eq!(file.rows[0].output, "Noodles, not spicy.");
        assert!(
            notices.iter().any(|notice| notice.contains(said)),
            "{notices:?}"
        );
    }
}

#[test]
fn a_log_that_inspect_wrote_is_shown() {
    agrees_with_its_summary(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/inspect"));
}

/// Compares our view of `foreign.json.gz` with what Inspect itself said of it.
fn agrees_with_its_summary(folder: &Path) {
    let bytes = std::fs::read(folder.join("foreign.json.gz")).unwrap();
    let summary = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let (file, notices) = read(&bytes);
    assert_eq!(
        (&json!(file.task), &json!(file.model)),
        (&summary["task"], &summary["model"])
    );
    assert_eq!(json!(file.status), summary["status"]);
    let samples: Vec<Value> = file.rows.iter().map(summarise).collect();
    assert_eq!(json!(samples), summary["samples"]);
    assert!(
        notices
            .iter()
            .any(|n| n.contains("written by another program")),
        "{notices:?}"
    );
}

fn summarise(row: &iba_lab::results::SampleRow) -> Value {
    let scores = row
        .scores
        .iter()
        .map(|score| (score.scorer.clone(), plain(&score.value)));
    json!({
        "id": row.instance,
        "epoch": row.epoch,
        "input": row.input,
        "output": row.output,
        "error": row.error,
        "messages": row.messages.len(),
        "scores": scores.collect::<Map<String, Value>>(),
    })
}

fn plain(value: &ScoreValue) -> Value {
    match value {
        ScoreValue::Unscored => Value::Null,
        ScoreValue::Number(number) => json!(number),
        ScoreValue::Text(text) | ScoreValue::Other(text) => json!(text),
        ScoreValue::Verdicts(verdicts) => verdicts
            .iter()
            .map(|(key, state)| (key.clone(), mark(*state)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

fn mark(state: VerdictState) -> Value {
    match state {
        Met => json!("C"),
        NotMet => json!("I"),
        Unscored => Value::Null,
    }
}

/// The numbers that Inspect has to find in [`log`], worked out by hand.
fn expected(name: &str) -> Value {
    let stages = [
        "query_expansion",
        "similarity_retrieval",
        "redundancy_filtering",
        "salience_reranking",
        "compact_evidence",
        "preference_extraction",
        "task_preference_alignment",
        "text_generation",
    ];
    let mut events = vec!["span_begin".to_owned()];
    for stage in stages {
        events.push("span_begin".to_owned());
        events.extend((stage == "query_expansion").then(|| "model".to_owned()));
        events.extend([format!("info iba.{stage}"), "span_end".to_owned()]);
    }
    let judges = [
        "span_end",
        "span_begin",
        "span_begin",
        "score",
        "span_end",
        "span_begin",
        "model",
        "score",
        "span_end",
        "span_end",
    ];
    events.extend(judges.map(str::to_owned));
    let sample = |id: &str, epoch: u32, verdicts: Value, unscored: Value, mean: Value| {
        let target: Vec<String> = (1..=verdicts.as_object().unwrap().len())
            .map(|n| format!("Requirement {n}"))
            .collect();
        json!({
            "id": id, "epoch": epoch, "target": target, "completion": "Noodles, not spicy.",
            "error": null, "events": events,
            "scores": {
                "programmatic": verdicts, "programmatic_mean": mean,
                "judge-model": unscored, "judge-model_mean": null,
            },
        })
    };
    let none = json!({ "r1": null, "r2": null, "r3": null });
    // Instance i1 has (1 + 0) / 2 and then 3 / 3, so 0.75; with i2 at 0 the domain has 0.375, and
    // so has the whole, since i3 has no verdict. Each run has two calls of 107 tokens.
    json!({ name: {
        "task": "iba-mini", "model": "some-model", "solver": "iba_agent", "status": "success",
        "epochs": 2, "sha256": "ab".repeat(32),
        "samples": [
            sample("i1", 1, json!({ "r1": "C", "r2": "I", "r3": null }), none.clone(), json!(0.5)),
            sample("i2", 1, json!({ "r1": "I", "r2": "I" }), json!({ "r1": null, "r2": null }), json!(0.0)),
            sample("i3", 1, json!({ "r1": null }), json!({ "r1": null }), json!(null)),
            sample("i1", 2, json!({ "r1": "C", "r2": "C", "r3": "C" }), none, json!(1.0)),
        ],
        "metrics": {
            "programmatic_mean": { "mean": 0.375, "planning": null, "work": 0.375 },
            "judge-model_mean": { "mean": null, "planning": null, "work": null },
        },
        "model_usage": { "agent-model": 428, "grader-model": 428 },
        "role_usage": { "agent": 428, "grader": 428 },
    } })
}

#[test]
fn metrics_are_those_worked_out_by_hand() {
    let log: Value = serde_json::from_str(&log().json().replace("NaN", "null")).unwrap();
    let wanted = &expected("x")["x"]["metrics"];
    for score in log["results"]["scores"].as_array().unwrap() {
        let metrics = score["metrics"].as_object().unwrap();
        let values: Map<String, Value> = metrics
            .iter()
            .map(|(name, metric)| (name.clone(), metric["value"].clone()))
            .collect();
        assert_eq!(Value::from(values), wanted[score["name"].as_str().unwrap()]);
    }
    let first = &log["results"]["scores"][0];
    assert_eq!(
        (&first["scored_samples"], &first["unscored_samples"]),
        (&json!(2), &json!(1))
    );
}

/// Inspect's own package reads what we write, and we read what it writes.
#[test]
fn inspect_itself_agrees() {
    let Some(python) = std::env::var_os("IBA_LAB_PYTHON") else {
        println!("skipped: IBA_LAB_PYTHON names no Python with inspect-ai; `./dev test` sets it");
        return;
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("inspect");
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&ours).unwrap();
    let failed = inspect::write(&[failed_call("i9")], &meta()).unwrap();
    let mut wanted = expected("log.json");
    wanted["log.json.gz"] = wanted["log.json"].clone();
    wanted["failed.json"] = expected_failed();
    wanted["edited.json"] = expected_edited();
    wanted["ruled.json"] = expected_ruled();
    let ruled = inspect::write(&ruled(), &meta()).unwrap();
    std::fs::write(ours.join("ruled.json"), ruled.json()).unwrap();
    let edited = inspect::write(&edited(), &meta()).unwrap();
    std::fs::write(ours.join("edited.json"), edited.json()).unwrap();
    std::fs::write(ours.join("log.json"), log().json()).unwrap();
    std::fs::write(ours.join("log.json.gz"), log().json_gz()).unwrap();
    std::fs::write(ours.join("failed.json"), failed.json()).unwrap();
    std::fs::write(ours.join("expected.json"), wanted.to_string()).unwrap();
    check(&python, "read", &ours);
    check(&python, "write", &theirs);
    agrees_with_its_summary(&theirs);
}

/// The records, where rules decided all of i2, so that no model was asked about it.
fn ruled() -> Vec<RunRecord> {
    let mut records = records();
    let all = records.iter_mut();
    all.filter(|record| record.instance.as_str() == "i2")
        .for_each(|record| record.judgements.truncate(1));
    records
}

/// By hand, as [`expected`]: the rules' verdicts on i2 are those of both scorers, so the other judge
/// has 0 there and, with nothing else scored, 0 as its mean; one call of the judge was not made.
fn expected_ruled() -> Value {
    let mut wanted = expected("x")["x"].clone();
    let sample = &mut wanted["samples"][1];
    let events = sample["events"].as_array_mut().unwrap();
    let model = events.len() - 5..events.len() - 1;
    events.drain(model);
    sample["scores"]["judge-model"] = json!({ "r1": "I", "r2": "I" });
    sample["scores"]["judge-model_mean"] = json!(0.0);
    wanted["metrics"]["judge-model_mean"] = json!({ "mean": 0.0, "planning": null, "work": 0.0 });
    wanted["model_usage"]["grader-model"] = json!(321);
    wanted["role_usage"]["grader"] = json!(321);
    wanted
}

/// The records after a person overruled both judges of the first on `r2` and took back a second
/// change of mind.
fn edited() -> Vec<RunRecord> {
    let mut records = records();
    let note = |author: &str, at_ms: f64, reason: &str| edit::Note {
        author: author.to_owned(),
        at_ms,
        reason: reason.to_owned(),
    };
    let (judged, id) = (&mut records[0].judgements, "r2".into());
    edit::overrule(
        judged,
        &id,
        Met,
        &note("Ada", 1_795_970_754_123.0, "It is in line 2."),
    );
    edit::overrule(
        judged,
        &id,
        Unscored,
        &note("Bo", 1_795_970_760_000.0, "Not sure."),
    );
    edit::undo(
        judged,
        &id,
        &note("Bo", 1_795_970_761_000.0, "Sure after all."),
    );
    records
}

/// By hand, as [`expected`]: `r2` of the first sample is met for both judges, so its mean is 1, i1
/// has (1 + 1) / 2 and the whole (1 + 0) / 2; the other judge has this one verdict.
fn expected_edited() -> Value {
    let mut wanted = expected("x")["x"].clone();
    let history = |values: [Value; 4]| {
        let authors = [Value::Null, json!("Ada"), json!("Bo"), json!("Bo")];
        let reasons = [
            Value::Null,
            json!("It is in line 2."),
            json!("Not sure."),
            json!("Sure after all."),
        ];
        let lines = authors.into_iter().zip(reasons).zip(values);
        lines
            .map(|((author, reason), value)| json!([author, reason, value]))
            .collect::<Value>()
    };
    let sample = &mut wanted["samples"][0];
    let verdicts = |r1: Value| {
        ["I", "C", "", "C"].map(|r2| {
            let r2 = if r2.is_empty() {
                Value::Null
            } else {
                json!(r2)
            };
            json!({ "r1": r1, "r2": r2, "r3": null })
        })
    };
    sample["scores"] = json!({
        "programmatic": { "r1": "C", "r2": "C", "r3": null }, "programmatic_mean": 1.0,
        "judge-model": { "r1": null, "r2": "C", "r3": null }, "judge-model_mean": 1.0,
    });
    let mut unscored = verdicts(Value::Null);
    unscored[0]["r2"] = Value::Null;
    sample["history"] = json!({
        "programmatic": history(verdicts(json!("C"))),
        "programmatic_mean": history([json!(0.5), json!(1.0), json!(1.0), json!(1.0)]),
        "judge-model": history(unscored),
        "judge-model_mean": history([Value::Null, json!(1.0), Value::Null, json!(1.0)]),
    });
    wanted["metrics"] = json!({
        "programmatic_mean": { "mean": 0.5, "planning": null, "work": 0.5 },
        "judge-model_mean": { "mean": 1.0, "planning": null, "work": 1.0 },
    });
    wanted
}

#[test]
fn embedding_calls_are_information_and_never_a_chat() {
    let file = inspect::write(&[failed_call("i9")], &meta()).unwrap();
    let log: Value = serde_json::from_str(&file.json().replace("NaN", "null")).unwrap();
    let events = log["samples"][0]["events"].as_array().unwrap();
    let mut told = events.iter().filter(|e| e["source"] == "iba.embedding");
    let event = told.next().expect("the call is told");
    assert_eq!(event["event"], "info");
    assert_eq!(
        event["span_id"], events[0]["id"],
        "within the system's span"
    );
    assert_eq!(event["data"]["model"], "bge-m3");
    assert_eq!(event["data"]["sent"]["texts"], 12);
    assert_eq!(event["data"]["usage"]["input_tokens"], 40);
    assert!(told.next().is_none());
    let chats = events.iter().filter(|e| e["event"] == "model");
    assert!(chats.clone().count() > 0 && chats.clone().all(|e| e["model"] != "bge-m3"));
}

#[test]
fn changed_verdicts_come_back_with_their_authors() {
    let mut wanted = edited();
    wanted.sort_by(|a, b| (a.epoch, &a.instance).cmp(&(b.epoch, &b.instance)));
    let file = inspect::write(&edited(), &meta()).unwrap();
    assert_eq!(restored(&read(file.json().as_bytes()).0), wanted);
    let log: Value = serde_json::from_str(&file.json().replace("NaN", "null")).unwrap();
    let history = &log["samples"][0]["scores"]["programmatic"]["history"];
    assert_eq!(history.as_array().unwrap().len(), 4);
    assert_eq!(history[0]["provenance"], Value::Null);
    assert_eq!(
        history[1]["provenance"]["timestamp"],
        "2026-11-29T16:45:54.123+00:00"
    );
    assert_eq!(history[3]["provenance"]["metadata"]["withdraws"], true);
    let untouched = &log["samples"][1]["scores"]["programmatic"];
    assert!(untouched.get("history").is_none());
}

fn expected_failed() -> Value {
    let mut wanted = expected("x")["x"].clone();
    let events = wanted["samples"][0]["events"].as_array().unwrap().clone();
    // No judge was asked: the events end with the system's span.
    let mut system = events[..events.len() - 9].to_vec();
    // Calls of an embedding endpoint are no chats, so Inspect shows them as information.
    system.insert(1, json!("info iba.embedding"));
    wanted["samples"] = json!([{
        "id": "i9", "epoch": 1, "target": ["Requirement 1"], "error": "The judge gave no answer.",
        "completion": "Orders noodles.\n\n{\n  \"dish\": \"noodles\",\n  \"count\": 2,\n  \"spicy\": false,\n  \"note\": null\n}",
        "events": system, "scores": {},
    }]);
    for (key, value) in [
        ("model", json!("embedded baseline (no language model)")),
        ("solver", json!("standard_rag")),
        ("status", json!("error")),
        ("epochs", json!(1)),
        ("metrics", json!({})),
        ("model_usage", json!({ "agent-model": 107, "bge-m3": 40 })),
        ("role_usage", json!({ "agent": 107, "embedding": 40 })),
    ] {
        wanted[key] = value;
    }
    wanted
}

fn check(python: &std::ffi::OsStr, command: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/inspect_check.py");
    let ran = Command::new(python)
        .arg(script)
        .arg(command)
        .arg(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success(),
        "{command}: {said}{}",
        String::from_utf8_lossy(&ran.stdout)
    );
}
