//! What only the judge, and the reader after "reveal", may see. The agent never imports this.

use super::ids::{InstanceId, PersonaId, PreferenceId, RequirementId, ScenarioId, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The hidden half of an instance; the visible half is [`super::visible::Instance`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HiddenInstance {
    pub id: InstanceId,
    pub preferences: Vec<Preference>,
    pub evidence: Vec<Evidence>,
    pub requirements: Vec<Requirement>,
    /// For `call_api`: slot name to what is accepted there. Slots not listed are not scored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub api_reference: BTreeMap<String, SlotReference>,
    #[serde(default)]
    pub qa: Vec<QaItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
}

impl HiddenInstance {
    /// The slot a requirement is tied to, by its check or by the reference.
    pub fn slot_of(&self, id: &RequirementId) -> Option<&str> {
        let requirement = self.requirements.iter().find(|r| r.id == *id)?;
        if let Some(Check::Slot { slot, .. }) = &requirement.check {
            return Some(slot);
        }
        let mut slots = self.api_reference.iter();
        let of_it = slots.find(|(_, reference)| reference.requirement == *id);
        of_it.map(|(slot, _)| slot.as_str())
    }

    /// The values accepted in the slot a requirement is tied to; none where it is tied to no slot.
    pub fn accepted(&self, id: &RequirementId) -> &[Value] {
        let requirement = self.requirements.iter().find(|r| r.id == *id);
        if let Some(Check::Slot { accept, .. }) = requirement.and_then(|r| r.check.as_ref()) {
            return accept;
        }
        let mut references = self.api_reference.values();
        let of_it = references.find(|reference| reference.requirement == *id);
        of_it.map_or(&[], |reference| &reference.accept)
    }
}

/// A preference planted for this user and scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preference {
    pub id: PreferenceId,
    pub dimension: String,
    pub value: String,
    pub text: String,
    pub kind: PreferenceKind,
    /// The value before the change, when `kind` is dynamic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreferenceKind {
    Static,
    Dynamic,
}

/// Links a session of the history to the preferences it reveals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub id: String,
    pub session: SessionId,
    pub signal: Signal,
    pub reveals: Vec<PreferenceId>,
}

/// How a session shows a preference; the salience table scores the same four (paper, appendix).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    ExplicitRevision,
    Complaint,
    DirectStatement,
    ImplicitPattern,
}

/// One hidden, atomic, binary criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    pub id: RequirementId,
    pub preference: PreferenceId,
    pub text: String,
    #[serde(default)]
    pub check: Option<Check>,
}

/// A programmatic check that is equivalent to its requirement's text. Matching ignores case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Check {
    WordCount {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
    },
    Count {
        of: Countable,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
    },
    ContainsAny {
        any: Vec<String>,
    },
    ContainsAll {
        all: Vec<String>,
    },
    Excludes {
        none: Vec<String>,
    },
    Regex {
        pattern: String,
    },
    FirstPerson {
        expect: bool,
    },
    StartsWithAny {
        any: Vec<String>,
    },
    Slot {
        slot: String,
        accept: Vec<Value>,
    },
}

/// What [`Check::Count`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Countable {
    Bullets,
    Numbered,
    Headings,
    Paragraphs,
    Sentences,
    Tables,
    CodeBlocks,
}

/// Every value that satisfies one requirement in one slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotReference {
    pub requirement: RequirementId,
    pub accept: Vec<Value>,
}

/// Asks for the preference instead of the action (QA mode).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QaItem {
    pub preference: PreferenceId,
    pub question: String,
    pub answer: String,
}

/// A gold-labelled answer, for calibrating judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Text, or an object slot -> value.
    pub output: Value,
    /// 1 met, 0 not met.
    pub labels: BTreeMap<RequirementId, u8>,
    #[serde(default)]
    pub why: BTreeMap<RequirementId, String>,
}

/// A preference dimension of a scenario; values of one dimension exclude each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dimension {
    pub id: String,
    pub name: String,
    pub values: Vec<DimensionValue>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DimensionValue {
    pub id: String,
    pub text: String,
}

/// The dimensions of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioDimensions {
    pub scenario: ScenarioId,
    pub dimensions: Vec<Dimension>,
}

/// Who the user is: background, traits, transient states and roles (paper, section 3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Persona {
    pub id: PersonaId,
    pub name: String,
    pub age: u32,
    pub gender: String,
    pub background: BTreeMap<String, String>,
    pub traits: Vec<String>,
    pub states: Vec<String>,
    pub roles: Vec<String>,
    pub summary: String,
}
