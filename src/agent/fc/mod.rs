//! IBA-Agent (FC): the model picks the tools by function calling until it calls an output head.
//!
//! The paper states the loop (record state, decide, choose a tool, execute and observe, check for
//! completion) and that it ends with the output head; limits and schemas are ours. Each turn of
//! the controller is a stage of its own, followed by the stages it asked for. What cannot be
//! carried out, a tool that does not exist or arguments that do not fit, is told back to the
//! model as the call's error. A model that never gets to an output head ends as
//! [`StepError::Unfinished`], with everything it did kept.

mod desk;
mod tools;

use super::mind::Mind;
use super::stages::{Open, Run, Step};
use super::trace::{CallRecord, Decision, Output, StageId, StageOutcome};
use crate::llm::truncation::estimated_tokens;
use crate::llm::{Chat, Message, Reply, ToolCall};
use crate::prompts;
use crate::run::record::ModelRef;
use crate::run::{CallRole, Env, StepError};
use desk::{Desk, Done};
use tools::Repeats;

/// Turns in a row of which no call could be carried out.
const MAX_IDLE: u32 = 3;

/// Runs the loop.
pub(super) async fn act<E: Env, M: Mind>(run: &mut Run<'_, E, M>) -> Step<Output> {
    let mut talk = Talk::open(run);
    let (mut desk, mut repeats, mut idle) = (Desk::default(), Repeats::default(), 0);
    let params = run.ctx.params;
    for _ in 0..params.max_steps {
        let used = used_tokens(run);
        if used > u64::from(params.max_run_tokens) {
            return Err(talk.unfinished(&format!(
                "used about {used} tokens, more than the limit of {}, without calling an output head",
                params.max_run_tokens
            )));
        }
        let (reply, decisions) = talk.turn(run, &desk, &mut repeats).await?;
        let mut carried_out = false;
        for (call, decision) in reply.tool_calls.iter().zip(&decisions) {
            let tool = talk.tool(&call.name).filter(|_| decision.refused.is_none());
            let Some(tool) = tool else {
                talk.answer(call, decision.refused.clone().unwrap_or_default(), true);
                continue;
            };
            carried_out = true;
            match desk.carry_out(run, tool, decision).await? {
                Done::Ended(output) => return Ok(output),
                Done::Said(text) => talk.answer(call, text, false),
            }
        }
        idle = if carried_out { 0 } else { idle + 1 };
        if idle >= MAX_IDLE {
            return Err(talk.unfinished(&format!(
                "called nothing that could be carried out in {MAX_IDLE} turns in a row{}",
                last_refusal(&decisions)
            )));
        }
        if reply.tool_calls.is_empty() {
            talk.remind();
        }
    }
    Err(talk.unfinished(&format!(
        "did not call an output head within {} turns",
        params.max_steps
    )))
}

fn last_refusal(decisions: &[Decision]) -> String {
    let last = decisions.iter().rev().find_map(|d| d.refused.as_ref());
    last.map_or_else(
        || "; it answered in prose".to_owned(),
        |why| format!("; the last was refused, because {why}"),
    )
}

/// Tokens of all calls so far, as counted, or as estimated where the provider does not count.
fn used_tokens<E, M>(run: &Run<'_, E, M>) -> u64 {
    let calls = run
        .stages
        .iter()
        .filter(|stage| stage.shared_from.is_none());
    calls.flat_map(|stage| &stage.calls).map(tokens_of).sum()
}

fn tokens_of(call: &CallRecord) -> u64 {
    let usage = call.reply.usage.unwrap_or_default();
    let text = |message: &Message| match message {
        Message::System { text }
        | Message::User { text }
        | Message::Assistant { text, .. }
        | Message::Tool { text, .. } => estimated_tokens(text),
    };
    let input = || call.request.messages.iter().map(text).sum();
    let output = || estimated_tokens(&call.reply.text);
    usage.input.unwrap_or_else(input) + usage.output.unwrap_or_else(output)
}

/// The conversation with the controller.
struct Talk {
    chat: Chat,
    prompt: super::trace::PromptRef,
    head: StageId,
}

impl Talk {
    fn open<E: Env, M: Mind>(run: &Run<'_, E, M>) -> Self {
        let (ctx, head) = (run.ctx, run.head());
        let model = match run.mind.model() {
            ModelRef::Endpoint { model, .. } => model,
            ModelRef::Embedded | ModelRef::External { .. } => String::new(),
        };
        let rendered = prompts::controller(ctx.edits, ctx.instance, &tools::name(head));
        Self {
            chat: Chat {
                model,
                messages: rendered.messages,
                tools: tools::schemas(head),
                temperature: ctx.params.temperature,
                max_tokens: Some(ctx.params.max_output_tokens),
                seed: Some(ctx.params.seed),
                ..Chat::default()
            },
            prompt: rendered.reference,
            head,
        }
    }

    /// One turn: what the model said, and what becomes of its calls.
    async fn turn<E: Env, M: Mind>(
        &mut self,
        run: &mut Run<'_, E, M>,
        desk: &Desk,
        repeats: &mut Repeats,
    ) -> Step<(Reply, Vec<Decision>)> {
        let mut open = run.begin(StageId::Controller, String::new());
        let decided = self.ask(run, &mut open).await.map(|reply| {
            let most = run.ctx.params.max_repeats;
            let calls = &reply.tool_calls;
            let decisions = tools::decide(calls, self.head, desk.have(), repeats, most);
            (reply, decisions)
        });
        let outcome = |(reply, decisions): &(Reply, Vec<Decision>)| StageOutcome::Decided {
            decisions: decisions.clone(),
            text: reply.text.clone(),
        };
        run.end(open, decided, outcome)
    }

    async fn ask<E: Env, M: Mind>(&mut self, run: &Run<'_, E, M>, open: &mut Open) -> Step<Reply> {
        let (chat, prompt) = (self.chat.clone(), self.prompt.clone());
        let call = run.ctx.env.chat(CallRole::Agent, chat, prompt).await?;
        let reply = call.reply.clone();
        open.log.notes.extend(reply.warnings.iter().cloned());
        open.log.calls.push(call);
        // Some servers refuse an empty turn.
        if !reply.text.trim().is_empty() || !reply.tool_calls.is_empty() {
            self.chat.messages.push(reply.to_message());
        }
        Ok(reply)
    }

    fn tool(&self, name: &str) -> Option<StageId> {
        tools::offered(self.head)
            .into_iter()
            .find(|tool| tools::name(*tool) == name)
    }

    fn answer(&mut self, call: &ToolCall, text: String, is_error: bool) {
        self.chat.messages.push(Message::Tool {
            call_id: call.id.clone(),
            name: call.name.clone(),
            text,
            is_error,
        });
    }

    /// After a turn in prose.
    fn remind(&mut self) {
        let head = tools::name(self.head);
        self.chat.messages.push(Message::User {
            text: format!(
                "Nothing happened: only tool calls count. Call the next tool, or {head} to finish."
            ),
        });
    }

    fn unfinished(&self, what: &str) -> StepError {
        StepError::Unfinished(format!(
            "{} {what}. Its trace is kept. Raise the limits under Settings, or choose a model that is \
             better at calling tools",
            self.chat.model
        ))
    }
}
