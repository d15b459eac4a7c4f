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
        "\u{feff}source,system,model,judge,judge_prompt_sha256,dataset,dataset_sha256,writing_and_design,work,"
    ));
    let expected = format!(
        "this tab,IBA-Agent,some-model,programmatic,,'=cmd(),{},,66.66666666666666,,,,,,,,66.66666666666666,,,,1,0,0,",
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
            "IBA-Agent · some-model · judge programmatic",
            "IBA-Agent · some-model · judge judge-model",
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
        "IBA-Agent · some-model · judge programmatic: Writing –, Work 50.0, Daily –,"
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
