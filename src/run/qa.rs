//! QA mode: the questions behind an instance as a task of their own. The system answers them in
//! place of acting, and the answers are judged as outputs are; what a user's preferences are
//! known minus what is acted on is the knowledge-to-action gap.

use super::record::RunRecord;
use crate::bench::hidden::{HiddenInstance, QaItem, Requirement};
use crate::bench::ids::{PreferenceId, RequirementId};
use crate::bench::taxonomy::Action;
use crate::bench::visible::{Instance, Task};
use crate::judge::VerdictState;
use crate::score;

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
    pub known: Option<VerdictState>,
    /// Of all its requirements: met when all are, not met when one is not; `None` before a run.
    pub acted: Option<VerdictState>,
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
fn joint(
    run: &RunRecord,
    hidden: &HiddenInstance,
    preference: &PreferenceId,
) -> Option<VerdictState> {
    let tied = hidden
        .requirements
        .iter()
        .filter(|r| r.preference == *preference);
    let states: Vec<VerdictState> = tied.filter_map(|r| state(run, &r.id)).collect();
    let any = |wanted| states.contains(&wanted);
    match states.len() {
        0 => None,
        _ if any(VerdictState::NotMet) => Some(VerdictState::NotMet),
        _ if any(VerdictState::Unscored) => Some(VerdictState::Unscored),
        _ => Some(VerdictState::Met),
    }
}

/// The first judge that decides counts.
fn state(run: &RunRecord, id: &RequirementId) -> Option<VerdictState> {
    let verdicts = run.judgements.iter().flat_map(|j| &j.verdicts);
    let mut states = verdicts.filter(|v| v.requirement == *id).map(|v| v.state);
    let first = states.next()?;
    let decides = |state: &VerdictState| *state != VerdictState::Unscored;
    Some(
        std::iter::once(first)
            .chain(states)
            .find(decides)
            .unwrap_or(first),
    )
}
