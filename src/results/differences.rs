//! Rows beside a row they are compared with: the layout of the paper's ablation, Table 5. Measured
//! rows are compared instance by instance, on those that both have.

use crate::bench::ids::{DomainId, InstanceId};
use crate::results::table::{Cell, Column, DomainTable, Source, TableRow};
use crate::score::{self, bootstrap};

/// Of the resamples behind intervals, so that a page shows the same every time.
const SEED: u64 = 42;

/// A row and how far each of its scores lies from the base's, in percent points.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    pub row: &'a TableRow,
    /// Variant minus base, in the order of the columns; `None` where one has no score.
    pub cells: Vec<Option<f64>>,
    pub overall: Option<f64>,
    /// What the difference was taken over; `None` for printed rows, whose instances are not known.
    pub pairs: Option<Pairs>,
    /// Why the two are not quite comparable, in a sentence.
    pub caveat: Option<String>,
}

/// Instances behind a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairs {
    /// Instances that both rows have.
    pub both: usize,
    /// Instances of the row, and of the base.
    pub row: usize,
    pub base: usize,
    /// 95 % interval of the overall difference, in percent points, by resampling these instances.
    pub interval: Option<(f64, f64)>,
}

/// Every other row against the base, as far as the same judges stand behind both. Printed rows are
/// compared with each other whatever their table: Tables 4 and 5 have the same judges.
pub fn against<'a>(table: &'a DomainTable, base: &TableRow) -> Vec<Difference<'a>> {
    let fits = |row: &&TableRow| row.key != base.key && row.judge == base.judge;
    let rows = table.rows.iter().filter(fits);
    rows.map(|row| one(&table.columns, row, base)).collect()
}

fn one<'a>(columns: &[Column], row: &'a TableRow, base: &TableRow) -> Difference<'a> {
    let measured = !row.instances.is_empty() && !base.instances.is_empty();
    if !measured {
        let cells = row.cells.iter().zip(&base.cells);
        return Difference {
            row,
            cells: cells.map(|(a, b)| minus(a, b)).collect(),
            overall: minus(&row.overall, &base.overall),
            pairs: None,
            caveat: caveat(row, base, None),
        };
    }
    let found = pairs(row, base);
    let of = |domain: Option<&DomainId>| -> Vec<f64> {
        let here = |one: &&(DomainId, f64)| domain.is_none_or(|domain| one.0 == *domain);
        found.iter().filter(here).map(|one| one.1).collect()
    };
    let all = of(None);
    let cell = |column: &Column| score::mean(of(Some(&column.id.as_str().into())));
    let pairs = Pairs {
        both: all.len(),
        row: row.instances.len(),
        base: base.instances.len(),
        interval: bootstrap::of_mean(&all, SEED),
    };
    Difference {
        row,
        cells: columns.iter().map(cell).collect(),
        overall: score::mean(all),
        pairs: Some(pairs),
        caveat: caveat(row, base, Some(pairs)),
    }
}

/// The difference on every instance that both rows have, in percent points.
fn pairs(row: &TableRow, base: &TableRow) -> Vec<(DomainId, f64)> {
    let pair = |((domain, instance), score): (&(DomainId, InstanceId), &f64)| {
        let other = base.instances.get(&(domain.clone(), instance.clone()))?;
        Some((domain.clone(), 100.0 * (score - other)))
    };
    row.instances.iter().filter_map(pair).collect()
}

fn minus(a: &Cell, b: &Cell) -> Option<f64> {
    Some(a.percent? - b.percent?)
}

fn caveat(row: &TableRow, base: &TableRow, pairs: Option<Pairs>) -> Option<String> {
    let printed = |row: &TableRow| matches!(row.source, Source::Paper(_));
    if row.dataset != base.dataset || row.dataset_sha256 != base.dataset_sha256 {
        return Some("another data set or version of it".to_owned());
    }
    if row.prompt != base.prompt {
        return Some("another wording of the judge’s prompt".to_owned());
    }
    if printed(row) && printed(base) && row.details.retriever != base.details.retriever {
        return Some("another retriever".to_owned());
    }
    match pairs {
        Some(pairs) if pairs.both == 0 => Some("no instance in common".to_owned()),
        Some(pairs) if pairs.both < pairs.row.max(pairs.base) => Some(format!(
            "on the {} instances both have, of {} and {}",
            pairs.both, pairs.row, pairs.base
        )),
        Some(_) => None,
        None if printed(row) && printed(base) => None,
        None => Some("not paired: instances are not known".to_owned()),
    }
}

/// A difference as tables show it: `−8.3`, `+0.4`, `0.0`.
pub fn signed(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value > -0.05 && value < 0.05 => "0.0".to_owned(),
        Some(value) if value < 0.0 => format!("−{:.1}", -value),
        Some(value) => format!("+{value:.1}"),
    }
}
