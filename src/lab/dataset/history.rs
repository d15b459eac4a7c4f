//! A persona's year: its evidence sessions by date among casual ones.

use super::calendar::{self, FIRST_MINUTE, LAST_MINUTE, Span};
use super::casual::{self, Exchange};
use super::clash::Barred;
use super::draw;
use super::source::{Source, SourceEvidence, SourceInstance, SourcePersona};
use crate::bench::ids::SessionId;
use crate::bench::visible::{History, Session, Turn};
use crate::lab::error::LabError;
use chrono::{Duration, NaiveDateTime};
use std::collections::BTreeMap;

/// Turns of a history for each evidence session in it (paper, section on construction).
const TURNS_PER_EVIDENCE: usize = 100;
/// Two sessions begin at least this far apart.
const GAP_MINUTES: i64 = 30;

/// A history, and which of its sessions each evidence item became.
pub struct Placed {
    pub history: History,
    /// (instance id, evidence id) to session.
    pub sessions: BTreeMap<(String, String), SessionId>,
}

struct Entry {
    date: NaiveDateTime,
    turns: Vec<Turn>,
    evidence: Option<(String, String)>,
}

/// Makes the history of a persona from its instances' evidence and casual exchanges.
pub fn place(
    source: &Source,
    persona: &SourcePersona,
    instances: &[&SourceInstance],
    seed: u64,
) -> Result<Placed, LabError> {
    let mut entries = Vec::new();
    for instance in instances {
        for evidence in &instance.evidence {
            entries.push(evidence_entry(instance, evidence)?);
        }
    }
    let barred = source.clashes.of(persona.id.as_str());
    let casual = Casual {
        persona,
        exchanges: &source.casual,
        barred,
        seed,
    };
    casual.add(&mut entries)?;
    // The turns break ties, so that the order never depends on how the instances were listed.
    entries.sort_by(|a, b| {
        a.date
            .cmp(&b.date)
            .then_with(|| a.evidence.cmp(&b.evidence))
    });
    Ok(number(persona, entries))
}

fn evidence_entry(instance: &SourceInstance, evidence: &SourceEvidence) -> Result<Entry, LabError> {
    let date = calendar::parse(&evidence.date).ok_or_else(|| {
        LabError::Refused(format!(
            "instances/{}.json: evidence {}: \"{}\" is no date",
            instance.id, evidence.id, evidence.date
        ))
    })?;
    let key = (instance.id.0.clone(), evidence.id.clone());
    Ok(Entry {
        date,
        turns: evidence.turns.clone(),
        evidence: Some(key),
    })
}

fn number(persona: &SourcePersona, entries: Vec<Entry>) -> Placed {
    let mut sessions = BTreeMap::new();
    let mut list = Vec::with_capacity(entries.len());
    for (number, entry) in entries.into_iter().enumerate() {
        let id = SessionId(format!("s{:04}", number + 1));
        if let Some(key) = entry.evidence {
            sessions.insert(key, id.clone());
        }
        list.push(Session {
            id,
            date: calendar::format(entry.date),
            turns: entry.turns,
        });
    }
    Placed {
        history: History {
            persona: persona.id.clone(),
            sessions: list,
        },
        sessions,
    }
}

struct Casual<'a> {
    persona: &'a SourcePersona,
    exchanges: &'a [Exchange],
    barred: Barred<'a>,
    seed: u64,
}

impl Casual<'_> {
    /// Adds so many casual sessions that the history has its turns for each evidence session.
    fn add(&self, entries: &mut Vec<Entry>) -> Result<(), LabError> {
        let Some(span) = Span::around(entries.iter().map(|entry| entry.date)) else {
            return Ok(());
        };
        let turns: usize = entries.iter().map(|entry| entry.turns.len()).sum();
        let missing = (entries.len() * TURNS_PER_EVIDENCE).saturating_sub(turns);
        let mut queue: Vec<&Exchange> = self.exchanges.iter().collect();
        draw::shuffle(
            &mut queue,
            self.seed,
            self.persona.id.as_str(),
            |exchange| exchange.id.clone(),
        );
        for date in self.dates(span, self.count(missing), entries) {
            let fits = |exchange: &&Exchange| self.barred.allows(&exchange.id, date);
            let at = queue.iter().position(fits).ok_or_else(|| self.too_few())?;
            let exchange = queue.remove(at);
            entries.push(Entry {
                date,
                turns: casual::fill(&exchange.turns, &self.persona.chat_slots),
                evidence: None,
            });
        }
        Ok(())
    }

    /// How many exchanges of average length have this many turns.
    fn count(&self, turns: usize) -> u64 {
        let all: usize = self
            .exchanges
            .iter()
            .map(|exchange| exchange.turns.len())
            .sum();
        let count = (turns * self.exchanges.len() + all / 2)
            .checked_div(all)
            .unwrap_or(0);
        count as u64
    }

    /// Dates spread evenly over the span, each jittered within its share of it, by day between
    /// 07:00 and 23:30, never close to another session.
    fn dates(&self, span: Span, count: u64, entries: &[Entry]) -> Vec<NaiveDateTime> {
        let mut taken: Vec<NaiveDateTime> = entries.iter().map(|entry| entry.date).collect();
        taken.sort();
        let mut dates = Vec::new();
        for number in 0..count {
            let share = span.days * 24 * 60 / count;
            let start = number * (span.days * 24 * 60) / count;
            let offset = draw::below(
                share.max(1),
                self.seed,
                &[self.persona.id.as_str(), "day", &number.to_string()],
            );
            let date = self.free_minute(span, (start + offset) / (24 * 60), number, &taken);
            taken.insert(taken.partition_point(|other| *other < date), date);
            dates.push(date);
        }
        dates.sort();
        dates
    }

    fn free_minute(
        &self,
        span: Span,
        day: u64,
        number: u64,
        taken: &[NaiveDateTime],
    ) -> NaiveDateTime {
        let minutes = LAST_MINUTE - FIRST_MINUTE + 1;
        let try_at = |attempt: u64| {
            let names = [
                self.persona.id.as_str(),
                "minute",
                &number.to_string(),
                &attempt.to_string(),
            ];
            // A day that is full after some attempts hands its session to the next.
            let day = (day + attempt / 20) % span.days;
            span.at(day, FIRST_MINUTE + draw::below(minutes, self.seed, &names))
        };
        let free = |date: &NaiveDateTime| {
            !taken
                .iter()
                .any(|other| (*other - *date).abs() < Duration::minutes(GAP_MINUTES))
        };
        (0..20 * span.days)
            .map(try_at)
            .find(free)
            .unwrap_or_else(|| try_at(0))
    }

    fn too_few(&self) -> LabError {
        LabError::Refused(format!(
            "the persona {} has so much evidence that the {} casual exchanges it may have do not suffice; add exchanges to casual/ or shorten clashes.json",
            self.persona.id,
            self.exchanges.len()
        ))
    }
}
