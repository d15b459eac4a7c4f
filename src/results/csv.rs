//! Tables as CSV that spreadsheets open without running it.

use crate::results::table::{Cell, DomainTable, TableRow};

/// CSV as RFC 4180 wants it, with a byte-order mark, without which Excel garbles all that is not
/// ASCII. Text that a spreadsheet would take for a formula gets an apostrophe; real numbers stay.
pub fn write(rows: &[Vec<String>]) -> String {
    let mut out = String::from('\u{feff}');
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| field(cell)).collect();
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

fn field(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(cell);
    let text = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The domain table, one line a row: scores in percent with all digits, and the numbers behind.
pub fn domain_table(table: &DomainTable) -> String {
    let mut head: Vec<String> = [
        "source",
        "system",
        "model",
        "judge",
        "dataset",
        "dataset_sha256",
    ]
    .map(str::to_owned)
    .to_vec();
    head.extend(table.columns.iter().map(|column| column.id.clone()));
    head.extend(
        [
            "overall",
            "instances",
            "without_score",
            "unscored_requirements",
            "partial",
        ]
        .map(str::to_owned),
    );
    let lines = std::iter::once(head).chain(table.rows.iter().map(line));
    write(&lines.collect::<Vec<_>>())
}

fn line(row: &TableRow) -> Vec<String> {
    let mut out = vec![
        row.source.label(),
        row.system.clone(),
        row.model.clone(),
        row.judge.clone(),
        row.dataset.clone(),
        row.dataset_sha256.clone(),
    ];
    out.extend(row.cells.iter().map(percent));
    out.push(percent(&row.overall));
    let counts = [
        row.overall.instances,
        row.overall.without_score,
        row.overall.unscored,
    ];
    out.extend(counts.map(|n| n.map_or(String::new(), |n| n.to_string())));
    out.push(row.partial.clone().unwrap_or_default());
    out
}

fn percent(cell: &Cell) -> String {
    cell.percent
        .map_or(String::new(), |percent| percent.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay() {
        for (cell, expected) in [
            (
                "=HYPERLINK(\"http://x\")",
                "\"'=HYPERLINK(\"\"http://x\"\")\"",
            ),
            ("+1 of us", "'+1 of us"),
            ("@a", "'@a"),
            ("-3", "-3"),
            ("-3 apples", "'-3 apples"),
            ("-inf", "'-inf"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("a,\"b\"\nc", "\"a,\"\"b\"\"\nc\""),
            ("普通", "普通"),
        ] {
            assert_eq!(field(cell), expected);
        }
        assert_eq!(write(&[vec!["a".into(), "b".into()]]), "\u{feff}a,b\r\n");
    }
}
