//! The radar of rows of the domain table, with the words that make it readable on its own.

use crate::chart::svg::{Figure, Series};
use crate::results::table::{DomainTable, Source, TableRow};
use std::fmt::Write;

/// Polygons that can still be told apart.
pub const MOST: usize = 6;

/// Figure of the rows, at most [`MOST`]. `date` is the day on which it is drawn.
pub fn radar(table: &DomainTable, rows: &[&TableRow], date: &str) -> Figure {
    let rows = &rows[..rows.len().min(MOST)];
    Figure {
        id: "domain-radar".to_owned(),
        title: "Scores by domain, in percent of the requirements met".to_owned(),
        description: description(table, rows),
        axes: table
            .columns
            .iter()
            .map(|column| column.label.clone())
            .collect(),
        max: 100.0,
        series: rows
            .iter()
            .enumerate()
            .map(|(n, row)| series(n, row))
            .collect(),
        caption: caption(rows, date),
    }
}

fn series(n: usize, row: &TableRow) -> Series {
    Series {
        name: name(row),
        values: row.cells.iter().map(|cell| cell.percent).collect(),
        style: n,
        reference: matches!(row.source, Source::Paper(_)),
    }
}

/// What a legend calls a row; a printed row says so first.
pub fn name(row: &TableRow) -> String {
    let (system, model) = (row.system.as_str(), row.model.as_str());
    if let Source::Paper(table) = &row.source {
        return format!("Paper, {table}: {system} · {model}");
    }
    let details = row.details.short();
    let parts = [system, model].into_iter();
    let parts = parts.chain(details.iter().map(String::as_str));
    let name = parts.collect::<Vec<_>>().join(" · ");
    let file = match &row.source {
        Source::File(file) => format!(" ({file})"),
        _ => String::new(),
    };
    format!("{name} · judge {}{file}", row.judge)
}

/// A percentage as tables show it.
pub fn percent(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

fn description(table: &DomainTable, rows: &[&TableRow]) -> String {
    let mut out = String::new();
    for row in rows {
        let _ = write!(out, "{}: ", name(row));
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let _ = write!(
                out,
                "{} {}, ",
                column.label,
                percent(cell.percent, row.decimals)
            );
        }
        let _ = write!(
            out,
            "overall {}. ",
            percent(row.overall.percent, row.decimals)
        );
    }
    out.trim_end().to_owned()
}

/// n, judge and data set of each measured row, where the printed rows come from, and the date.
fn caption(rows: &[&TableRow], date: &str) -> Vec<String> {
    let measured = rows
        .iter()
        .filter(|row| !matches!(row.source, Source::Paper(_)));
    let mut lines: Vec<String> = Vec::new();
    for row in measured {
        let line = basis(row);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if rows
        .iter()
        .any(|row| matches!(row.source, Source::Paper(_)))
    {
        lines.push("Paper: as printed, arXiv 2608.02171v1; other data, other judges.".to_owned());
    }
    lines.push(format!("IBA Lab {}, {date}", env!("CARGO_PKG_VERSION")));
    lines
}

fn basis(row: &TableRow) -> String {
    let n = row.overall.instances.unwrap_or(0);
    let hash: String = row.dataset_sha256.chars().take(12).collect();
    let partial = if row.partial.is_some() {
        ", partial"
    } else {
        ""
    };
    format!(
        "n = {n}{partial}; judge {}; {} {hash}",
        row.judge, row.dataset
    )
}
