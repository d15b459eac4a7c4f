//! Tables as CSV that spreadsheets open without running it.

use crate::results::table::{Cell, DomainTable, TableRow};
use std::borrow::Cow;

/// CSV as RFC 4180 wants it, with a byte-order mark, without which Excel garbles all that is not
/// ASCII. Text that a spreadsheet would take for a formula gets an apostrophe; real numbers stay.
pub fn write(rows: &[Vec<String>]) -> String {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .flexible(true)
        .from_writer("\u{feff}".as_bytes().to_vec());
    for row in rows {
        writer
            .write_record(row.iter().map(|cell| safe(cell).into_owned()))
            .expect("a Vec takes all bytes");
    }
    let bytes = writer.into_inner().expect("a Vec takes all bytes");
    String::from_utf8(bytes).expect("made of text")
}

fn safe(cell: &str) -> Cow<'_, str> {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(cell);
    if formula {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
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
        "judge_prompt_sha256",
        "dataset",
        "dataset_sha256",
        "parameters",
        "retriever",
        "edited_prompts",
    ]
    .map(str::to_owned)
    .to_vec();
    head.extend(table.columns.iter().map(|column| column.id.clone()));
    head.extend(
        [
            "overall",
            "overall_sd",
            "overall_corrected",
            "overall_corrected_low",
            "overall_corrected_high",
            "judge_error",
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
        row.prompt.clone().unwrap_or_default(),
        row.dataset.clone(),
        row.dataset_sha256.clone(),
        row.details.params.join("; "),
        row.details.retriever.clone(),
        row.details.prompts.join("; "),
    ];
    out.extend(row.cells.iter().map(percent));
    out.push(percent(&row.overall));
    out.push(number(row.overall.sd));
    let corrected = row.corrected.as_ref();
    let interval = corrected.and_then(|found| found.interval);
    for share in [
        corrected.map(|found| found.share),
        interval.map(|(low, _)| low),
        interval.map(|(_, high)| high),
    ] {
        out.push(number(share.map(|share| 100.0 * share)));
    }
    out.push(row.error.clone().unwrap_or_default());
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
    number(cell.percent)
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
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
            let row = [cell, "x"].map(str::to_owned).to_vec();
            assert_eq!(write(&[row]), format!("\u{feff}{expected},x\r\n"));
        }
        let rows = [vec!["a".into(), "b".into()], vec!["c".into()]];
        assert_eq!(write(&rows), "\u{feff}a,b\r\nc\r\n");
    }

    #[test]
    fn what_is_written_is_read_back_by_any_reader_of_csv() {
        let cells = ["", "a,b", "say \"so\"", "two\r\nlines", "日本"];
        let text = write(&[cells.map(str::to_owned).to_vec()]);
        let plain = text.strip_prefix('\u{feff}').expect("a byte-order mark");
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(plain.as_bytes());
        let row = reader.records().next().expect("a row").expect("readable");
        assert_eq!(row.iter().collect::<Vec<_>>(), cells);
    }
}
