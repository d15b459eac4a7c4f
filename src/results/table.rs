//! The domain table in the layout of the paper: one row for each system, model and judge, nine
//! domains and Overall. Every row says how many instances stand behind it and what is missing.

use crate::agent::system::System;
use crate::bench::ids::{DomainId, InstanceId};
use crate::results::calibration;
use crate::results::corrected::Corrected;
use crate::results::file::{LoadedResult, ScoreValue};
use crate::results::measured::Measure;
use crate::run::record::RunRecord;
use crate::run::setup::{self, Details};
use crate::score::paper::PaperResults;
use crate::score::{self, MeanScore};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Column heads of the paper's tables, in its order.
const DOMAINS: [(&str, &str); 9] = [
    ("writing_and_design", "Writing"),
    ("work", "Work"),
    ("daily_consumption", "Daily"),
    ("planning", "Plan."),
    ("exercise_and_health", "Health"),
    ("transportation", "Trans."),
    ("medical_services", "Med."),
    ("leisure_activities", "Leis."),
    ("information_management", "Info."),
];

#[derive(Clone, Debug, PartialEq)]
pub struct DomainTable {
    pub columns: Vec<Column>,
    pub rows: Vec<TableRow>,
}

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub id: String,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// Unique within the table and the same from one visit to the next.
    pub key: String,
    pub source: Source,
    pub system: String,
    pub model: String,
    pub judge: String,
    /// What else the runs were made with.
    pub details: Details,
    pub dataset: String,
    pub dataset_sha256: String,
    /// In the order of the columns.
    pub cells: Vec<Cell>,
    pub overall: Cell,
    /// Decimals to show.
    pub decimals: usize,
    /// What is missing, in words; `None` when the row is complete.
    pub partial: Option<String>,
    /// Hash of the judge's prompt; several, joined, where runs differ in it.
    pub prompt: Option<String>,
    /// How often the judge erred on gold-labelled samples, in a sentence.
    pub error: Option<String>,
    /// Overall after correction for that error.
    pub corrected: Option<Corrected>,
    /// Score of each instance behind the row, 0 to 1; empty where none is known.
    pub instances: Instances,
}

/// Scores by domain and instance.
pub type Instances = BTreeMap<(DomainId, InstanceId), f64>;

/// Where a row comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    ThisTab,
    File(String),
    /// Printed, with the number of its table; never measured here.
    Paper(String),
}

impl Source {
    pub fn label(&self) -> String {
        match self {
            Source::ThisTab => "this tab".to_owned(),
            Source::File(name) => name.clone(),
            Source::Paper(table) => format!("paper, {table}"),
        }
    }
}

/// A mean and the numbers behind it; the paper prints none of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// 0 to 100; `None` when nothing was scored.
    pub percent: Option<f64>,
    pub instances: Option<u32>,
    pub without_score: Option<u32>,
    /// Requirements without a verdict.
    pub unscored: Option<u32>,
    /// Sample standard deviation over the repeats of the judge, in percent points.
    pub sd: Option<f64>,
}

impl From<&MeanScore> for Cell {
    fn from(score: &MeanScore) -> Self {
        Self {
            percent: score.mean.map(|mean| mean * 100.0),
            instances: Some(score.instances),
            without_score: Some(score.without_score),
            unscored: Some(score.unscored),
            sd: None,
        }
    }
}

impl Cell {
    fn printed(percent: f64, sd: Option<f64>) -> Self {
        Self {
            percent: Some(percent),
            sd,
            ..Self::default()
        }
    }
}

/// The nine domains in the paper's order.
pub fn columns() -> Vec<Column> {
    let column = |(id, label): &(&str, &str)| Column {
        id: (*id).into(),
        label: (*label).into(),
    };
    DOMAINS.iter().map(column).collect()
}

/// Rows of this tab's runs, of each opened file, and of the paper's rows named by `overlay`.
pub fn build(
    records: &[Arc<RunRecord>],
    opened: &[Arc<LoadedResult>],
    paper: Option<&PaperResults>,
    overlay: &[String],
) -> DomainTable {
    let columns = columns();
    let opened_records = opened.iter().flat_map(|loaded| loaded.records());
    let all = records.iter().chain(opened_records).map(Arc::as_ref);
    let all: Vec<&RunRecord> = all.collect();
    let known = calibration::of(all.iter().copied());
    let systems = all.into_iter();
    let systems = systems.filter(|record| record.system != System::Samples);
    let among: Vec<&RunRecord> = setup::setups(systems)
        .into_iter()
        .map(|group| group[0])
        .collect();
    let measure = Measure {
        columns: &columns,
        calibrations: &known,
        among: &among,
    };
    let mut rows = measure.rows(&Source::ThisTab, records.iter().map(Arc::as_ref));
    for (n, loaded) in opened.iter().enumerate() {
        let source = Source::File(loaded.file.name.clone());
        let mut of_file = measure.rows(&source, loaded.records().map(Arc::as_ref));
        of_file.extend(foreign(&source, loaded));
        for row in &mut of_file {
            row.key = format!("file{n}/{}", row.key);
        }
        rows.extend(of_file);
    }
    rows.extend(
        paper
            .into_iter()
            .flat_map(|paper| published(paper, overlay, &columns)),
    );
    DomainTable { columns, rows }
}

