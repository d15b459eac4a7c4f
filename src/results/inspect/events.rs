//! The trace of a run as Inspect events: a span for the system, one for each stage and judge.

use super::scores;
use super::time::iso;
use super::usage;
use super::wire::{
    Choice, Event, EventBody, GenerateConfig, Message, ModelEvent, ModelOutput, ToolCall, ToolEvent,
};
use crate::agent::trace::{CallRecord, StageId, StageOutcome, StageRecord};
use crate::llm::{self, Finish, ToolChoice};
use crate::run::lost::links::Links;
use crate::run::record::RunRecord;
use serde_json::{Map, Value, json};

/// All events of a run in the order of time.
pub fn of_record(record: &RunRecord) -> Vec<Event> {
    let mut log = Events::new(record);
    let system = log.begin("solver", &name_of(&record.system), record.started_ms);
    for (n, stage) in record.stages.iter().enumerate() {
        log.stage(stage, &record.stages[n + 1..]);
    }
    log.embedding(f64::INFINITY);
    let judged = log.last_ms;
    log.end(system, judged);
    if !record.judgements.is_empty() {
        log.judges(judged);
    }
    if let Some(links) = &record.links {
        log.where_lost(links);
    }
    log.events
}

/// The snake-case name under which a value is serialized.
pub fn name_of(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

struct Events<'a> {
    record: &'a RunRecord,
    events: Vec<Event>,
    /// Spans that are open, outermost first.
    open: Vec<String>,
    spans: usize,
    last_ms: f64,
    /// Calls of an embedding endpoint that are told already.
    embedded: usize,
}

impl<'a> Events<'a> {
    fn new(record: &'a RunRecord) -> Self {
        let (events, open) = (Vec::new(), Vec::new());
        Self {
            record,
            events,
            open,
            spans: 0,
            last_ms: record.started_ms,
            embedded: 0,
        }
    }

    fn push(&mut self, ms: f64, body: EventBody) {
        self.last_ms = self.last_ms.max(ms);
        self.events.push(Event {
            uuid: format!("{}-e{}", self.record.id, self.events.len()),
            span_id: self.open.last().cloned(),
            timestamp: iso(ms),
            working_start: seconds(ms - self.record.started_ms),
            body,
        });
    }

    fn begin(&mut self, kind: &'static str, name: &str, ms: f64) -> String {
        let id = format!("{}-s{}", self.record.id, self.spans);
        self.spans += 1;
        let parent_id = self.open.last().cloned();
        // Inspect files the begin of a span under the span itself.
        self.open.push(id.clone());
        self.push(
            ms,
            EventBody::SpanBegin {
                id: id.clone(),
                parent_id,
                kind,
                name: name.to_owned(),
            },
        );
        id
    }

    fn end(&mut self, id: String, ms: f64) {
        self.push(ms, EventBody::SpanEnd { id });
        self.open.pop();
    }

    fn stage(&mut self, stage: &StageRecord, later: &[StageRecord]) {
        let name = name_of(&stage.stage);
        self.embedding(stage.started_ms);
        let span = self.begin("iba.stage", &name, stage.started_ms);
        for call in &stage.calls {
            self.call(call);
        }
        self.tools(stage, later);
        let done = stage.started_ms + stage.duration_ms;
        self.embedding(done);
        let data = json!({ "outcome": stage.outcome, "notes": stage.notes });
        self.push(
            done,
            EventBody::Info {
                source: format!("iba.{name}"),
                data,
            },
        );
        self.end(span, done);
    }

