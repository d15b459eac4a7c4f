//! QA mode: the questions behind an instance as a task of their own. The system answers them in
//! place of acting, and the answers are judged as outputs are; what a user's preferences are
//! known minus what is acted on is the knowledge-to-action gap.

use super::record::{Mode, RunRecord, RunStatus};
use crate::agent::system::System;
use crate::bench::hidden::{HiddenInstance, QaItem, Requirement};
use crate::bench::ids::{PreferenceId, RequirementId};
use crate::bench::taxonomy::Action;
use crate::bench::visible::{Instance, Task};
use crate::judge::Judgement;
use crate::judge::opinion::{Standing, is_model, standing};
use crate::score;
use std::collections::BTreeSet;
use std::sync::Arc;

const LEAD: &str = "Answer these questions about the user.";

/// The instance as questions. The questions are visible to the system, the answers are not.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub instance: Instance,
    pub questions: Vec<String>,
    pub hidden: HiddenInstance,
}

/// `None` where the dataset has no questions for the instance.
pub fn asked(instance: &Instance, hidden: &HiddenInstance) -> Option<Asked> {
    if hidden.qa.is_empty() {
        return None;
    }
    let questions: Vec<String> = hidden.qa.iter().map(|item| item.question.clone()).collect();
    let instance = Instance {
        action: Action::GenerateText,
        task: Task {
            instruction: LEAD.to_owned(),
            content: questions.join("\n"),
        },
        api: None,
        ..instance.clone()
    };
    Some(Asked {
        instance,
        questions,
        hidden: as_requirements(hidden),
    })
}

/// One requirement for each question, tied to the preference behind it; evidence stays.
pub fn as_requirements(hidden: &HiddenInstance) -> HiddenInstance {
    let requirement = |(n, item): (usize, &QaItem)| Requirement {
        id: RequirementId(format!("qa{}", n + 1)),
        preference: item.preference.clone(),
        text: format!(
            "Answer A{} says in substance: {} (the question was: {})",
            n + 1,
            item.answer,
            item.question
        ),
        check: None,
    };
    HiddenInstance {
        requirements: hidden.qa.iter().enumerate().map(requirement).collect(),
        api_reference: Default::default(),
        sample: None,
        ..hidden.clone()
    }
}

/// One preference: whether it was known when asked for, and whether it was acted on.
#[derive(Clone, Debug, PartialEq)]
pub struct GapRow {
    pub preference: PreferenceId,
    /// What the user prefers.
    pub text: String,
    pub question: Option<String>,
    /// `None` before a QA run.
    pub known: Option<Standing>,
    /// Of all its requirements: met when all are, not met when one is not; `None` before a run.
    pub acted: Option<Standing>,
}

/// Knowledge against action on one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    pub rows: Vec<GapRow>,
    /// Means over judged requirements, 0 to 1.
    pub qa: Option<f64>,
    pub task: Option<f64>,
}

impl Gap {
    /// Task minus QA in points; negative when more is known than acted on.
    pub fn points(&self) -> Option<f64> {
        Some((self.task? - self.qa?) * 100.0)
    }
}

/// Compares a run on the task with a QA run of the same instance.
pub fn gap(hidden: &HiddenInstance, task: Option<&RunRecord>, qa: Option<&RunRecord>) -> Gap {
    let questions = as_requirements(hidden);
    let row = |preference: &crate::bench::hidden::Preference| {
        let id = &preference.id;
        let item = hidden.qa.iter().find(|item| item.preference == *id);
        GapRow {
            preference: id.clone(),
            text: preference.text.clone(),
            question: item.map(|item| item.question.clone()),
            known: qa.and_then(|run| joint(run, &questions, id)),
            acted: task.and_then(|run| joint(run, hidden, id)),
        }
    };
    let mean = |run: Option<&RunRecord>| score::of_judgements(&run?.judgements).mean;
    Gap {
        rows: hidden.preferences.iter().map(row).collect(),
        qa: mean(qa),
        task: mean(task),
    }
}

/// The verdicts on everything tied to a preference, as one.
fn joint(run: &RunRecord, hidden: &HiddenInstance, preference: &PreferenceId) -> Option<Standing> {
    let judged = |id: &RequirementId| {
        let mut verdicts = run.judgements.iter().flat_map(|j| &j.verdicts);
        verdicts.any(|v| v.requirement == *id)
    };
    let tied = hidden
        .requirements
        .iter()
        .filter(|r| r.preference == *preference && judged(&r.id));
    let standings: Vec<Standing> = tied.map(|r| standing(&run.judgements, &r.id)).collect();
    let worst = [Standing::NotMet, Standing::Disputed, Standing::Unscored];
    let found = worst.into_iter().find(|one| standings.contains(one));
    (!standings.is_empty()).then(|| found.unwrap_or(Standing::Met))
}

/// A run on the task and a QA run that show the gap of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairing {
    pub task: Option<Arc<RunRecord>>,
    pub qa: Option<Arc<RunRecord>>,
    /// What the two differ in besides the mode, in words; the gap is not theirs alone then.
    pub differs: Vec<String>,
}

