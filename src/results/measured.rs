//! Rows of the domain table for runs of this program: one for each judge with its deviation over
//! repeats, and one for all judges together, as the paper's Tables 4 and 6 to 9 have them.

use crate::agent::system::System;
use crate::bench::ids::DomainId;
use crate::judge::{Judgement, opinion};
use crate::results::calibration::{self, Calibration};
use crate::results::judges::{domain_spread, tables_by_repeat};
use crate::results::table::{Cell, Column, Source, TableRow};
use crate::run::record::{RunRecord, RunStatus};
use crate::score::{self, Entry, MeanScore, ScoreTable, spread};
use std::collections::BTreeSet;

/// What all rows are made with.
pub struct Measure<'a> {
    pub columns: &'a [Column],
    pub calibrations: &'a [Calibration],
}

/// Runs of one set-up.
struct Group<'a> {
    source: &'a Source,
    /// Place among the groups of its source.
    n: usize,
    records: Vec<&'a RunRecord>,
}

impl Measure<'_> {
    /// Rows of the runs of one source, set-up by set-up.
    pub fn rows<'a>(
        &self,
        source: &'a Source,
        records: impl Iterator<Item = &'a RunRecord>,
    ) -> Vec<TableRow> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        // Gold-labelled samples measure judges, not systems.
        for record in records.filter(|record| record.system != System::Samples) {
            let fits = |group: &&mut Group<'_>| group.records[0].same_setup(record);
            match groups.iter_mut().find(fits) {
                Some(group) => group.records.push(record),
                None => groups.push(Group {
                    source,
                    n: groups.len(),
                    records: vec![record],
                }),
            }
        }
        groups
            .iter()
            .flat_map(|group| self.of_group(group))
            .collect()
    }

    fn of_group(&self, group: &Group<'_>) -> Vec<TableRow> {
        let mut seen = BTreeSet::new();
        let judgements = group.records.iter().flat_map(|record| &record.judgements);
        let judges = judgements.map(|judgement| judgement.judge.as_str());
        let mut judges: Vec<&str> = judges.filter(|judge| seen.insert(*judge)).collect();
        if judges.is_empty() {
            judges.push("");
        }
        // Runs that rules alone decided have no judge beside them; only those judged by several count.
        let most = group.records.iter().map(|record| judges_of(record)).max();
        let together = most
            .filter(|most| *most > 1)
            .map(|most| self.together(group, most));
        let each = judges.into_iter().map(|judge| self.of_judge(group, judge));
        together.into_iter().chain(each).collect()
    }

    /// All judges with equal weight, each after its repeats: the layout of Table 4.
    fn together(&self, group: &Group<'_>, judges: usize) -> TableRow {
        let entries: Vec<Entry> = group
            .records
            .iter()
            .map(|record| Entry::from(*record))
            .collect();
        let scores = score::table(&entries);
        let judged = |record: &RunRecord| !record.judgements.is_empty();
        TableRow {
            partial: partial(&group.records, judged, &scores.overall),
            ..self.row(group, &format!("mean of {judges} judges"), &scores)
        }
    }

    fn of_judge(&self, group: &Group<'_>, judge: &str) -> TableRow {
        let scores = score::table(&entries(&group.records, judge));
        let judged = |record: &RunRecord| record.judgements.iter().any(|j| j.judge == judge);
        let known = calibration::matching(self.calibrations, judge, &group.records);
        let corrected = || known?.corrected(scores.overall.mean?);
        let name = match judge {
            "" => "not judged",
            judge => judge,
        };
        let mut row = TableRow {
            partial: partial(&group.records, judged, &scores.overall),
            prompt: prompts(&group.records, judge),
            error: known.map(Calibration::sentence),
            corrected: corrected().map(|share| 100.0 * share),
            ..self.row(group, name, &scores)
        };
        self.deviate(&mut row, group, judge);
        row
    }

    fn row(&self, group: &Group<'_>, judge: &str, scores: &ScoreTable) -> TableRow {
        let first = group.records[0];
        let cell = |column: &Column| {
            let score = scores.domains.get(&DomainId::from(column.id.as_str()));
            score.map_or_else(Cell::default, Cell::from)
        };
        TableRow {
            key: format!(
                "{}/{:?}{}/{}/{judge}",
                group.n,
                first.system,
                first.variant.suffix(),
                first.agent.label()
            ),
            source: group.source.clone(),
            system: first.system_label(),
            model: first.agent.label(),
            judge: judge.to_owned(),
            dataset: first.dataset.name.clone(),
            dataset_sha256: first.dataset.sha256.clone(),
            cells: self.columns.iter().map(cell).collect(),
            overall: Cell::from(&scores.overall),
            decimals: 1,
            partial: None,
            prompt: None,
            error: None,
            corrected: None,
        }
    }

    /// Deviations over the repeats of the judge: the layout of Table 9.
    fn deviate(&self, row: &mut TableRow, group: &Group<'_>, judge: &str) {
        let tables = tables_by_repeat(&group.records, judge);
        if tables.len() < 2 {
            return;
        }
        for (cell, column) in row.cells.iter_mut().zip(self.columns) {
            let domain = DomainId::from(column.id.as_str());
            cell.sd = domain_spread(&tables, &domain).and_then(|spread| spread.sd);
        }
        let overall = tables
            .values()
            .filter_map(|table| Some(100.0 * table.overall.mean?));
        let overall: Vec<f64> = overall.collect();
        row.overall.sd = spread::of(&overall).and_then(|spread| spread.sd);
    }
}