    /// Calls of an embedding endpoint that began until then. They are no chats, so they are no model
    /// events either; Inspect's statistics count their tokens all the same.
    fn embedding(&mut self, until_ms: f64) {
        let record = self.record;
        for call in &record.embedding_calls[self.embedded..] {
            if call.started_ms > until_ms {
                break;
            }
            self.embedded += 1;
            let data = json!({
                "model": call.request.model,
                "returned_model": call.reply.model,
                "base_url": call.base_url,
                "sent": call.sent,
                "usage": call.reply.usage.as_ref().map(usage::convert),
                "seconds": seconds(call.duration_ms),
                "retries": call.retries,
            });
            let source = "iba.embedding".to_owned();
            self.push(call.started_ms, EventBody::Info { source, data });
            self.last_ms = self.last_ms.max(call.started_ms + call.duration_ms);
        }
    }

    /// The tool calls of a controller's turn. What the model was told stands in its next turn; the
    /// output head is told nothing, it ends the run.
    fn tools(&mut self, stage: &StageRecord, later: &[StageRecord]) {
        let StageOutcome::Decided { decisions, .. } = &stage.outcome else {
            return;
        };
        let Some(turn) = stage.calls.last() else {
            return;
        };
        let done = turn.started_ms + turn.duration_ms;
        for (call, decision) in turn.reply.tool_calls.iter().zip(decisions) {
            let ToolCall {
                id,
                function,
                arguments,
                kind,
            } = tool_call(call);
            let told = told(later, &call.id);
            let error = decision.refused.as_ref();
            let event = ToolEvent {
                kind,
                id,
                function,
                arguments,
                result: told.unwrap_or_default().to_owned(),
                error: error.map(|why| json!({ "type": "unknown", "message": why })),
                completed: iso(done),
            };
            self.push(done, EventBody::Tool(Box::new(event)));
        }
    }

    /// The search for where requirements were lost, behind the verdicts that it follows.
    fn where_lost(&mut self, links: &Links) {
        let span = self.begin("iba.where_lost", "where_lost", self.last_ms);
        for call in &links.calls {
            self.call(call);
        }
        let now = self.last_ms;
        let data = json!({ "by": links.by, "requirements": links.requirements });
        let source = "iba.where_lost".to_owned();
        self.push(now, EventBody::Info { source, data });
        self.end(span, now);
    }

    fn call(&mut self, call: &CallRecord) {
        self.push(
            call.started_ms,
            EventBody::Model(Box::new(model_event(call))),
        );
        self.last_ms = self.last_ms.max(call.started_ms + call.duration_ms);
    }

    fn judges(&mut self, from: f64) {
        let span = self.begin("scorers", "scorers", from);
        for (name, judgement) in scores::named(&self.record.judgements) {
            let scorer = self.begin("scorer", &name, self.last_ms);
            for call in &judgement.calls {
                self.call(call);
            }
            let score = scores::verdicts(self.record, judgement);
            let target = self
                .record
                .requirements
                .iter()
                .map(|note| note.text.clone())
                .collect();
            let now = self.last_ms;
            self.push(
                now,
                EventBody::Score {
                    score,
                    target,
                    scorer: name,
                },
            );
            self.end(scorer, now);
        }
        let now = self.last_ms;
        self.end(span, now);
    }
}

/// The result of a tool call, as the next turn repeats it: behind that turn's last answer of the
/// model, because some servers number the calls of each turn alike.
fn told<'a>(later: &'a [StageRecord], id: &str) -> Option<&'a str> {
    let mut turns = later.iter().filter(|s| s.stage == StageId::Controller);
    let messages = &turns.find_map(|turn| turn.calls.first())?.request.messages;
    let results = messages.iter().rev();
    let mut results =
        results.take_while(|message| !matches!(message, llm::Message::Assistant { .. }));
    results.find_map(|message| match message {
        llm::Message::Tool { call_id, text, .. } if call_id == id => Some(text.as_str()),
        _ => None,
    })
}

/// The conversation of a model that picked its tools, to its last turn; `None` for other systems.
pub fn conversation(record: &RunRecord) -> Option<Vec<Message>> {
    let turns = record.stages.iter().rev();
    let mut turns = turns.filter(|stage| stage.stage == StageId::Controller);
    let last = turns.find_map(|stage| stage.calls.last())?;
    let reply = last.reply.to_message();
    let said = last.request.messages.iter().chain([&reply]);
    let model = &last.request.model;
    Some(said.map(|said| message(said, model)).collect())
}

