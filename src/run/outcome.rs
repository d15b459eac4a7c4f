//! Requirements joined with verdicts, evidence and the place where they were lost.

use super::lost::{Path, funnel};
use super::record::{RequirementNote, RunRecord};
use crate::bench::hidden::{HiddenInstance, Preference, PreferenceKind, Signal};
use crate::bench::ids::{PreferenceId, RequirementId, SessionId};
use crate::judge::edit::{self, Edit};
use crate::judge::opinion::{self, Opinion, Standing};
use crate::judge::{Judgement, Verdict, VerdictState};

/// One hidden requirement with all that is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub id: RequirementId,
    pub text: String,
    pub preference: Option<Preference>,
    /// Sessions that reveal the preference, by date.
    pub evidence: Vec<EvidenceLink>,
    /// The slot it is tied to.
    pub slot: Option<String>,
    /// The verdict that counts: the first that decides, else the first.
    pub verdict: Option<Ruling>,
    /// What every judge said, all repeats together.
    pub opinions: Vec<Opinion>,
    /// One judge says met, another not met.
    pub disputed: bool,
    /// The change that holds, where a person's verdict stands in place of the judges'.
    pub overruled: Option<Edit>,
    /// Every change by a person, oldest first.
    pub edits: Vec<Edit>,
    /// Set for what was not met, or not as every judge sees it.
    pub path: Option<Path>,
}

/// A verdict and who gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    pub judge: String,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceLink {
    pub session: SessionId,
    pub signal: Signal,
}

impl Row {
    /// State of the verdict that counts; `None` before judging.
    pub fn state(&self) -> Option<VerdictState> {
        self.verdict.as_ref().map(|ruling| ruling.verdict.state)
    }
}

/// Rows of all requirements, in the instance's order; without a record there are no verdicts.
pub fn rows(hidden: &HiddenInstance, record: Option<&RunRecord>) -> Vec<Row> {
    hidden
        .requirements
        .iter()
        .map(|r| row(hidden, &r.id, record))
        .collect()
}

fn row(hidden: &HiddenInstance, id: &RequirementId, record: Option<&RunRecord>) -> Row {
    let requirement = hidden.requirements.iter().find(|r| r.id == *id);
    let preference_id = requirement.map(|r| &r.preference);
    let preference = hidden
        .preferences
        .iter()
        .find(|p| Some(&p.id) == preference_id)
        .cloned();
    let judgements = record.map_or(&[][..], |record| &record.judgements);
    let edited = judgements
        .iter()
        .find(|judgement| !judgement.edits.is_empty());
    let row = Row {
        id: id.clone(),
        text: requirement.map(|r| r.text.clone()).unwrap_or_default(),
        evidence: preference_id
            .map(|id| links(hidden, id))
            .unwrap_or_default(),
        slot: hidden.slot_of(id).map(str::to_owned),
        preference,
        verdict: ruling(judgements, id),
        opinions: opinion::opinions(judgements, id),
        disputed: opinion::standing(judgements, id) == Standing::Disputed,
        overruled: edited.and_then(|judgement| edit::standing(judgement, id).cloned()),
        edits: edited
            .map(|judgement| edits(judgement, id))
            .unwrap_or_default(),
        path: None,
    };
    Row {
        path: record.and_then(|record| path(hidden, &row, record)),
        ..row
    }
}

/// The first verdict that decides, else the first.
fn ruling(judgements: &[Judgement], id: &RequirementId) -> Option<Ruling> {
    let mut rulings = rulings(judgements, id);
    let decides = |ruling: &Ruling| ruling.verdict.state != VerdictState::Unscored;
    let counts = rulings.iter().position(decides).unwrap_or(0);
    (!rulings.is_empty()).then(|| rulings.remove(counts))
}

fn edits(judgement: &Judgement, id: &RequirementId) -> Vec<Edit> {
    let of_it = |edit: &&Edit| edit.after.requirement == *id;
    judgement.edits.iter().filter(of_it).cloned().collect()
}

/// Every judge's verdict on one requirement.
fn rulings(judgements: &[Judgement], id: &RequirementId) -> Vec<Ruling> {
    let of = |judgement: &Judgement| {
        let verdict = judgement
            .verdicts
            .iter()
            .find(|v| v.requirement == *id)?
            .clone();
        Some(Ruling {
            judge: judgement.judge.clone(),
            verdict,
        })
    };
    judgements.iter().filter_map(of).collect()
}

/// Evidence is stored in date order, and session ids follow the date.
fn links(hidden: &HiddenInstance, preference: &PreferenceId) -> Vec<EvidenceLink> {
    let mut links: Vec<EvidenceLink> = hidden
        .evidence
        .iter()
        .filter(|item| item.reveals.contains(preference))
        .map(|item| EvidenceLink {
            session: item.session.clone(),
            signal: item.signal,
        })
        .collect();
    links.sort_by(|a, b| a.session.cmp(&b.session));
    links
}

/// From the dataset's links rather than the record's note, which earlier versions wrote with less
/// in it.
fn path(hidden: &HiddenInstance, row: &Row, record: &RunRecord) -> Option<Path> {
    let mut sessions: Vec<String> = row.evidence.iter().map(|e| e.session.0.clone()).collect();
    sessions.dedup();
    let kind = row.preference.as_ref().map(|preference| preference.kind);
    let note = RequirementNote {
        id: row.id.clone(),
        text: row.text.clone(),
        evidence_sessions: sessions,
        signals: Vec::new(),
        dynamic: kind == Some(PreferenceKind::Dynamic),
        slot: hidden.slot_of(&row.id).map(str::to_owned),
        gold: None,
    };
    funnel::path(record, &note)
}

