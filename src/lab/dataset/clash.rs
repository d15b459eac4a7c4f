//! Which casual exchanges must not be put into whose history, written by hand in `clashes.json`:
//! an anecdote that contradicts the persona, or a season in which nobody could have told it.

use super::calendar;
use chrono::NaiveDateTime;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// `clashes.json`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Clashes {
    /// Names for sets of personas, for example the retired ones.
    #[serde(default)]
    pub groups: BTreeMap<String, BTreeSet<String>>,
    pub clashes: Vec<Clash>,
}

/// Exchanges that some personas cannot have had.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Clash {
    pub casual: Vec<String>,
    /// Persona ids and names of groups; `*` is everybody.
    pub who: Vec<String>,
    /// First day of the clash; from the beginning, when absent.
    #[serde(default)]
    pub from: Option<String>,
    /// Last day of the clash; to the end, when absent.
    #[serde(default)]
    pub to: Option<String>,
    pub reason: String,
}

/// The clashes of one persona.
pub struct Barred<'a> {
    by_exchange: BTreeMap<&'a str, Vec<&'a Clash>>,
}

impl Clashes {
    /// What is barred from the history of this persona.
    pub fn of(&self, persona: &str) -> Barred<'_> {
        let mut by_exchange: BTreeMap<&str, Vec<&Clash>> = BTreeMap::new();
        for clash in self
            .clashes
            .iter()
            .filter(|clash| self.concerns(clash, persona))
        {
            for id in &clash.casual {
                by_exchange.entry(id).or_default().push(clash);
            }
        }
        Barred { by_exchange }
    }

    fn concerns(&self, clash: &Clash, persona: &str) -> bool {
        let named = |who: &String| who == "*" || who == persona;
        let grouped = |who: &String| {
            self.groups
                .get(who)
                .is_some_and(|group| group.contains(persona))
        };
        clash.who.iter().any(|who| named(who) || grouped(who))
    }
}

impl Barred<'_> {
    /// Whether the exchange may stand at this date.
    pub fn allows(&self, exchange: &str, date: NaiveDateTime) -> bool {
        self.by_exchange
            .get(exchange)
            .is_none_or(|clashes| clashes.iter().all(|clash| !clash.covers(date)))
    }
}

impl Clash {
    fn covers(&self, date: NaiveDateTime) -> bool {
        let day = |text: &Option<String>| text.as_deref().and_then(calendar::parse_day);
        day(&self.from).is_none_or(|from| from <= date.date())
            && day(&self.to).is_none_or(|to| date.date() <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_days_bound_a_clash() {
        let clashes: Clashes = serde_json::from_value(serde_json::json!({
            "groups": {"retired": ["p1"]},
            "clashes": [
                {"casual": ["c1"], "who": ["retired"], "reason": "office"},
                {"casual": ["c2"], "who": ["*"], "from": "2025-04-01", "to": "2025-10-31", "reason": "snow"}
            ]
        }))
        .unwrap();
        for (persona, exchange, date, allowed) in [
            ("p1", "c1", "2025-05-01T10:00:00", false),
            ("p2", "c1", "2025-05-01T10:00:00", true),
            ("p2", "c2", "2025-10-31T23:00:00", false),
            ("p2", "c2", "2025-11-01T07:00:00", true),
            ("p2", "c3", "2025-05-01T10:00:00", true),
        ] {
            let date = calendar::parse(date).unwrap();
            assert_eq!(
                clashes.of(persona).allows(exchange, date),
                allowed,
                "{persona} {exchange} {date}"
            );
        }
    }
}
