//! One question to a model: send, read, and once more with the problem named when the answer
//! could not be read.

use super::{CallRole, Env, StepError};
use crate::agent::trace::CallRecord;
use crate::llm::read::{Read, ReadError};
use crate::llm::{Chat, JsonMode, Message, Reply};
use crate::prompts::{self, Rendered};

/// Who is asked, and within which limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub role: CallRole,
    /// Model name as sent.
    pub model: String,
    pub temperature: Option<f64>,
    pub max_tokens: u32,
    pub seed: Option<u64>,
}

impl Asked {
    fn chat(&self, prompt: &Rendered) -> Chat {
        Chat {
            model: self.model.clone(),
            messages: prompt.messages.clone(),
            temperature: self.temperature,
            max_tokens: Some(self.max_tokens),
            seed: self.seed,
            json: prompt.json.then_some(JsonMode::Object),
            ..Chat::default()
        }
    }
}

/// What a question leaves behind, whatever came of it.
#[derive(Debug, Default)]
pub struct Traces {
    pub calls: Vec<CallRecord>,
    pub notes: Vec<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AskError {
    /// The call itself failed or was cancelled.
    Call(StepError),
    /// Two answers came and neither could be read.
    Read(ReadError),
}

/// Asks, reads, and repeats once, then with the shape of the answer as a JSON schema.
pub async fn ask<T>(
    env: &impl Env,
    asked: &Asked,
    prompt: Rendered,
    traces: &mut Traces,
    read: impl Fn(&Reply) -> Result<Read<T>, ReadError>,
) -> Result<T, AskError> {
    let mut chat = asked.chat(&prompt);
    let first = send(env, asked.role, chat.clone(), &prompt, traces).await?;
    let problem = match read(&first) {
        Ok(answer) => return Ok(accept(answer, traces)),
        Err(problem) => problem,
    };
    traces.notes.push(format!("asked twice, because {problem}"));
    // Some servers refuse an empty assistant message, so an empty answer is left out.
    if !first.text.trim().is_empty() {
        chat.messages.push(first.to_message());
    }
    chat.messages.push(Message::User {
        text: prompts::repair(&problem.to_string()),
    });
    // A server that can hold its model to a shape is asked to: weak models ramble without.
    if let (true, Some(schema)) = (prompt.json, prompts::shape(&prompt.reference.id)) {
        let name = prompt.reference.id.clone();
        chat.json = Some(JsonMode::Schema { name, schema });
    }
    let second = send(env, asked.role, chat, &prompt, traces).await?;
    read(&second)
        .map(|answer| accept(answer, traces))
        .map_err(AskError::Read)
}

async fn send(
    env: &impl Env,
    role: CallRole,
    chat: Chat,
    prompt: &Rendered,
    traces: &mut Traces,
) -> Result<Reply, AskError> {
    let call = env
        .chat(role, chat, prompt.reference.clone())
        .await
        .map_err(AskError::Call)?;
    let reply = call.reply.clone();
    traces.notes.extend(reply.warnings.iter().cloned());
    traces.calls.push(call);
    Ok(reply)
}

fn accept<T>(answer: Read<T>, traces: &mut Traces) -> T {
    if answer.truncated {
        traces
            .notes
            .push("the answer was cut at the output limit; what came before it counts".to_owned());
    }
    traces.notes.extend(answer.problems);
    answer.value
}