/// Rows of samples that another program wrote: one for each scorer, Overall only.
fn foreign(source: &Source, loaded: &LoadedResult) -> Vec<TableRow> {
    let file = &loaded.file;
    let samples: Vec<_> = file
        .rows
        .iter()
        .filter(|row| row.record.is_none())
        .collect();
    let mut seen = BTreeSet::new();
    let scorers = samples
        .iter()
        .flat_map(|row| &row.scores)
        .map(|score| score.scorer.as_str());
    let scorers: Vec<&str> = scorers.filter(|scorer| seen.insert(*scorer)).collect();
    let row = |scorer: &str| {
        let values = samples.iter().map(|row| {
            row.scores
                .iter()
                .find(|score| score.scorer == scorer)
                .and_then(|s| share(&s.value))
        });
        let values: Vec<Option<f64>> = values.collect();
        let overall = foreign_cell(&values);
        TableRow {
            key: format!("foreign/{scorer}"),
            source: source.clone(),
            system: or_dash(&file.system),
            model: or_dash(&file.model),
            judge: scorer.to_owned(),
            details: Details::default(),
            dataset: or_dash(&file.dataset),
            dataset_sha256: String::new(),
            cells: vec![Cell::default(); DOMAINS.len()],
            decimals: 1,
            partial: foreign_partial(&overall),
            overall,
            prompt: None,
            error: None,
            corrected: None,
            instances: Instances::new(),
        }
    };
    scorers.into_iter().map(row).collect()
}

fn or_dash(text: &str) -> String {
    if text.is_empty() {
        "–".to_owned()
    } else {
        text.to_owned()
    }
}

/// Samples are counted, not instances: another program's repeats may mean something else.
fn foreign_cell(values: &[Option<f64>]) -> Cell {
    let scored = values.iter().flatten().count();
    Cell {
        percent: score::mean(values.iter().flatten().copied()).map(|mean| mean * 100.0),
        instances: Some(scored as u32),
        without_score: Some((values.len() - scored) as u32),
        unscored: None,
        sd: None,
    }
}

fn foreign_partial(overall: &Cell) -> Option<String> {
    let n = overall.without_score.filter(|n| *n > 0)?;
    Some(format!("{n} samples without a score between 0 and 1"))
}

/// A score as a share of 1, by Inspect's own rules; `None` when it is on another scale.
fn share(value: &ScoreValue) -> Option<f64> {
    use crate::judge::VerdictState;
    let number = match value {
        ScoreValue::Number(number) => Some(*number),
        ScoreValue::Text(text) => match text.to_lowercase().as_str() {
            "c" | "yes" | "true" => Some(1.0),
            "p" => Some(0.5),
            "i" | "n" | "no" | "false" => Some(0.0),
            other => other.parse().ok(),
        },
        ScoreValue::Verdicts(verdicts) => {
            score::mean(verdicts.iter().filter_map(|(_, state)| match state {
                VerdictState::Met => Some(1.0),
                VerdictState::NotMet => Some(0.0),
                VerdictState::Unscored => None,
            }))
        }
        ScoreValue::Unscored | ScoreValue::Other(_) => None,
    };
    number.filter(|number| (0.0..=1.0).contains(number))
}

/// Names a printed row in an address: `table4/iba__deepseek_v3_2`.
pub fn paper_key(table: &str, row: &str) -> String {
    format!("{table}/{row}")
}

fn published(paper: &PaperResults, overlay: &[String], columns: &[Column]) -> Vec<TableRow> {
    let mut rows = Vec::new();
    for key in overlay {
        let Some((table_id, row_id)) = key.split_once('/') else {
            continue;
        };
        let Some(table) = paper.tables.get(table_id) else {
            continue;
        };
        let Some(row) = table.rows.iter().find(|row| row.id == row_id) else {
            continue;
        };
        let cell = |column: &Column| {
            let place = paper
                .domains
                .iter()
                .position(|domain| domain.id.0 == column.id);
            let printed =
                place.and_then(|place| Some((row.scores.get(place)?, row.std.get(place))));
            printed.map_or_else(Cell::default, |(percent, sd)| {
                Cell::printed(*percent, sd.copied())
            })
        };
        rows.push(TableRow {
            key: key.clone(),
            source: Source::Paper(table_title(table_id)),
            system: paper_system(&row.system),
            model: row.name.clone(),
            judge: table.judges.join(", "),
            details: Details {
                retriever: table.retriever.clone(),
                ..Details::default()
            },
            dataset: "IBA-Bench".to_owned(),
            dataset_sha256: String::new(),
            cells: columns.iter().map(cell).collect(),
            overall: Cell::printed(row.overall, row.std.last().copied()),
            decimals: row.decimals as usize,
            partial: None,
            prompt: None,
            error: None,
            corrected: None,
            instances: Instances::new(),
        });
    }
    rows
}

/// `table4` as `Table 4`.
pub fn table_title(id: &str) -> String {
    id.replace("table", "Table ")
}

fn paper_system(id: &str) -> String {
    match id {
        "standard_rag" => "Standard RAG".to_owned(),
        "iba_agent" => "IBA-Agent".to_owned(),
        "iba_agent_fc" => "IBA-Agent (FC)".to_owned(),
        "general_agent" => "general agent".to_owned(),
        other => other.replace('_', " "),
    }
}
