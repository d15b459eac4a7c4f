//! The domain table and what is exported from it.

use crate::results_records::{failed_call, record};
use iba_lab::judge::VerdictState::{Met, NotMet, Unscored};
use iba_lab::results::table::{self, Source, TableRow};
use iba_lab::results::{LoadedResult, csv, figure, inspect};
use iba_lab::run::record::RunRecord;
use iba_lab::score::paper::PaperResults;
use std::sync::Arc;

fn paper() -> PaperResults {
    PaperResults::parse(include_str!("../../public/paper/results.json")).unwrap()
}

fn arcs(records: impl IntoIterator<Item = RunRecord>) -> Vec<Arc<RunRecord>> {
    records.into_iter().map(Arc::new).collect()
}

fn percents(row: &TableRow) -> Vec<Option<f64>> {
    row.cells.iter().map(|cell| cell.percent).collect()
}

#[test]
fn columns_are_those_of_the_paper() {
    let ours: Vec<_> = table::columns()
        .into_iter()
        .map(|c| (c.id, c.label))
        .collect();
    let theirs: Vec<_> = paper()
        .domains
        .into_iter()
        .map(|d| (d.id.0, d.label))
        .collect();
    assert_eq!(ours, theirs);
}

#[test]
fn a_row_for_each_system_and_judge_says_what_is_missing() {
    let records = arcs([
        record("i1", 1, "work", &[Met, NotMet, Unscored]),
        record("i1", 2, "work", &[Met, Met, Met]),
        record("i2", 1, "daily_consumption", &[Met, NotMet, NotMet, NotMet]),
        failed_call("i9"),
    ]);
    let found = table::build(&records, &[], None, &[]);
    let heads: Vec<_> = found
        .rows
        .iter()
        .map(|r| (r.system.as_str(), r.model.as_str(), r.judge.as_str()))
        .collect();
    assert_eq!(
        heads,
        [
            ("IBA-Agent", "some-model", "programmatic"),
            ("IBA-Agent", "some-model", "judge-model"),
            (
                "Standard RAG",
                "embedded baseline (no language model)",
                "not judged"
            ),
        ]
    );
    // Work: (1/2 + 3/3) / 2; daily: 1/4; overall their mean.
    let mut expected = vec![None; 9];
    (expected[1], expected[2]) = (Some(75.0), Some(25.0));
    let first = &found.rows[0];
    assert_eq!(percents(first), expected);
    assert_eq!(
        (first.overall.percent, first.overall.instances),
        (Some(50.0), Some(2))
    );
    assert_eq!(first.partial.as_deref(), Some("1 requirement unscored"));
    assert_eq!(found.rows[1].overall.percent, None);
    assert_eq!(
        found.rows[1].partial.as_deref(),
        Some("10 requirements unscored")
    );
    assert_eq!(
        found.rows[2].partial.as_deref(),
        Some("1 run not finished, 1 run not judged")
    );
}

#[test]
fn files_stand_apart_from_this_tab_and_keys_are_unique() {
    let records = [record("i1", 1, "work", &[Met])];
    let meta = inspect::FileMeta {
        id: "x".to_owned(),
        created_ms: 0.0,
    };
    let log = inspect::write(&records, &meta).unwrap();
    let open = |bytes: &[u8], name: &str| {
        let (file, notices) = inspect::read(bytes, name).unwrap();
        Arc::new(LoadedResult { file, notices })
    };
    let ours = open(log.json().as_bytes(), "ours.json");
    let theirs = open(
        include_bytes!("../data/inspect/foreign.json.gz"),
        "theirs.json.gz",
    );
    let found = table::build(&arcs(records), &[ours.clone(), ours, theirs], None, &[]);
    let keys: std::collections::BTreeSet<&str> =
        found.rows.iter().map(|r| r.key.as_str()).collect();
    assert_eq!((keys.len(), found.rows.len()), (8, 8));
    let foreign = &found.rows[6];
    assert_eq!(foreign.source, Source::File("theirs.json.gz".to_owned()));
    // C, I and NaN in each of four samples; two more failed before they were scored.
    assert_eq!(
        (foreign.judge.as_str(), foreign.overall.percent),
        ("by_requirement", Some(50.0))
    );
    assert_eq!(
        foreign.partial.as_deref(),
        Some("2 samples without a score between 0 and 1")
    );
    assert_eq!(percents(foreign), vec![None; 9]);
}

