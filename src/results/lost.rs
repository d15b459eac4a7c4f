//! The funnel of lost requirements in words and numbers: the figure, the table and the CSV.

use crate::chart::bars::{Bar, Funnel as Figure};
use crate::results::csv;
use crate::results::table::columns;
use crate::run::lost::funnel::{By, Counts, End, Funnel};
use crate::run::lost::{GATES, Gate};
use crate::run::record::RunRecord;
use crate::run::setup::setups;
use std::collections::BTreeSet;

/// A line of the table: how a requirement can end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub end: End,
    pub label: &'static str,
    /// How it is known.
    pub means: &'static str,
}

/// All ends in the order of the table.
pub fn lines() -> Vec<Line> {
    let mut lines = vec![Line {
        end: End::Met,
        label: "met",
        means: "by all judges",
    }];
    lines.extend(GATES.map(|gate| Line {
        end: End::LostAt(gate),
        label: gate.loss(),
        means: means(gate),
    }));
    lines.push(Line {
        end: End::Untold(None),
        label: "cannot be told",
        means: "no link to follow",
    });
    lines
}

fn means(gate: Gate) -> &'static str {
    match gate {
        _ if gate.exact() => "exact, by evidence links",
        Gate::Extracted => "by a judge model, else similarity",
        Gate::Planned => "by a judge model, else slot or similarity",
        _ => "by the verdicts",
    }
}

/// How many of a group ended so; all that cannot be told count as one.
pub fn count(counts: &Counts, end: End) -> u32 {
    match end {
        End::Met => counts.met,
        End::LostAt(gate) => counts.lost[gate as usize],
        End::Untold(_) => counts.all_untold(),
    }
}

/// Heading of a group.
pub fn group_name(by: By, group: &str) -> String {
    match by {
        By::Domain => {
            let columns = columns();
            let known = columns.iter().find(|column| column.id == group);
            known.map_or_else(|| group.replace('_', " "), |column| column.label.clone())
        }
        By::Signal | By::Change => group.replace('_', " "),
    }
}

/// Groups in the order of the table: domains as the paper has them, others by name.
pub fn groups(funnel: &Funnel) -> Vec<(&str, &Counts)> {
    let mut groups: Vec<(&str, &Counts)> = funnel
        .groups
        .iter()
        .map(|(name, counts)| (name.as_str(), counts))
        .collect();
    if funnel.by == By::Domain {
        let columns = columns();
        let place = |name: &str| columns.iter().position(|column| column.id == name);
        groups.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    }
    groups
}

/// The picture of one group's way. `date` is the day on which it is drawn.
pub fn figure(counts: &Counts, title: &str, basis: &str, date: &str) -> Figure {
    let first = Bar {
        label: "scored".to_owned(),
        sure: counts.scored,
        most: counts.scored,
        lost: 0,
    };
    let bar = |(gate, (sure, most)): (Gate, (u32, u32))| Bar {
        label: gate.label().to_owned(),
        sure,
        most,
        lost: counts.lost[gate as usize],
    };
    let gates = GATES.into_iter().zip(counts.remaining()).map(bar);
    Figure {
        id: "lost-funnel".to_owned(),
        title: format!("Where requirements were lost, {title}"),
        description: description(counts),
        total: counts.scored,
        bars: std::iter::once(first).chain(gates).collect(),
        caption: vec![
            basis.to_owned(),
            found(counts),
            format!("IBA Lab {}, {date}", env!("CARGO_PKG_VERSION")),
        ],
    }
}

/// The share of the failed whose place of loss is known.
pub fn found(counts: &Counts) -> String {
    let failed = counts.scored - counts.met;
    match counts.share_found() {
        None => "Nothing was lost.".to_owned(),
        Some(share) => format!(
            "Place of loss known for {} of {failed} not met ({:.0} %).",
            failed - counts.all_untold(),
            100.0 * share
        ),
    }
}

fn description(counts: &Counts) -> String {
    let ends = lines().into_iter().filter_map(|line| {
        let n = count(counts, line.end);
        (n > 0).then(|| format!("{n} {}", line.label))
    });
    let ends: Vec<String> = ends.collect();
    format!(
        "Of {} scored requirements: {}.",
        counts.scored,
        ends.join(", ")
    )
}

/// What stands behind a funnel: runs, systems, models, data sets; and of how many set-ups, where
/// runs with other parameters, retrievers or prompts stand beside each other.
pub fn basis(records: &[&RunRecord]) -> String {
    let one = |text: fn(&RunRecord) -> String| {
        let all: BTreeSet<String> = records.iter().map(|record| text(record)).collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    };
    let several = match setups(records.iter().copied()).len() {
        0 | 1 => String::new(),
        n => format!(", {n} set-ups together"),
    };
    format!(
        "{} runs of {} with {}{several}; {} {}",
        records.len(),
        one(|record| record.system_label()),
        one(|record| record.agent.label()),
        one(|record| record.dataset.name.clone()),
        one(|record| record.dataset.sha256.chars().take(12).collect()),
    )
}

/// The table as CSV: one line for each end, one column for each group.
pub fn table_csv(funnel: &Funnel) -> String {
    let groups = groups(funnel);
    let mut head = vec!["end".to_owned(), "known".to_owned(), "all".to_owned()];
    head.extend(groups.iter().map(|(name, _)| (*name).to_owned()));
    let row = |label: &str, means: &str, of: &dyn Fn(&Counts) -> u32| {
        let mut row = vec![
            label.to_owned(),
            means.to_owned(),
            of(&funnel.total).to_string(),
        ];
        row.extend(groups.iter().map(|(_, counts)| of(counts).to_string()));
        row
    };
    let mut rows = vec![head, row("scored", "", &|counts| counts.scored)];
    rows.extend(
        lines()
            .into_iter()
            .map(|line| row(line.label, line.means, &|counts| count(counts, line.end))),
    );
    csv::write(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Counts {
        let mut counts = Counts {
            scored: 10,
            met: 4,
            without_trace: 1,
            ..Counts::default()
        };
        counts.lost[Gate::Retrieved as usize] = 2;
        counts.lost[Gate::Output as usize] = 2;
        counts.untold[Gate::Extracted as usize] = 1;
        counts
    }

    #[test]
    fn the_lines_of_the_table_add_up() {
        let counts = counts();
        let sum: u32 = lines().iter().map(|line| count(&counts, line.end)).sum();
        assert_eq!(sum, counts.scored);
        assert_eq!(
            found(&counts),
            "Place of loss known for 4 of 6 not met (67 %)."
        );
        assert_eq!(
            description(&counts),
            "Of 10 scored requirements: 4 met, 2 not retrieved, 2 ignored by the output, 2 cannot be told."
        );
    }

    #[test]
    fn domains_stand_in_the_papers_order() {
        let mut funnel = Funnel::new(&[], By::Domain);
        for name in ["work", "zoo", "writing_and_design", "planning"] {
            funnel.groups.insert(name.to_owned(), counts());
        }
        let names: Vec<&str> = groups(&funnel).iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["writing_and_design", "work", "planning", "zoo"]);
        assert_eq!(group_name(By::Domain, "planning"), "Plan.");
        let text = table_csv(&funnel);
        assert!(text.starts_with("\u{feff}end,known,all,writing_and_design,work,planning,zoo\r\n"));
        assert!(text.contains("\r\nnot retrieved,\"exact, by evidence links\",0,2,2,2,2\r\n"));
    }
}
