//! Scores over what makes an instance hard: how many sessions are evidence, how many requirements
//! it has, whether a preference changed, whether the preference was asked for or had to be acted
//! on. The four panels of the paper's Figure 5.

use crate::judge::VerdictState;
use crate::judge::opinion::opinions;
use crate::run::record::{Mode, RequirementNote, RunRecord, RunStatus};
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

/// The curve of one system with one model.
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

/// The panel of these runs. Finished runs only; repeats of an instance are averaged first.
pub fn panel(records: &[&RunRecord], over: Over) -> Panel {
    let done = |record: &&&RunRecord| record.status == RunStatus::Done;
    let done: Vec<&RunRecord> = records.iter().filter(done).copied().collect();
    let mut systems: BTreeMap<String, Vec<&RunRecord>> = BTreeMap::new();
    for record in done
        .iter()
        .filter(|record| over == Over::Asked || record.variant.mode == Mode::Task)
    {
        systems.entry(name(record, over)).or_default().push(record);
    }
    let cells: Vec<(String, Cells)> = systems
        .into_iter()
        .map(|(name, records)| (name, cells(&records, over)))
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

/// QA and Task of a system are two places of one curve, so its name leaves the mode out.
fn name(record: &RunRecord, over: Over) -> String {
    let system = match over {
        Over::Asked => record.system.name().to_owned(),
        _ => record.system_label(),
    };
    format!("{system} · {}", record.agent.label())
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
                        of_requirement(record, note),
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

/// Share of "met" on one requirement: repeats first, then judges equally.
fn of_requirement(record: &RunRecord, note: &RequirementNote) -> Option<f64> {
    let of_judge = opinions(&record.judgements, &note.id)
        .into_iter()
        .filter_map(|opinion| {
            let (met, not) = (
                opinion.count(VerdictState::Met),
                opinion.count(VerdictState::NotMet),
            );
            (met + not > 0).then(|| met as f64 / (met + not) as f64)
        });
    score::mean(of_judge)
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

    #[test]
    fn nothing_to_show_is_an_empty_panel() {
        let panel = panel(&[], Over::Evidence);
        assert!(panel.curves.is_empty() && panel.xs.is_empty());
    }
}