/// The latest QA run of a system with the latest run on the task of the same set-up; where there is
/// no such pair, the latest of each with what differs. `runs` are of one instance, oldest first.
pub fn pairing(runs: &[Arc<RunRecord>], system: System) -> Pairing {
    let of = |mode: Mode| {
        let fits = move |run: &&Arc<RunRecord>| {
            run.system == system && run.variant.mode == mode && run.status == RunStatus::Done
        };
        runs.iter().rev().filter(fits)
    };
    let pair = of(Mode::Qa).find_map(|qa| {
        let alike =
            |task: &&Arc<RunRecord>| qa.same_but_mode(task) && judges_apart(qa, task).is_none();
        Some((of(Mode::Task).find(alike)?, qa))
    });
    match pair {
        Some((task, qa)) => Pairing {
            task: Some(Arc::clone(task)),
            qa: Some(Arc::clone(qa)),
            differs: Vec::new(),
        },
        None => {
            let (task, qa) = (of(Mode::Task).next().cloned(), of(Mode::Qa).next().cloned());
            let both = task.as_ref().zip(qa.as_ref());
            let differs = both.map_or(Vec::new(), |(task, qa)| differences(task, qa));
            Pairing { task, qa, differs }
        }
    }
}

/// What two runs differ in besides the mode.
fn differences(task: &RunRecord, qa: &RunRecord) -> Vec<String> {
    let mut out = Vec::new();
    let mut say = |differs: bool, what: &str| {
        if differs {
            out.push(what.to_owned());
        }
    };
    say(task.agent != qa.agent, "another model");
    say(task.params != qa.params, "other parameters");
    say(!task.retriever.same(&qa.retriever), "another retriever");
    say(task.variant.edits != qa.variant.edits, "other prompts");
    say(task.dataset != qa.dataset, "another data set");
    out.extend(judges_apart(task, qa));
    out
}

/// Judges of both with the hashes of their prompts, where they are not the same. A run that rules
/// alone decided is like one by any judge.
fn judges_apart(a: &RunRecord, b: &RunRecord) -> Option<String> {
    let judges = |run: &RunRecord| -> BTreeSet<(String, Option<String>)> {
        let models = run.judgements.iter().filter(|j| is_model(&j.judge));
        let hash = |j: &Judgement| j.prompt.as_ref().map(|prompt| prompt.sha256.clone());
        models.map(|j| (j.judge.clone(), hash(j))).collect()
    };
    let (ours, theirs) = (judges(a), judges(b));
    let comparable = ours.is_empty() || theirs.is_empty() || ours == theirs;
    (!comparable).then(|| {
        let names = |judges: &BTreeSet<(String, Option<String>)>| {
            let names: BTreeSet<&str> = judges.iter().map(|(name, _)| name.as_str()).collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        match (names(&ours), names(&theirs)) {
            (one, other) if one == other => format!("another prompt of the judge {one}"),
            (one, other) => format!("other judges: {one} against {other}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(id: &str, mode: &str, model: &str, judge: &str) -> Arc<RunRecord> {
        let verdicts =
            json!([{"requirement": "r1", "state": "met", "source": "model", "rationale": ""}]);
        let record = json!({
            "id": id, "instance": "i", "persona": "p", "scenario": "s", "domain": "d",
            "action": "generate_text", "task": "t", "system": "iba_agent", "epoch": 1,
            "params": {}, "agent": {"kind": "endpoint", "base_url": "https://a", "model": model},
            "variant": {"mode": mode}, "dataset": {"name": "n", "sha256": ""},
            "retriever": {"model": "m", "model_sha256": "", "method": "exact"},
            "stages": [], "output": null, "requirements": [],
            "judgements": [{"judge": judge, "verdicts": verdicts}],
            "status": {"state": "done"}, "started_ms": 0.0, "ended_ms": null, "app_version": "0",
        });
        Arc::new(serde_json::from_value(record).expect("a record"))
    }

    fn ids(pairing: &Pairing) -> [Option<&str>; 2] {
        [&pairing.task, &pairing.qa].map(|run| run.as_ref().map(|run| run.id.as_str()))
    }

    #[test]
    fn a_gap_is_between_runs_of_one_set_up() {
        let runs = [
            run("t1", "task", "small", "j"),
            run("q1", "qa", "small", "j"),
            run("t2", "task", "large", "j"),
        ];
        let found = pairing(&runs, System::IbaAgent);
        assert_eq!(ids(&found), [Some("t1"), Some("q1")]);
        assert!(found.differs.is_empty());
        assert_eq!(ids(&pairing(&runs, System::StandardRag)), [None, None]);
    }

    #[test]
    fn what_differs_is_said_where_nothing_better_is_there() {
        let runs = [
            run("t1", "task", "large", "j"),
            run("q1", "qa", "small", "k"),
        ];
        let found = pairing(&runs, System::IbaAgent);
        assert_eq!(ids(&found), [Some("t1"), Some("q1")]);
        assert_eq!(
            found.differs,
            ["another model", "other judges: j against k"]
        );
        let mut stricter = RunRecord::clone(&runs[0]);
        stricter.params.min_salience = 7.0;
        stricter.variant.mode = Mode::Qa;
        let found = pairing(
            &[Arc::clone(&runs[0]), Arc::new(stricter)],
            System::IbaAgent,
        );
        assert_eq!(found.differs, ["other parameters"]);
        let rules = run("q2", "qa", "large", "programmatic");
        let found = pairing(&[Arc::clone(&runs[0]), rules], System::IbaAgent);
        assert!(
            found.differs.is_empty(),
            "rules decide the same for every judge"
        );
    }
}
