//! Rows of the domain table for runs of this program: one for each judge with its deviation over
//! repeats, and one for all judges together, as the paper's Tables 4 and 6 to 9 have them.

use crate::agent::system::System;
use crate::bench::ids::DomainId;
use crate::judge::{Judgement, counted, opinion};
use crate::results::calibration::{self, Calibration};
use crate::results::corrected;
use crate::results::judges::{Repeats, domain_spread, overall_spread, repeats};
use crate::results::table::{Cell, Column, Instances, Source, TableRow};
use crate::run::record::{RunRecord, RunStatus};
use crate::run::setup::{Details, setups};
use crate::score::{self, Entry, MeanScore};
use std::collections::BTreeSet;

/// What all rows are made with.
pub struct Measure<'a> {
    pub columns: &'a [Column],
    pub calibrations: &'a [Calibration],
    /// A run of every set-up of the table: rows say what sets them apart from these.
    pub among: &'a [&'a RunRecord],
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
        // Gold-labelled samples measure judges, not systems.
        let systems = records.filter(|record| record.system != System::Samples);
        let groups = setups(systems).into_iter().enumerate();
        let group = |(n, records)| Group { source, n, records };
        groups.flat_map(|one| self.of_group(&group(one))).collect()
    }

    fn of_group(&self, group: &Group<'_>) -> Vec<TableRow> {
        let mut judges = judges(&group.records);
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
        let records = &group.records;
        let entries: Vec<Entry> = records.iter().map(|record| Entry::from(*record)).collect();
        let judged = |record: &RunRecord| !record.judgements.is_empty();
        let row = self.row(group, &format!("mean of {judges} judges"), &entries);
        let mut missing = partial(records, judged, &score::table(&entries).overall);
        let fewer = |record: &&&RunRecord| {
            judged(record)
                && judges_of(record) < judges
                && counted::by_rules_alone(&record.judgements).is_none()
        };
        say(
            &mut missing,
            records.iter().filter(fewer).count(),
            "run without some of the judges",
            "runs without some of the judges",
        );
        TableRow {
            partial: sentence(missing),
            ..row
        }
    }

    fn of_judge(&self, group: &Group<'_>, judge: &str) -> TableRow {
        let records = &group.records;
        let entries = entries(records, judge);
        let judged = |record: &RunRecord| !counted::of_judge(&record.judgements, judge).is_empty();
        let known = calibration::matching(self.calibrations, judge, records);
        let name = match judge {
            "" => "not judged",
            judge => judge,
        };
        let row = self.row(group, name, &entries);
        let mut missing = partial(records, judged, &score::table(&entries).overall);
        let repeats = repeats(records, judge);
        if let Some(short) = repeats.as_ref().and_then(Repeats::sentence) {
            missing.push(short);
        }
        let mut row = TableRow {
            partial: sentence(missing),
            prompt: prompts(records, judge),
            error: known.map(Calibration::sentence),
            corrected: known
                .and_then(|known| corrected::correct(&corrected::parts(records, judge), known)),
            ..row
        };
        if let Some(repeats) = repeats {
            self.deviate(&mut row, &repeats);
        }
        row
    }

    fn row(&self, group: &Group<'_>, judge: &str, entries: &[Entry]) -> TableRow {
        let first = group.records[0];
        let scores = score::table(entries);
        let cell = |column: &Column| {
            let score = scores.domains.get(&DomainId::from(column.id.as_str()));
            score.map_or_else(Cell::default, Cell::from)
        };
        let instances = score::by_instance(entries).into_iter();
        let instances: Instances = instances
            .filter_map(|(of, score)| Some((of, score.mean?)))
            .collect();
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
            details: Details::of(first, self.among),
            dataset: first.dataset.name.clone(),
            dataset_sha256: first.dataset.sha256.clone(),
            cells: self.columns.iter().map(cell).collect(),
            overall: Cell::from(&scores.overall),
            decimals: 1,
            partial: None,
            prompt: None,
            error: None,
            corrected: None,
            instances,
        }
    }

    /// Deviations over the repeats of the judge: the layout of Table 9.
    fn deviate(&self, row: &mut TableRow, repeats: &Repeats) {
        for (cell, column) in row.cells.iter_mut().zip(self.columns) {
            let domain = DomainId::from(column.id.as_str());
            cell.sd = domain_spread(&repeats.tables, &domain).and_then(|spread| spread.sd);
        }
        row.overall.sd = overall_spread(&repeats.tables).and_then(|spread| spread.sd);
    }
}

/// The judges of these runs that have a row.
fn judges<'a>(records: &[&'a RunRecord]) -> Vec<&'a str> {
    let outputs = records.iter().map(|record| record.judgements.as_slice());
    counted::judges(outputs)
}

/// Different models that judged one run.
fn judges_of(record: &RunRecord) -> usize {
    let names = record.judgements.iter().map(|j| j.judge.as_str());
    let models = names.filter(|name| opinion::is_model(name));
    models.collect::<BTreeSet<_>>().len()
}

/// One entry for each run that the judge saw: its repeats are averaged here, runs of one instance
/// by the table.
pub fn entries(group: &[&RunRecord], judge: &str) -> Vec<Entry> {
    let entry = |record: &&RunRecord| {
        let repeats: Vec<&Judgement> = counted::of_judge(&record.judgements, judge);
        (!repeats.is_empty()).then(|| Entry {
            instance: record.instance.clone(),
            domain: record.domain.clone(),
            score: score::of_repeats(&repeats),
        })
    };
    group.iter().filter_map(entry).collect()
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
) -> Vec<String> {
    let unfinished = group
        .iter()
        .filter(|record| record.status != RunStatus::Done)
        .count();
    let unjudged = group.iter().filter(|record| !judged(record)).count();
    let mut parts = Vec::new();
    say(
        &mut parts,
        unfinished,
        "run not finished",
        "runs not finished",
    );
    say(&mut parts, unjudged, "run not judged", "runs not judged");
    say(
        &mut parts,
        overall.unscored as usize,
        "requirement unscored",
        "requirements unscored",
    );
    parts
}

fn say(parts: &mut Vec<String>, n: usize, one: &str, many: &str) {
    if n > 0 {
        parts.push(format!("{n} {}", if n == 1 { one } else { many }));
    }
}

fn sentence(parts: Vec<String>) -> Option<String> {
    (!parts.is_empty()).then(|| parts.join(", "))
}
