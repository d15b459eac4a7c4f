//! Scores over what makes an instance hard: how many sessions are evidence, how many requirements
//! it has, whether a preference changed, whether the preference was asked for or had to be acted
//! on. The four panels of the paper's Figure 5.

use crate::judge::opinion::share;
use crate::run::record::{Mode, RunRecord, RunStatus};
use crate::run::setup::{grouped, names, setups};
use crate::score;
use std::collections::{BTreeMap, BTreeSet};

/// What the x axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Over {
    Evidence,
    Constraints,
    Change,
    /// Questions about the user against the task.
    Asked,
}

impl Over {
    pub const ALL: [Over; 4] = [Over::Evidence, Over::Constraints, Over::Change, Over::Asked];

    /// Heading of its panel.
    pub fn title(self) -> &'static str {
        match self {
            Over::Evidence => "Over the number of evidence sessions",
            Over::Constraints => "Over the number of requirements",
            Over::Change => "Static against changing preferences",
            Over::Asked => "Asked for the preference (QA) against acting on it (Task)",
        }
    }

    /// What the paper's Figure 5 says of it; its text gives no heights.
    pub fn paper(self) -> &'static str {
        match self {
            Over::Evidence => {
                "Paper, Figure 5a: IBA-Agent is ahead of the runner-up by 7.3, 5.7 and 8.4 points at 1, 2 and 3 evidence items."
            }
            Over::Constraints => {
                "Paper, Figure 5b: every model falls as preferences are added, IBA-Agent more slowly."
            }
            Over::Change => {
                "Paper, Figure 5c: IBA-Agent is ahead of the runner-up by 11.8 points on static and 12.7 on changing preferences; every model does better on static ones."
            }
            Over::Asked => {
                "Paper, Figure 5d: every model does better when asked than when it has to act."
            }
        }
    }
}

/// One place of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    pub x: String,
    /// Percent; `None` when nothing there was scored.
    pub percent: Option<f64>,
    /// Instances, or requirements where the axis is about single requirements.
    pub n: u32,
}

/// The curve of one set-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    /// One for each place of the axis.
    pub spots: Vec<Spot>,
}

/// All curves of a panel over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    pub over: Over,
    pub xs: Vec<String>,
    pub curves: Vec<Curve>,
}

/// Counts from here on are one place: few instances have more.
const MANY: usize = 8;

/// The panel of these runs. Finished runs only; a curve is of one set-up, and repeats of an
/// instance are averaged first.
pub fn panel(records: &[&RunRecord], over: Over) -> Panel {
    let done = |record: &&&RunRecord| record.status == RunStatus::Done;
    let done: Vec<&RunRecord> = records.iter().filter(done).copied().collect();
    let of_panel = done
        .into_iter()
        .filter(|record| over == Over::Asked || record.variant.mode == Mode::Task);
    // QA and Task of a set-up are two places of one curve.
    let (groups, label): (_, fn(&RunRecord) -> String) = match over {
        Over::Asked => (grouped(of_panel, RunRecord::same_but_mode), |record| {
            record.system.name().to_owned()
        }),
        _ => (setups(of_panel), RunRecord::system_label),
    };
    let firsts: Vec<&RunRecord> = groups.iter().map(|group| group[0]).collect();
    let cells: Vec<(String, Cells)> = names(&firsts, label)
        .into_iter()
        .zip(&groups)
        .map(|(name, records)| (name, cells(records, over)))
        .collect();
    let xs: BTreeSet<&Place> = cells.iter().flat_map(|(_, cells)| cells.keys()).collect();
    let curve = |(name, cells): &(String, Cells)| Curve {
        name: name.clone(),
        spots: xs
            .iter()
            .map(|place| spot(place, cells.get(*place)))
            .collect(),
    };
    Panel {
        over,
        curves: cells.iter().map(curve).collect(),
        xs: xs.iter().map(|place| place.1.clone()).collect(),
    }
}

/// Order and name of a place on the axis.
type Place = (usize, String);
/// Scores at each place by what they are of: an instance, or one requirement of it.
type Cells = BTreeMap<Place, BTreeMap<String, Vec<f64>>>;

fn spot(place: &Place, scores: Option<&BTreeMap<String, Vec<f64>>>) -> Spot {
    let means = scores.into_iter().flat_map(|scores| scores.values());
    let means: Vec<f64> = means
        .filter_map(|repeats| score::mean(repeats.iter().copied()))
        .collect();
    Spot {
        x: place.1.clone(),
        percent: score::mean(means.iter().copied()).map(|mean| 100.0 * mean),
        n: means.len() as u32,
    }
}

fn cells(records: &[&RunRecord], over: Over) -> Cells {
    let mut cells = Cells::new();
    let mut add = |place: Place, of: String, score: Option<f64>| {
        let here = cells.entry(place).or_default().entry(of).or_default();
        here.extend(score);
    };
    for record in records {
        let whole = score::of_judgements(&record.judgements).mean;
        let id = record.instance.0.clone();
        match over {
            Over::Evidence => add(counted(evidence(record)), id, whole),
            Over::Constraints => add(counted(record.requirements.len()), id, whole),
            Over::Asked => add(asked(record.variant.mode), id, whole),
            Over::Change => {
                for note in &record.requirements {
                    add(
                        changed(note.dynamic),
                        format!("{id}/{}", note.id),
                        share(&record.judgements, &note.id),
                    );
                }
            }
        }
    }
    cells
}

