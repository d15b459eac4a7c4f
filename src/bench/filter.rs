//! Facets and text search over the index of instances. Everything that does not depend on the
//! query is computed once, so that a keystroke costs one pass over small integers and, where the
//! facets let an entry through, one search in its lower-cased text.

use super::ids::{DomainId, ScenarioId};
use super::manifest::{IndexEntry, Manifest};
use super::taxonomy::Action;
use std::collections::{BTreeMap, BTreeSet};

/// Counts from here on share one facet value, as in the paper's table 2 ("5+").
pub const MANY: u32 = 5;

/// What the visitor chose. An empty set lets everything through; values of one set are
/// alternatives, sets and words all have to hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Words that all have to occur, in any order, whatever their case.
    pub text: String,
    pub domains: BTreeSet<DomainId>,
    pub scenarios: BTreeSet<ScenarioId>,
    pub actions: BTreeSet<Action>,
    /// Evidence sessions; [`MANY`] stands for that many and more.
    pub evidence: BTreeSet<u32>,
    /// Requirements; [`MANY`] stands for that many and more.
    pub constraints: BTreeSet<u32>,
    /// `true`: a preference changed over the year.
    pub dynamic: BTreeSet<bool>,
}

/// For each value of a facet how many entries one would see with it chosen, all other facets and
/// the text as they are. Values that occur nowhere in the index are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub domains: BTreeMap<DomainId, usize>,
    pub scenarios: BTreeMap<ScenarioId, usize>,
    pub actions: BTreeMap<Action, usize>,
    pub evidence: BTreeMap<u32, usize>,
    pub constraints: BTreeMap<u32, usize>,
    pub dynamic: BTreeMap<bool, usize>,
}

/// What a query lets through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filtered {
    /// Positions in the list of entries, ascending.
    pub rows: Vec<usize>,
    pub counts: Counts,
}

/// The index, prepared.
pub struct Filter {
    rows: Vec<Row>,
    /// Values of each facet; a row holds positions in these lists.
    values: Values,
}

const FACETS: usize = 6;

struct Row {
    haystack: String,
    /// Domain, scenario, action, evidence, constraints, dynamic.
    facets: [u32; FACETS],
}

#[derive(Default)]
struct Values {
    domains: Vec<DomainId>,
    scenarios: Vec<ScenarioId>,
    actions: Vec<Action>,
    evidence: Vec<u32>,
    constraints: Vec<u32>,
    dynamic: Vec<bool>,
}

impl Filter {
    /// Prepares the entries of an index that was read with this manifest.
    pub fn new(manifest: &Manifest, entries: &[IndexEntry]) -> Self {
        let mut values = Values::default();
        let rows = entries
            .iter()
            .map(|entry| values.row(manifest, entry))
            .collect();
        Self { rows, values }
    }

    /// Rows and counts of a query.
    pub fn apply(&self, query: &Query) -> Filtered {
        let chosen = self.values.chosen(query);
        let lower = query.text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let mut tallies = self.values.tallies();
        let mut rows = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let failing = row.failing(&chosen);
            if matches!(failing, Failing::Several)
                || !words.iter().all(|word| row.haystack.contains(word))
            {
                continue;
            }
            for facet in 0..FACETS {
                if failing.counts_for(facet) {
                    tallies[facet][row.facets[facet] as usize] += 1;
                }
            }
            if matches!(failing, Failing::None) {
                rows.push(number);
            }
        }
        Filtered {
            rows,
            counts: self.values.counts(&tallies),
        }
    }
}

/// Which chosen facets an entry fails: it still counts for the values of the only one it fails.
enum Failing {
    None,
    One(usize),
    Several,
}

impl Failing {
    fn counts_for(&self, facet: usize) -> bool {
        match self {
            Failing::None => true,
            Failing::One(failed) => *failed == facet,
            Failing::Several => false,
        }
    }
}

impl Row {
    fn failing(&self, chosen: &[Option<Vec<bool>>; FACETS]) -> Failing {
        let mut failing = Failing::None;
        for (facet, choice) in chosen.iter().enumerate() {
            let passes = choice
                .as_ref()
                .is_none_or(|choice| choice[self.facets[facet] as usize]);
            failing = match (passes, failing) {
                (true, failing) => failing,
                (false, Failing::None) => Failing::One(facet),
                (false, _) => return Failing::Several,
            };
        }
        failing
    }
}

impl Values {
    fn row(&mut self, manifest: &Manifest, entry: &IndexEntry) -> Row {
        let scenario = manifest.scenario(&entry.scenario);
        let domain = scenario.map_or_else(DomainId::default, |scenario| scenario.domain.clone());
        let action = scenario.map_or(Action::GenerateText, |scenario| scenario.action);
        let domain_name = manifest
            .domains
            .iter()
            .find(|other| other.id == domain)
            .map_or("", |domain| domain.name.as_str());
        let scenario_name = scenario.map_or("", |scenario| scenario.name.as_str());
        let haystack = [
            entry.id.as_str(),
            entry.persona.as_str(),
            scenario_name,
            domain_name,
            &entry.instruction,
        ]
        .join("\n")
        .to_lowercase();
        let facets = [
            position(&mut self.domains, domain),
            position(&mut self.scenarios, entry.scenario.clone()),
            position(&mut self.actions, action),
            position(&mut self.evidence, entry.evidence.min(MANY)),
            position(&mut self.constraints, entry.constraints.min(MANY)),
            position(&mut self.dynamic, entry.dynamic),
        ];
        Row { haystack, facets }
    }

    fn chosen(&self, query: &Query) -> [Option<Vec<bool>>; FACETS] {
        [
            choice(&self.domains, &query.domains),
            choice(&self.scenarios, &query.scenarios),
            choice(&self.actions, &query.actions),
            choice(&self.evidence, &query.evidence),
            choice(&self.constraints, &query.constraints),
            choice(&self.dynamic, &query.dynamic),
        ]
    }

    fn tallies(&self) -> [Vec<usize>; FACETS] {
        [
            self.domains.len(),
            self.scenarios.len(),
            self.actions.len(),
            self.evidence.len(),
            self.constraints.len(),
            self.dynamic.len(),
        ]
        .map(|length| vec![0; length])
    }

    fn counts(&self, tallies: &[Vec<usize>; FACETS]) -> Counts {
        Counts {
            domains: counted(&self.domains, &tallies[0]),
            scenarios: counted(&self.scenarios, &tallies[1]),
            actions: counted(&self.actions, &tallies[2]),
            evidence: counted(&self.evidence, &tallies[3]),
            constraints: counted(&self.constraints, &tallies[4]),
            dynamic: counted(&self.dynamic, &tallies[5]),
        }
    }
}

fn position<T: PartialEq>(values: &mut Vec<T>, value: T) -> u32 {
    let found = values
        .iter()
        .position(|other| *other == value)
        .unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        });

    u32::try_from(found).expect("fewer facet values than entries of a file of limited size")
}

fn choice<T: Ord>(values: &[T], chosen: &BTreeSet<T>) -> Option<Vec<bool>> {
    (!chosen.is_empty()).then(|| values.iter().map(|value| chosen.contains(value)).collect())
}

fn counted<T: Ord + Clone>(values: &[T], tally: &[usize]) -> BTreeMap<T, usize> {
    values.iter().cloned().zip(tally.iter().copied()).collect()
}
