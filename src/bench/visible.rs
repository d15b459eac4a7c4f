//! What an agent may see: a history, a task, the scenario's name and API template. Nothing here
//! says which sessions are evidence or what is required.

use super::ids::{InstanceId, PersonaId, ScenarioId, SessionId};
use super::taxonomy::{Action, ApiTemplate};
use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

impl Role {
    /// What stands before an utterance in [`Session::render`].
    pub fn prefix(self) -> &'static str {
        match self {
            Role::User => "User: ",
            Role::Assistant => "Assistant: ",
        }
    }
}

/// One utterance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub role: Role,
    pub text: String,
}

/// One dated conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    /// ISO 8601 without zone, `2025-03-02T19:04:00`.
    pub date: String,
    pub turns: Vec<Turn>,
}

impl Session {
    /// The text that is chunked and embedded: one paragraph a turn, `User: …` / `Assistant: …`.
    /// Byte offsets of [`crate::embed::ChunkSpan`] point into this string.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for turn in &self.turns {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(turn.role.prefix());
            out.push_str(&turn.text);
        }
        out
    }
}

/// All sessions of one persona, by date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub persona: PersonaId,
    pub sessions: Vec<Session>,
}

/// The request: an instruction and optional material.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub instruction: String,
    #[serde(default)]
    pub content: String,
}

impl Task {
    /// Instruction and content as one text; the first query of every retrieval.
    pub fn text(&self) -> String {
        if self.content.trim().is_empty() {
            self.instruction.clone()
        } else {
            format!("{}\n\n{}", self.instruction, self.content)
        }
    }
}

/// An instance as the agent gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    pub id: InstanceId,
    pub persona: PersonaId,
    pub scenario: ScenarioId,
    pub scenario_name: String,
    pub action: Action,
    pub task: Task,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<ApiTemplate>,
}
