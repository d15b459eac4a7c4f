//! Where requirements are lost, over many runs: one case for each requirement of each run, counted
//! by where it ended and grouped by what it is.

use super::{GATES, Gate, Loss, Path, Wanted, trace};
use crate::agent::trace::System;
use crate::bench::ids::{DomainId, InstanceId, RequirementId, SessionId};
use crate::judge::opinion::{Standing, standing};
use crate::run::record::{RequirementNote, RunRecord, RunStatus};
use std::collections::BTreeMap;

/// One requirement of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Of the run.
    pub run: String,
    pub instance: InstanceId,
    pub domain: DomainId,
    pub requirement: RequirementId,
    pub text: String,
    /// Kinds of signal of its evidence, as files spell them.
    pub signals: Vec<String>,
    pub dynamic: bool,
    pub end: End,
}

/// How a requirement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    Met,
    LostAt(Gate),
    /// It passed this gate; nothing tells what a later stage did. `None`: nothing to follow at all.
    Untold(Option<Gate>),
}

impl End {
    /// Name in addresses and files.
    pub fn id(self) -> String {
        match self {
            End::Met => "met".to_owned(),
            End::LostAt(gate) => gate.id().to_owned(),
            End::Untold(_) => "untold".to_owned(),
        }
    }
}

/// The path of a requirement of a run, read from the record alone. `None` where it was met by all,
/// or not judged.
pub fn path(record: &RunRecord, note: &RequirementNote) -> Option<Path> {
    let disputed = match standing(&record.judgements, &note.id) {
        Standing::NotMet => false,
        Standing::Disputed => true,
        Standing::Met | Standing::Unscored => return None,
    };
    let mut sessions: Vec<SessionId> = note
        .evidence_sessions
        .iter()
        .map(|id| SessionId::from(id.as_str()))
        .collect();
    // Ids of sessions follow their dates.
    sessions.sort();
    sessions.dedup();
    let links = record.links.as_ref();
    let wanted = Wanted {
        sessions: &sessions,
        dynamic: note.dynamic,
        slot: note.slot.as_deref(),
        accept: &note.accept,
        links: links.and_then(|links| links.of(&note.id)),
        disputed,
        donor: record.variant.donor.is_some(),
    };
    Some(trace(wanted, &record.stages))
}

/// The scored requirements of finished runs.
pub fn cases<'a>(records: impl IntoIterator<Item = &'a RunRecord>) -> Vec<Case> {
    let done =
        |record: &&RunRecord| record.status == RunStatus::Done && record.system != System::Samples;
    let records = records.into_iter().filter(done);
    records.flat_map(of_record).collect()
}

fn of_record(record: &RunRecord) -> Vec<Case> {
    let case = |note: &RequirementNote| {
        let end = match standing(&record.judgements, &note.id) {
            Standing::Unscored => return None,
            Standing::Met => End::Met,
            Standing::NotMet | Standing::Disputed => path(record, note)?.loss.end(),
        };
        Some(Case {
            run: record.id.clone(),
            instance: record.instance.clone(),
            domain: record.domain.clone(),
            requirement: note.id.clone(),
            text: note.text.clone(),
            signals: note.signals.clone(),
            dynamic: note.dynamic,
            end,
        })
    };
    record.requirements.iter().filter_map(case).collect()
}

impl Loss {
    /// How a requirement with this loss ended.
    pub fn end(self) -> End {
        match self {
            Loss::At(gate) | Loss::LatestAt(gate) => End::LostAt(gate),
            Loss::After(gate) => End::Untold(Some(gate)),
            Loss::Unknown => End::Untold(None),
        }
    }
}

/// What the columns of the table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    #[default]
    Domain,
    Signal,
    /// Static or dynamic.
    Change,
}

impl By {
    pub const ALL: [By; 3] = [By::Domain, By::Signal, By::Change];

    /// Name in addresses.
    pub fn id(self) -> &'static str {
        match self {
            By::Domain => "domain",
            By::Signal => "signal",
            By::Change => "change",
        }
    }

    /// Undoes [`By::id`].
    pub fn from_id(id: &str) -> Option<By> {
        By::ALL.into_iter().find(|by| by.id() == id)
    }

    /// Groups of a case; several where its evidence shows several kinds of signal.
    pub fn groups(self, case: &Case) -> Vec<String> {
        match self {
            By::Domain => vec![case.domain.0.clone()],
            By::Signal => case.signals.clone(),
            By::Change => vec![if case.dynamic { "dynamic" } else { "static" }.to_owned()],
        }
    }
}

/// How many ended where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scored requirements.
    pub scored: u32,
    pub met: u32,
    /// In the order of [`GATES`].
    pub lost: [u32; 8],
    /// Passed this gate, then untold; in the order of [`GATES`].
    pub untold: [u32; 8],
    /// Nothing to follow.
    pub without_trace: u32,
}