#[test]
fn printed_rows_are_overlaid_as_printed() {
    let overlay = ["table4/rag__qwen2_5_7b_instruct", "table4/none", "none"].map(str::to_owned);
    let found = table::build(&[], &[], Some(&paper()), &overlay);
    assert_eq!(found.rows.len(), 1);
    let row = &found.rows[0];
    let printed = [52.7, 51.0, 77.3, 55.5, 67.1, 65.2, 75.0, 40.1, 37.1].map(Some);
    assert_eq!(percents(row), printed);
    assert_eq!(
        (row.overall.percent, row.overall.instances),
        (Some(58.3), None)
    );
    assert_eq!(row.source, Source::Paper("Table 4".to_owned()));
    assert_eq!(
        row.judge,
        "DeepSeek-V3.2, Qwen3-4B-Instruct, Qwen3-30B-A3B-Instruct"
    );
}

#[test]
fn the_table_as_csv_has_one_line_a_row() {
    let mut evil = record("i1", 1, "work", &[Met, Met, NotMet]);
    evil.dataset.name = "=cmd()".to_owned();
    evil.judgements.truncate(1);
    let text = csv::domain_table(&table::build(&arcs([evil]), &[], None, &[]));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(
        "\u{feff}source,system,model,judge,judge_prompt_sha256,dataset,dataset_sha256,parameters,retriever,edited_prompts,writing_and_design,work,"
    ));
    let expected = format!(
        "this tab,IBA-Agent,some-model,programmatic,,'=cmd(),{},temperature = 0.7,all-minilm-l6-v2,,,66.66666666666666,,,,,,,,66.66666666666666,,,,,,1,0,0,",
        "ab".repeat(32)
    );
    assert_eq!(lines[1], expected);
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_figure_says_what_stands_behind_it() {
    let overlay = ["table4/rag__qwen2_5_7b_instruct".to_owned()];
    let records = arcs([record("i1", 1, "work", &[Met, NotMet, Unscored])]);
    let found = table::build(&records, &[], Some(&paper()), &overlay);
    let rows: Vec<&TableRow> = found.rows.iter().collect();
    let drawn = figure::radar(&found, &rows, "2026-11-29");
    let names: Vec<&str> = drawn
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "IBA-Agent · some-model · temperature = 0.7 · judge programmatic",
            "IBA-Agent · some-model · temperature = 0.7 · judge judge-model",
            "Paper, Table 4: Standard RAG · Qwen2.5-7B-Instruct",
        ]
    );
    let reference: Vec<bool> = drawn.series.iter().map(|series| series.reference).collect();
    assert_eq!(reference, [false, false, true]);
    assert_eq!(
        drawn.caption,
        [
            "n = 1, partial; judge programmatic; iba-mini abababababab",
            "n = 0, partial; judge judge-model; iba-mini abababababab",
            "Paper: as printed, arXiv 2608.02171v1; other data, other judges.",
            "IBA Lab 0.1.0, 2026-11-29",
        ]
    );
    assert!(drawn.description.starts_with(
        "IBA-Agent · some-model · temperature = 0.7 · judge programmatic: Writing –, Work 50.0, Daily –,"
    ));
    let many = vec![rows[0]; 9];
    assert_eq!(figure::radar(&found, &many, "").series.len(), figure::MOST);
}

/// The layout of Tables 4 and 9, by hand: judge a says met, not met, met of the one requirement, so
/// 200/3 with deviation 100 / sqrt(3); judge b says not met; together (2/3 + 0) / 2.
#[test]
fn judges_stand_together_and_alone_with_their_deviation() {
    let mut run = record("i1", 1, "work", &[Met]);
    let judged = run.judgements[1].clone();
    let says = |judge: &str, repeat: u32, state| {
        let mut judgement = judged.clone();
        judgement.judge = judge.to_owned();
        judgement.repeat = repeat;
        judgement.verdicts[0].state = state;
        judgement
    };
    run.judgements = vec![
        says("a", 1, Met),
        says("a", 2, NotMet),
        says("a", 3, Met),
        says("b", 1, NotMet),
    ];
    let rows = table::build(&arcs([run]), &[], None, &[]).rows;
    let names: Vec<&str> = rows.iter().map(|row| row.judge.as_str()).collect();
    assert_eq!(names, ["mean of 2 judges", "a", "b"]);
    let near = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-9;
    assert!(near(rows[0].overall.percent, 100.0 / 3.0));
    assert!(near(rows[1].overall.percent, 200.0 / 3.0));
    assert!(near(rows[1].overall.sd, 100.0 / 3f64.sqrt()));
    assert!(near(rows[1].cells[1].sd, 100.0 / 3f64.sqrt()));
    assert_eq!(
        (rows[2].overall.percent, rows[2].overall.sd),
        (Some(0.0), None)
    );
    assert_eq!(rows[1].prompt.as_deref(), Some("ef".repeat(32).as_str()));
}

