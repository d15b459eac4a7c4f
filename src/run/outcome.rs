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
    /// What the judges say together: the majority of each over its repeats. `None` before judging.
    pub standing: Option<Standing>,
    /// What it counts in the score, 0 to 1: repeats first, then judges equally.
    pub share: Option<f64>,
    /// A verdict that says so, with its reason; where judges disagree the first that decides.
    pub verdict: Option<Ruling>,
    /// What every judge said, all repeats together.
    pub opinions: Vec<Opinion>,
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
    /// One judge says met and another not met, or one is split evenly over its repeats.
    pub fn disputed(&self) -> bool {
        self.standing == Some(Standing::Disputed)
    }

    /// How far the judges, or the repeats of one, are from one voice, in a few words; `None` where
    /// all say the same.
    pub fn split(&self) -> Option<String> {
        let share = self.share.filter(|share| *share > 0.0 && *share < 1.0)?;
        let heard = self.opinions.iter().filter(|o| o.share_met().is_some());
        let words = match heard.count() {
            0 | 1 if self.disputed() => "repeats split evenly",
            0 | 1 => "repeats differ",
            _ if self.disputed() => "judges disagree",
            _ => "some repeats differ",
        };
        Some(format!("{words}, counts {share:.2}"))
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
    let of_it = |judgement: &Judgement| judgement.verdicts.iter().any(|v| v.requirement == *id);
    let judged = judgements.iter().any(of_it);
    let standing = opinion::standing(judgements, id);
    let row = Row {
        id: id.clone(),
        text: requirement.map(|r| r.text.clone()).unwrap_or_default(),
        evidence: preference_id
            .map(|id| links(hidden, id))
            .unwrap_or_default(),
        slot: hidden.slot_of(id).map(str::to_owned),
        preference,
        verdict: ruling(judgements, id, standing),
        standing: judged.then_some(standing),
        share: opinion::share(judgements, id),
        opinions: opinion::opinions(judgements, id),
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

/// The first verdict that says what all say together; else the first that decides, else the first.
fn ruling(judgements: &[Judgement], id: &RequirementId, together: Standing) -> Option<Ruling> {
    let mut rulings = rulings(judgements, id);
    let state = |ruling: &Ruling| ruling.verdict.state;
    let decides = |ruling: &Ruling| state(ruling) != VerdictState::Unscored;
    let agrees = rulings
        .iter()
        .position(|one| Standing::from(state(one)) == together);
    let counts = agrees.or_else(|| rulings.iter().position(decides));
    (!rulings.is_empty()).then(|| rulings.remove(counts.unwrap_or(0)))
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
        accept: hidden.accepted(&row.id).to_vec(),
        gold: None,
    };
    funnel::path(record, &note)
}

/// Requirements counted by what the judges say together; what could not be judged never counts as
/// failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub met: usize,
    pub not_met: usize,
    pub disputed: usize,
    pub unscored: usize,
}

impl Tally {
    pub fn of(rows: &[Row]) -> Self {
        let count = |standing| {
            let of_it = |row: &&Row| row.standing == Some(standing);
            rows.iter().filter(of_it).count()
        };
        Self {
            met: count(Standing::Met),
            not_met: count(Standing::NotMet),
            disputed: count(Standing::Disputed),
            unscored: count(Standing::Unscored),
        }
    }

    /// Requirements with a verdict.
    pub fn judged(self) -> usize {
        self.met + self.not_met + self.disputed
    }

    /// `2 of 4 met, 1 disputed, 1 unscored`; the first two numbers are about the judged ones.
    pub fn sentence(self) -> String {
        let judged = self.judged();
        let mut parts = Vec::new();
        if judged > 0 {
            parts.push(format!("{} of {judged} met", self.met));
        }
        for (n, word) in [(self.disputed, "disputed"), (self.unscored, "unscored")] {
            if n > 0 {
                parts.push(format!("{n} {word}"));
            }
        }
        match parts.is_empty() {
            true => "not judged".to_owned(),
            false => parts.join(", "),
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
        assert_eq!(rows[0].standing, None);
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
    fn judges_that_disagree_leave_a_dispute() {
        let judgements = json!([
            judgement("a", ["unscored", "met"]),
            judgement("m", ["not_met", "not_met"])
        ]);
        let rows = rows(&hidden(), Some(&record(judgements)));
        assert_eq!(rows[0].standing, Some(Standing::NotMet));
        assert_eq!(
            rows[0].verdict.as_ref().map(|v| v.judge.as_str()),
            Some("m")
        );
        assert!(!rows[0].disputed() && rows[0].split().is_none());
        assert!(rows[1].disputed());
        assert_eq!(
            rows[1].split().as_deref(),
            Some("judges disagree, counts 0.50")
        );
        assert_eq!(rows[1].opinions[1].judge, "m");
        let loss = rows[0].path.as_ref().map(|path| path.loss);
        assert_eq!(loss, Some(Loss::At(crate::run::lost::Gate::Retrieved)));
        let loss = rows[1].path.as_ref().map(|path| path.loss);
        assert_eq!(loss, Some(Loss::At(crate::run::lost::Gate::Agreed)));
        assert_eq!(Tally::of(&rows).sentence(), "0 of 2 met, 1 disputed");
    }

    // The score of these is 0.8: the first repeat alone must not be what the page shows.
    #[test]
    fn the_majority_of_the_repeats_is_shown_with_its_reason() {
        let states = ["not_met", "met", "met", "met", "met"];
        let judgements: Vec<_> = states.map(|state| judgement("m", [state, "met"])).to_vec();
        let rows = rows(&hidden(), Some(&record(json!(judgements))));
        assert_eq!(rows[0].standing, Some(Standing::Met));
        let verdict = rows[0].verdict.as_ref().map(|v| v.verdict.state);
        assert_eq!((verdict, &rows[0].path), (Some(VerdictState::Met), &None));
        assert_eq!(rows[0].share, Some(0.8));
        assert_eq!(
            rows[0].split().as_deref(),
            Some("repeats differ, counts 0.80")
        );
        assert_eq!(Tally::of(&rows).sentence(), "2 of 2 met");
    }

    #[test]
    fn unscored_requirements_are_counted_apart() {
        let tally = |met, not_met, disputed, unscored| Tally {
            met,
            not_met,
            disputed,
            unscored,
        };
        assert_eq!(tally(1, 1, 0, 1).sentence(), "1 of 2 met, 1 unscored");
        assert_eq!(
            tally(1, 1, 1, 1).sentence(),
            "1 of 3 met, 1 disputed, 1 unscored"
        );
        assert_eq!(tally(0, 0, 0, 2).sentence(), "2 unscored");
    }
}