fn seconds(ms: f64) -> f64 {
    (ms / 1000.0).max(0.0)
}

fn model_event(call: &CallRecord) -> ModelEvent {
    ModelEvent {
        model: call.request.model.clone(),
        role: call.role.clone(),
        input: call
            .request
            .messages
            .iter()
            .map(|m| message(m, &call.request.model))
            .collect(),
        tools: call.request.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(&call.request),
        config: GenerateConfig {
            max_tokens: call.request.max_tokens,
            temperature: call.request.temperature,
            seed: call.request.seed,
        },
        output: output(call),
        retries: call.retries,
        cache: call.from_journal.then_some("read"),
        completed: iso(call.started_ms + call.duration_ms),
        working_time: seconds(call.duration_ms),
        metadata: json!({
            "base_url": call.base_url,
            "prompt": call.prompt,
            "parameters_sent": call.sent,
        }),
    }
}

fn tool_choice(request: &llm::Chat) -> Value {
    match &request.tool_choice {
        None if request.tools.is_empty() => json!("none"),
        None | Some(ToolChoice::Auto) => json!("auto"),
        Some(ToolChoice::None) => json!("none"),
        Some(ToolChoice::Required) => json!("any"),
        Some(ToolChoice::Named(name)) => json!({ "name": name }),
    }
}

fn tool(tool: &llm::Tool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters })
}

fn output(call: &CallRecord) -> ModelOutput {
    let reply = &call.reply;
    let model = reply
        .model
        .clone()
        .unwrap_or_else(|| call.request.model.clone());
    let choice = Choice {
        message: message(&reply.to_message(), &model),
        stop_reason: stop_reason(&reply.finish),
    };
    let warned = !reply.warnings.is_empty();
    ModelOutput {
        model,
        choices: vec![choice],
        completion: reply.text.clone(),
        usage: reply.usage.as_ref().map(usage::convert),
        time: Some(seconds(call.duration_ms)),
        metadata: warned.then(|| json!({ "warnings": reply.warnings })),
        response_id: reply.request_id.clone(),
    }
}

fn stop_reason(finish: &Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
        Finish::Other(_) => "unknown",
    }
}

/// A message of ours as one of Inspect's. A provider's own state is of no use to a reader; it
/// stays in the record.
pub fn message(message: &llm::Message, model: &str) -> Message {
    match message {
        llm::Message::System { text } => Message::System {
            content: json!(text),
        },
        llm::Message::User { text } => Message::User {
            content: json!(text),
        },
        llm::Message::Assistant {
            text,
            reasoning,
            tool_calls,
            extra: _,
        } => Message::Assistant {
            content: content(text, reasoning.as_deref()),
            source: "generate",
            tool_calls: tool_calls.iter().map(tool_call).collect(),
            model: model.to_owned(),
        },
        llm::Message::Tool {
            call_id,
            name,
            text,
            is_error,
        } => Message::Tool {
            content: json!(text),
            tool_call_id: call_id.clone(),
            function: name.clone(),
            error: is_error.then(|| json!({ "type": "unknown", "message": text })),
        },
    }
}

fn content(text: &str, reasoning: Option<&str>) -> Value {
    match reasoning {
        None => json!(text),
        Some(reasoning) => json!([
            { "type": "reasoning", "reasoning": reasoning },
            { "type": "text", "text": text },
        ]),
    }
}

fn tool_call(call: &llm::ToolCall) -> ToolCall {
    let arguments = match &call.arguments {
        Value::Object(arguments) => arguments.clone(),
        // Inspect knows arguments by name only.
        other => Map::from_iter([("arguments".to_owned(), other.clone())]),
    };
    ToolCall {
        id: call.id.clone(),
        function: call.name.clone(),
        arguments,
        kind: "function",
    }
}