/// Verdicts counted; what could not be judged never counts as failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub met: usize,
    pub not_met: usize,
    pub unscored: usize,
}

impl Tally {
    pub fn of(rows: &[Row]) -> Self {
        let count = |state| rows.iter().filter(|row| row.state() == Some(state)).count();
        Self {
            met: count(VerdictState::Met),
            not_met: count(VerdictState::NotMet),
            unscored: count(VerdictState::Unscored),
        }
    }

    /// `2 of 3 met, 1 unscored`; the first two numbers are about the judged ones.
    pub fn sentence(self) -> String {
        let judged = self.met + self.not_met;
        match (judged, self.unscored) {
            (0, 0) => "not judged".to_owned(),
            (0, n) => format!("{n} unscored"),
            (_, 0) => format!("{} of {judged} met", self.met),
            (_, n) => format!("{} of {judged} met, {n} unscored", self.met),
        }
    }
}

/// Name of a signal in prose.
pub fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::ExplicitRevision => "explicit revision",
        Signal::Complaint => "complaint",
        Signal::DirectStatement => "direct statement",
        Signal::ImplicitPattern => "implicit pattern",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::lost::Loss;
    use serde_json::json;

    fn hidden() -> HiddenInstance {
        serde_json::from_value(json!({
            "id": "i",
            "preferences": [
                {"id": "q1", "dimension": "d", "value": "v", "text": "Soft food", "kind": "dynamic", "previous": "fried"},
                {"id": "q2", "dimension": "e", "value": "w", "text": "Best rated", "kind": "static"},
            ],
            "evidence": [
                {"id": "e2", "session": "s0200", "signal": "complaint", "reveals": ["q1"]},
                {"id": "e1", "session": "s0010", "signal": "implicit_pattern", "reveals": ["q1"]},
            ],
            "requirements": [
                {"id": "r1", "preference": "q1", "text": "Nothing is fried"},
                {"id": "r2", "preference": "q2", "text": "Sorts by rating"},
            ],
            "api_reference": {"sort_by": {"requirement": "r2", "accept": ["rating"]}},
        }))
        .expect("a hidden instance")
    }

    fn record(judgements: serde_json::Value) -> RunRecord {
        serde_json::from_value(json!({
            "id": "x", "instance": "i", "persona": "p", "scenario": "s", "domain": "d",
            "action": "call_api", "task": "t", "system": "standard_rag", "epoch": 1,
            "params": {}, "agent": {"kind": "embedded"},
            "dataset": {"name": "n", "sha256": ""},
            "retriever": {"model": "m", "model_sha256": "", "method": "exact"},
            "stages": [{
                "stage": "similarity_retrieval", "started_ms": 0.0, "duration_ms": 0.0,
                "outcome": {"type": "retrieved", "lists": []},
            }],
            "output": null, "requirements": [], "judgements": judgements,
            "status": {"state": "done"}, "started_ms": 0.0, "ended_ms": null, "app_version": "0",
        }))
        .expect("a record")
    }

    fn judgement(judge: &str, states: [&str; 2]) -> serde_json::Value {
        let verdict = |id: &str, state: &str| json!({"requirement": id, "state": state, "source": "model", "rationale": ""});
        json!({"judge": judge, "verdicts": [verdict("r1", states[0]), verdict("r2", states[1])]})
    }

    #[test]
    fn before_a_run_there_are_requirements_without_verdicts() {
        let rows = rows(&hidden(), None);
        assert_eq!(rows[0].state(), None);
        let sessions: Vec<_> = rows[0]
            .evidence
            .iter()
            .map(|e| e.session.as_str())
            .collect();
        assert_eq!(sessions, ["s0010", "s0200"]);
        assert_eq!(rows[1].slot.as_deref(), Some("sort_by"));
        assert_eq!(Tally::of(&rows).sentence(), "not judged");
    }

    #[test]
    fn the_first_judge_that_decides_counts_and_a_dispute_shows() {
        let judgements = json!([
            judgement("programmatic", ["unscored", "met"]),
            judgement("m", ["not_met", "not_met"])
        ]);
        let rows = rows(&hidden(), Some(&record(judgements)));
        assert_eq!(rows[0].state(), Some(VerdictState::NotMet));
        assert_eq!(
            rows[0].verdict.as_ref().map(|v| v.judge.as_str()),
            Some("m")
        );
        assert!(!rows[0].disputed);
        assert!(rows[1].disputed);
        assert_eq!(rows[1].opinions[1].judge, "m");
        let loss = rows[0].path.as_ref().map(|path| path.loss);
        assert_eq!(loss, Some(Loss::At(crate::run::lost::Gate::Retrieved)));
        let loss = rows[1].path.as_ref().map(|path| path.loss);
        assert_eq!(loss, Some(Loss::At(crate::run::lost::Gate::Agreed)));
        assert_eq!(Tally::of(&rows).sentence(), "1 of 2 met");
    }

    #[test]
    fn unscored_requirements_are_counted_apart() {
        let tally = |met, not_met, unscored| Tally {
            met,
            not_met,
            unscored,
        };
        assert_eq!(tally(1, 1, 1).sentence(), "1 of 2 met, 1 unscored");
        assert_eq!(tally(0, 0, 2).sentence(), "2 unscored");
    }
}