/// The paper prints each delta of its Table 5; ours from its scores are the same.
#[test]
fn differences_are_those_the_paper_prints() {
    let keys = ["full", "wo_deep_retrieval", "wo_bt_da", "wo_synthesis"];
    let overlay = keys.map(|row| table::paper_key("table5", row)).to_vec();
    let found = table::build(&[], &[], Some(&paper()), &overlay);
    let deltas = iba_lab::results::differences::against(&found, &found.rows[0]);
    let overall: Vec<String> = deltas
        .iter()
        .map(|one| iba_lab::results::differences::signed(one.overall))
        .collect();
    assert_eq!(overall, ["−8.3", "−2.5", "−5.5"]);
    let medical = iba_lab::results::differences::signed(deltas[0].cells[6]);
    assert_eq!(medical, "−23.0");
}

/// A run whose only requirement a judge decides, and one that rules decide: what of the second
/// counts for the judge.
fn judged_and_ruled() -> [RunRecord; 2] {
    let mut judged = record("i1", 1, "work", &[Met]);
    judged.judgements.remove(0);
    judged.judgements[0].verdicts[0].state = NotMet;
    let mut ruled = record("i2", 1, "work", &[Met, Met]);
    ruled.judgements.truncate(1);
    [judged, ruled]
}

/// By hand: i1 is 0 by the judge, i2 is 1 by rules; the judge's row covers both, and there is no
/// row of rules beside it. In four repeats of i1 (0, 1, 1, 1) i2 stays 1, so the repeats are 50,
/// 100, 100, 100: mean 87.5, deviation 25.
#[test]
fn what_rules_decided_counts_for_every_judge_and_repeat() {
    let runs = judged_and_ruled();
    let rows = table::build(&arcs(runs.clone()), &[], None, &[]).rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].judge.as_str(), rows[0].overall.percent),
        ("judge-model", Some(50.0))
    );
    assert_eq!(
        (rows[0].overall.instances, &rows[0].partial),
        (Some(2), &None)
    );

    let [mut judged, ruled] = runs;
    for repeat in 2..=4 {
        let mut again = judged.judgements[0].clone();
        again.repeat = repeat;
        again.verdicts[0].state = Met;
        judged.judgements.push(again);
    }
    let rows = table::build(&arcs([judged.clone(), ruled.clone()]), &[], None, &[]).rows;
    assert_eq!(
        (rows[0].overall.percent, rows[0].overall.sd),
        (Some(87.5), Some(25.0))
    );

    let meta = inspect::FileMeta {
        id: "x".to_owned(),
        created_ms: 0.0,
    };
    let log = inspect::write(&[judged, ruled], &meta).unwrap();
    let log: serde_json::Value = serde_json::from_str(log.json()).unwrap();
    let ruled = &log["samples"][1]["scores"];
    for name in [
        "programmatic_mean",
        "judge-model_mean",
        "judge-model#4_mean",
    ] {
        assert_eq!(ruled[name]["value"], 1.0, "{name}");
    }
    let said = ruled["judge-model"]["explanation"].as_str().unwrap();
    assert!(said.starts_with("Rules decided every requirement"));
    let means = log["results"]["scores"].as_array().unwrap();
    let mean = |name: &str| {
        let found = means.iter().find(|score| score["name"] == name).unwrap();
        found["metrics"]["mean"]["value"].as_f64().unwrap()
    };
    assert_eq!(
        (mean("judge-model_mean"), mean("judge-model#2_mean")),
        (0.5, 1.0)
    );
}