fn counted(n: usize) -> Place {
    match n {
        n if n >= MANY => (MANY, format!("{MANY}+")),
        n => (n, n.to_string()),
    }
}

fn asked(mode: Mode) -> Place {
    match mode {
        Mode::Qa => (0, "QA".to_owned()),
        Mode::Task => (1, "Task".to_owned()),
    }
}

fn changed(dynamic: bool) -> Place {
    let word = if dynamic { "changing" } else { "static" };
    (usize::from(dynamic), word.to_owned())
}

/// Sessions that reveal any of its preferences.
fn evidence(record: &RunRecord) -> usize {
    let sessions = record
        .requirements
        .iter()
        .flat_map(|note| &note.evidence_sessions);
    sessions.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn record(instance: &str, sessions: &[&[&str]], states: &[&str], mode: &str) -> RunRecord {
        let notes: Vec<Value> = sessions
            .iter()
            .enumerate()
            .map(|(n, sessions)| {
                json!({"id": format!("r{n}"), "text": "", "evidence_sessions": sessions,
                       "signals": [], "dynamic": n == 1})
            })
            .collect();
        let verdicts: Vec<Value> = states
            .iter()
            .enumerate()
            .map(|(n, state)| json!({"requirement": format!("r{n}"), "state": state, "source": "model", "rationale": ""}))
            .collect();
        serde_json::from_value(json!({
            "id": "x", "instance": instance, "persona": "p", "scenario": "s", "domain": "d",
            "action": "generate_text", "task": "t", "system": "iba_agent", "epoch": 1,
            "params": {}, "agent": {"kind": "embedded"}, "variant": {"mode": mode},
            "dataset": {"name": "n", "sha256": ""},
            "retriever": {"model": "m", "model_sha256": "", "method": "exact"},
            "stages": [], "output": null, "requirements": notes,
            "judgements": [{"judge": "j", "verdicts": verdicts}],
            "status": {"state": "done"}, "started_ms": 0.0, "ended_ms": null, "app_version": "0",
        }))
        .expect("a record")
    }

    fn some() -> Vec<RunRecord> {
        vec![
            // One evidence session, two requirements: one static met, one changing not met.
            record("a", &[&["s1"], &["s1"]], &["met", "not_met"], "task"),
            // The same instance again, both met: the instance has (0.5 + 1) / 2.
            record("a", &[&["s1"], &["s1"]], &["met", "met"], "task"),
            // Two sessions, one requirement.
            record("b", &[&["s1", "s2"]], &["not_met"], "task"),
            // Asked about the first.
            record("a", &[&["s1"]], &["met"], "qa"),
        ]
    }

    fn spots(over: Over) -> Vec<(String, Option<f64>, u32)> {
        let records = some();
        let panel = panel(&records.iter().collect::<Vec<_>>(), over);
        assert_eq!(panel.curves.len(), 1);
        panel.curves[0]
            .spots
            .iter()
            .map(|s| (s.x.clone(), s.percent, s.n))
            .collect()
    }

    // By hand, as the records say.
    #[test]
    fn scores_lie_over_what_makes_them_hard() {
        let at = |x: &str, percent: f64, n| (x.to_owned(), Some(percent), n);
        assert_eq!(spots(Over::Evidence), [at("1", 75.0, 1), at("2", 0.0, 1)]);
        assert_eq!(
            spots(Over::Constraints),
            [at("1", 0.0, 1), at("2", 75.0, 1)]
        );
        // Static: r0 of a is met in both runs, r0 of b is not; changing: r1 of a, met once of twice.
        assert_eq!(
            spots(Over::Change),
            [at("static", 50.0, 2), at("changing", 50.0, 1)]
        );
        assert_eq!(
            spots(Over::Asked),
            [at("QA", 100.0, 1), at("Task", 37.5, 2)]
        );
    }

    // Runs with another parameter, or on another version of the data, are no repeats: each has a
    // curve of its own, with a name that says what differs.
    #[test]
    fn set_ups_are_not_mixed() {
        let mut records = some();
        records[1].params.min_salience = 7.0;
        records[2].dataset.sha256 = "89abcdef0123".to_owned();
        let records: Vec<&RunRecord> = records.iter().collect();
        let found = panel(&records, Over::Constraints);
        let curves: Vec<(&str, Vec<Option<f64>>)> = found
            .curves
            .iter()
            .map(|curve| {
                let percents = curve.spots.iter().map(|spot| spot.percent).collect();
                (curve.name.as_str(), percents)
            })
            .collect();
        let name = "IBA-Agent · embedded baseline (no language model)";
        assert_eq!(
            curves,
            [
                (format!("{name} · data n ").as_str(), vec![None, Some(50.0)]),
                (
                    format!("{name} · min_salience = 7 · data n ").as_str(),
                    vec![None, Some(100.0)]
                ),
                (
                    format!("{name} · data n 89abcdef").as_str(),
                    vec![Some(0.0), None]
                ),
            ]
        );
        // The questions were asked of the first set-up only.
        let asked = panel(&records, Over::Asked);
        assert_eq!(asked.curves.len(), 3);
        let first: Vec<Option<f64>> = asked.curves[0].spots.iter().map(|s| s.percent).collect();
        assert_eq!(first, [Some(100.0), Some(50.0)]);
    }

    #[test]
    fn nothing_to_show_is_an_empty_panel() {
        let panel = panel(&[], Over::Evidence);
        assert!(panel.curves.is_empty() && panel.xs.is_empty());
    }
}
