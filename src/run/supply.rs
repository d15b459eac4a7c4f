//! What the run layer hands a system beside its task: evidence for the oracle, the history of
//! somebody else. It reads hidden links; what it hands over are passages and sessions, which any
//! system may see.

use super::{CallRole, Env, RunEvent, StepError};
use crate::agent::fit::whole;
use crate::agent::trace::{CallRecord, PromptRef};
use crate::bench::hidden::{Check, HiddenInstance};
use crate::bench::ids::{InstanceId, PersonaId, SessionId};
use crate::bench::visible::History;
use crate::embed::{Hit, Passage, PassageId};
use crate::llm::Chat;
use crate::worker::protocol::CheckOutcome;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The sessions that reveal the instance's preferences, whole, by date.
pub fn evidence(history: &History, hidden: &HiddenInstance) -> Vec<Passage> {
    let mut sessions: Vec<_> = history
        .sessions
        .iter()
        .filter(|session| hidden.evidence.iter().any(|e| e.session == session.id))
        .collect();
    sessions.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
    sessions.into_iter().map(whole).collect()
}

/// Whose history stands in for the user's own: anybody else, the same one under the same seed.
/// `None` in a dataset of one user.
pub fn donor<'a>(
    seed: u64,
    instance: &InstanceId,
    own: &PersonaId,
    personas: impl Iterator<Item = &'a PersonaId>,
) -> Option<PersonaId> {
    let others: Vec<&PersonaId> = personas.filter(|persona| *persona != own).collect();
    let digest = Sha256::digest(format!("{seed}/{instance}"));
    let number = digest
        .iter()
        .take(8)
        .fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    let at = number.checked_rem(others.len() as u64)?;
    others.get(at as usize).copied().cloned()
}

/// An [`Env`] over the history of somebody else. Its sessions get names of their own, because both
/// histories count theirs alike.
pub struct Borrowed<'a, E> {
    pub env: &'a E,
    pub donor: PersonaId,
}

impl<E> Borrowed<'_, E> {
    fn rename(&self, hit: Hit) -> Hit {
        let Passage {
            id,
            session,
            date,
            text,
            start,
        } = hit.passage;
        let passage = Passage {
            id: PassageId(format!("{}/{}", self.donor, id.0)),
            session: SessionId(format!("{}/{session}", self.donor)),
            date,
            text,
            start,
        };
        Hit { passage, ..hit }
    }
}

impl<E: Env> Env for Borrowed<'_, E> {
    async fn search(&self, queries: &[String], top_k: u32) -> Result<Vec<Vec<Hit>>, StepError> {
        let lists = self.env.search(queries, top_k).await?;
        let renamed = |hits: Vec<Hit>| hits.into_iter().map(|hit| self.rename(hit)).collect();
        Ok(lists.into_iter().map(renamed).collect())
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, StepError> {
        self.env.embed(texts).await
    }

    async fn check(
        &self,
        output: &Value,
        checks: &[Check],
    ) -> Result<Vec<CheckOutcome>, StepError> {
        self.env.check(output, checks).await
    }

    async fn chat(
        &self,
        role: CallRole,
        chat: Chat,
        prompt: PromptRef,
    ) -> Result<CallRecord, StepError> {
        self.env.chat(role, chat, prompt).await
    }

    fn now_ms(&self) -> f64 {
        self.env.now_ms()
    }

    fn emit(&self, event: RunEvent) {
        self.env.emit(event);
    }

    fn odd(&self) -> Vec<String> {
        self.env.odd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(seed: u64, instance: &str, personas: &[&str]) -> Option<String> {
        let personas: Vec<PersonaId> = personas.iter().map(|id| (*id).into()).collect();
        donor(seed, &instance.into(), &"own".into(), personas.iter()).map(|id| id.0)
    }

    #[test]
    fn a_donor_is_never_the_user_and_stays_the_same_under_a_seed() {
        assert_eq!(chosen(1, "i", &["own"]), None);
        assert_eq!(chosen(1, "i", &["own", "a"]).as_deref(), Some("a"));
        let all = ["a", "own", "b", "c", "d"];
        assert_eq!(chosen(7, "i", &all), chosen(7, "i", &all));
        let spread: std::collections::BTreeSet<_> =
            (0..40).map(|n| chosen(7, &format!("i{n}"), &all)).collect();
        assert_eq!(
            spread.len(),
            4,
            "every other user is drawn for some instance"
        );
        assert!(!spread.contains(&Some("own".to_owned())));
    }
}