/// The paper averages repeats before anything else. Epoch 1 was judged twice (1, 1) and epoch 2
/// once (0): (1 + 0) / 2, where all three pooled would give 67.
#[test]
fn repeats_of_a_judge_are_averaged_before_the_runs_of_an_instance() {
    let run = |epoch: u32, states: &[iba_lab::judge::VerdictState]| {
        let mut run = record("i1", epoch, "work", &[Met]);
        let judgement = run.judgements.remove(1);
        let says = |(n, state): (usize, &iba_lab::judge::VerdictState)| {
            let mut judgement = judgement.clone();
            judgement.repeat = n as u32 + 1;
            judgement.verdicts[0].state = *state;
            judgement
        };
        run.judgements = states.iter().enumerate().map(says).collect();
        run
    };
    let rows = table::build(
        &arcs([run(1, &[Met, Met]), run(2, &[NotMet])]),
        &[],
        None,
        &[],
    )
    .rows;
    assert_eq!(rows[0].overall.percent, Some(50.0));
    // The deviation is over the first run alone, and says so.
    assert_eq!(rows[0].overall.sd, Some(0.0));
    assert_eq!(
        rows[0].partial.as_deref(),
        Some("deviation over the 1 of 2 runs judged 2 times")
    );
}

/// Two runs of one system that differ in a parameter, two that differ in the retriever.
#[test]
fn rows_say_in_what_they_differ() {
    let plain = record("i1", 1, "work", &[Met]);
    let mut stricter = plain.clone();
    stricter.params.min_salience = 7.0;
    let mut other = plain.clone();
    other.retriever.model = "all-mpnet-base-v2".to_owned();
    let basis = iba_lab::results::lost::basis(&[&plain, &stricter, &other]);
    assert_eq!(
        basis,
        "3 runs of IBA-Agent with some-model, 3 set-ups together; iba-mini abababababab"
    );
    let found = table::build(&arcs([plain, stricter, other]), &[], None, &[]);
    let own = |row: &&TableRow| row.judge == "programmatic";
    let details: Vec<String> = found
        .rows
        .iter()
        .filter(own)
        .map(|row| row.details.all().join(" · "))
        .collect();
    assert_eq!(
        details,
        [
            "temperature = 0.7 · retriever all-minilm-l6-v2",
            "min_salience = 7 · temperature = 0.7 · retriever all-minilm-l6-v2",
            "temperature = 0.7 · retriever all-mpnet-base-v2",
        ]
    );
    let names: std::collections::BTreeSet<String> = found.rows.iter().map(figure::name).collect();
    assert_eq!(names.len(), found.rows.len(), "{names:?}");
    let text = csv::domain_table(&found);
    let lines: std::collections::BTreeSet<&str> = text.lines().collect();
    assert_eq!(lines.len(), found.rows.len() + 1);
}

/// By hand: a has i1 to i3 with 1, 1, 0; b has i2 to i4 with 0, 0, 1. On i2 and i3: -1 and 0. The
/// means of the rows, 66.7 and 33.3, would give -33.3.
#[test]
fn differences_are_taken_on_the_instances_both_have() {
    let run = |instance: &str, state, top_k: u32| {
        let mut run = record(instance, 1, "work", &[state]);
        run.judgements.truncate(1);
        run.params.top_k = top_k;
        run
    };
    let runs = [
        run("i1", Met, 3),
        run("i2", Met, 3),
        run("i3", NotMet, 3),
        run("i2", NotMet, 5),
        run("i3", NotMet, 5),
        run("i4", Met, 5),
        run("i9", Met, 7),
    ];
    let found = table::build(&arcs(runs), &[], None, &[]);
    let deltas = iba_lab::results::differences::against(&found, &found.rows[0]);
    assert_eq!(
        (deltas[0].overall, deltas[0].cells[1]),
        (Some(-50.0), Some(-50.0))
    );
    let pairs = deltas[0].pairs.unwrap();
    assert_eq!((pairs.both, pairs.row, pairs.base), (2, 3, 3));
    assert_eq!(
        deltas[0].caveat.as_deref(),
        Some("on the 2 instances both have, of 3 and 3")
    );
    assert_eq!(pairs.interval, Some((-100.0, 0.0)));
    assert_eq!(deltas[1].overall, None);
    assert_eq!(deltas[1].caveat.as_deref(), Some("no instance in common"));
}

/// Printed rows of other tables are compared as far as their judges are the same; what else differs
/// is said.
#[test]
fn printed_rows_of_two_retrievers_stand_side_by_side() {
    let keys = [
        ("table4", "rag__deepseek_v3"),
        ("table10", "rag__deepseek_v3"),
    ];
    let overlay = keys.map(|(table, row)| table::paper_key(table, row));
    let rows = table::build(&[], &[], Some(&paper()), &overlay).rows;
    let found_by: Vec<String> = rows
        .iter()
        .map(|row| row.details.all().join(" · "))
        .collect();
    assert_eq!(
        found_by,
        ["retriever bge-m3", "retriever all-mpnet-base-v2"]
    );
}
