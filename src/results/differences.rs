//! Rows beside a row they are compared with: the layout of the paper's ablation, Table 5.

use crate::results::table::{Cell, DomainTable, TableRow};

/// A row and how far each of its scores lies from the base's, in percent points.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    pub row: &'a TableRow,
    /// Variant minus base, in the order of the columns; `None` where one has no score.
    pub cells: Vec<Option<f64>>,
    pub overall: Option<f64>,
    /// Why the two are not quite comparable, in a sentence.
    pub caveat: Option<String>,
}

/// Every other row against the base. Only rows of the same judge are compared, printed ones with
/// printed ones of their table.
pub fn against<'a>(table: &'a DomainTable, base: &TableRow) -> Vec<Difference<'a>> {
    let fits = |row: &&TableRow| row.key != base.key && row.judge == base.judge;
    let one = |row: &'a TableRow| Difference {
        row,
        cells: row
            .cells
            .iter()
            .zip(&base.cells)
            .map(|(a, b)| minus(a, b))
            .collect(),
        overall: minus(&row.overall, &base.overall),
        caveat: caveat(row, base),
    };
    table.rows.iter().filter(fits).map(one).collect()
}

fn minus(a: &Cell, b: &Cell) -> Option<f64> {
    Some(a.percent? - b.percent?)
}

fn caveat(row: &TableRow, base: &TableRow) -> Option<String> {
    if row.dataset != base.dataset || row.dataset_sha256 != base.dataset_sha256 {
        return Some("another data set or version of it".to_owned());
    }
    if row.prompt != base.prompt {
        return Some("another wording of the judge’s prompt".to_owned());
    }
    match (row.overall.instances, base.overall.instances) {
        (Some(n), Some(m)) if n != m => Some(format!("{n} instances against {m}")),
        _ => None,
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