impl Counts {
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Self {
        let mut counts = Counts::default();
        for case in cases {
            counts.scored += 1;
            match case.end {
                End::Met => counts.met += 1,
                End::LostAt(gate) => counts.lost[gate as usize] += 1,
                End::Untold(Some(gate)) => counts.untold[gate as usize] += 1,
                End::Untold(None) => counts.without_trace += 1,
            }
        }
        counts
    }

    /// Requirements that can no longer be followed, at whatever gate.
    pub fn all_untold(&self) -> u32 {
        self.untold.iter().sum::<u32>() + self.without_trace
    }

    /// Of those not met, the share whose place of loss is known, 0 to 1.
    pub fn share_found(&self) -> Option<f64> {
        let failed = self.scored - self.met;
        (failed > 0).then(|| f64::from(failed - self.all_untold()) / f64::from(failed))
    }

    /// How many went on after each gate: surely, and at most.
    pub fn remaining(&self) -> [(u32, u32); 8] {
        let (mut sure, mut perhaps) = (self.scored - self.without_trace, self.without_trace);
        GATES.map(|gate| {
            let n = gate as usize;
            sure -= self.lost[n];
            // Those untold after an earlier gate may have been lost at this one.
            let earlier = n.checked_sub(1).map_or(0, |before| self.untold[before]);
            sure -= earlier;
            perhaps += earlier;
            (sure, sure + perhaps)
        })
    }
}

/// Everything the funnel's view shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Funnel {
    pub by: By,
    pub total: Counts,
    /// By name of the group, in their natural order.
    pub groups: BTreeMap<String, Counts>,
}

impl Funnel {
    pub fn new(cases: &[Case], by: By) -> Self {
        let mut members: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
        for case in cases {
            for group in by.groups(case) {
                members.entry(group).or_default().push(case);
            }
        }
        let counted = members
            .into_iter()
            .map(|(name, cases)| (name, Counts::of(cases)));
        Funnel {
            by,
            total: Counts::of(cases),
            groups: counted.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(domain: &str, signals: &[&str], end: End) -> Case {
        Case {
            run: "run".to_owned(),
            instance: "i".into(),
            domain: domain.into(),
            requirement: "r1".into(),
            text: String::new(),
            signals: signals.iter().map(|s| (*s).to_owned()).collect(),
            dynamic: domain == "work",
            end,
        }
    }

    fn some() -> Vec<Case> {
        use End::{LostAt, Met, Untold};
        vec![
            case("work", &["complaint"], Met),
            case(
                "work",
                &["complaint", "implicit_pattern"],
                LostAt(Gate::Retrieved),
            ),
            case("work", &["complaint"], LostAt(Gate::RankedIn)),
            case(
                "planning",
                &["direct_statement"],
                Untold(Some(Gate::CompactedIn)),
            ),
            case("planning", &["direct_statement"], LostAt(Gate::Agreed)),
            case("planning", &[], Untold(None)),
        ]
    }

    // By hand. Six scored; one cannot be followed at all, one is lost at retrieval, one at ranking,
    // one is untold after compaction, one disputed, one met.
    #[test]
    fn what_remains_shrinks_gate_by_gate() {
        let counts = Counts::of(&some());
        assert_eq!((counts.scored, counts.met, counts.all_untold()), (6, 1, 2));
        let expected = [
            (4, 5),
            (4, 5),
            (3, 4),
            (3, 4),
            (2, 4),
            (2, 4),
            (2, 4),
            (1, 3),
        ];
        assert_eq!(counts.remaining(), expected);
        assert_eq!(counts.share_found(), Some(3.0 / 5.0));
        assert_eq!(Counts::default().share_found(), None);
    }

    #[test]
    fn groups_add_up_and_a_case_of_two_signals_counts_in_both() {
        let by_domain = Funnel::new(&some(), By::Domain);
        let scored: u32 = by_domain.groups.values().map(|counts| counts.scored).sum();
        assert_eq!((scored, by_domain.groups.len()), (6, 2));
        let by_signal = Funnel::new(&some(), By::Signal);
        let scored = |group: &str| by_signal.groups[group].scored;
        assert_eq!(
            (
                scored("complaint"),
                scored("implicit_pattern"),
                scored("direct_statement")
            ),
            (3, 1, 2)
        );
        let by_change = Funnel::new(&some(), By::Change);
        assert_eq!(
            (
                by_change.groups["dynamic"].scored,
                by_change.groups["static"].scored
            ),
            (3, 3)
        );
        for by in By::ALL {
            assert_eq!(By::from_id(by.id()), Some(by));
        }
    }
}