/// Different models that judged one run.
fn judges_of(record: &RunRecord) -> usize {
    let names = record.judgements.iter().map(|j| j.judge.as_str());
    let models = names.filter(|name| opinion::is_model(name));
    models.collect::<BTreeSet<_>>().len()
}

/// One entry for each run and each time the judge was asked; repeats are averaged by the table.
fn entries(group: &[&RunRecord], judge: &str) -> Vec<Entry> {
    let of_record = |record: &&RunRecord| {
        let asked = record
            .judgements
            .iter()
            .filter(|judgement| judgement.judge == judge);
        let entry = |judgement: &Judgement| Entry {
            instance: record.instance.clone(),
            domain: record.domain.clone(),
            score: score::of_verdicts(&judgement.verdicts),
        };
        asked.map(entry).collect::<Vec<_>>()
    };
    group.iter().flat_map(of_record).collect()
}

/// Hashes of the prompts a judge was asked with.
fn prompts(group: &[&RunRecord], judge: &str) -> Option<String> {
    let judgements = group.iter().flat_map(|record| &record.judgements);
    let own = judgements.filter(|judgement| judgement.judge == judge);
    let hashes: BTreeSet<&str> = own
        .filter_map(|judgement| Some(judgement.prompt.as_ref()?.sha256.as_str()))
        .collect();
    let hashes: Vec<&str> = hashes.into_iter().collect();
    (!hashes.is_empty()).then(|| hashes.join(" "))
}

/// Why a row is not the whole truth.
fn partial(
    group: &[&RunRecord],
    judged: impl Fn(&RunRecord) -> bool,
    overall: &MeanScore,
) -> Option<String> {
    let unfinished = group
        .iter()
        .filter(|record| record.status != RunStatus::Done)
        .count();
    let unjudged = group.iter().filter(|record| !judged(record)).count();
    let mut parts = Vec::new();
    let mut say = |n: usize, one: &str, many: &str| {
        if n > 0 {
            parts.push(format!("{n} {}", if n == 1 { one } else { many }));
        }
    };
    say(unfinished, "run not finished", "runs not finished");
    say(unjudged, "run not judged", "runs not judged");
    say(
        overall.unscored as usize,
        "requirement unscored",
        "requirements unscored",
    );
    (!parts.is_empty()).then(|| parts.join(", "))
}
