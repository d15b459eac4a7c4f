//! One run as one Inspect sample. The whole record lies under `metadata.iba`, so that our own
//! reader loses nothing; all other fields are for other readers.

use super::events;
use super::scores;
use super::time::iso;
use super::usage;
use super::wire::{Choice, Message, ModelOutput, Sample, SampleError};
use crate::agent::trace::Output;
use crate::run::record::{RunRecord, RunStatus};
use serde_json::{Value, json};

/// Value of `metadata.iba.format`.
pub const FORMAT: &str = "iba-run-record";
/// Version of the record that this program writes and reads.
pub const VERSION: u64 = 1;

/// `scorers`: names of all judgements of the log.
pub fn of_record(record: &RunRecord, scorers: &[String]) -> Sample {
    let (model_usage, role_usage) = usage::of_records([record]);
    let completion = record.output.as_ref().map(completion).unwrap_or_default();
    let total_time = record
        .ended_ms
        .map(|ended| ((ended - record.started_ms) / 1000.0).max(0.0));
    Sample {
        id: record.instance.0.clone(),
        epoch: record.epoch,
        input: record.task.clone(),
        target: record
            .requirements
            .iter()
            .map(|note| note.text.clone())
            .collect(),
        messages: messages(record, &completion),
        output: output(record, completion),
        scores: scores::of_record(record, scorers),
        metadata: metadata(record),
        events: events::of_record(record),
        model_usage,
        role_usage,
        started_at: iso(record.started_ms),
        completed_at: record.ended_ms.map(iso),
        total_time,
        uuid: record.id.clone(),
        error: error(&record.status),
    }
}

/// What a reader of text sees: the text itself, or the call and its slots.
fn completion(output: &Output) -> String {
    match output {
        Output::GenerateText { text } => text.clone(),
        Output::CallApi { slots, description } => {
            let slots = serde_json::to_string_pretty(slots).unwrap_or_default();
            if description.is_empty() {
                slots
            } else {
                format!("{description}\n\n{slots}")
            }
        }
    }
}

fn messages(record: &RunRecord, completion: &str) -> Vec<Message> {
    let task = || {
        vec![Message::User {
            content: json!(record.task),
        }]
    };
    let mut out = events::conversation(record).unwrap_or_else(task);
    if record.output.is_some() {
        out.push(said(record, completion));
    }
    out
}

fn said(record: &RunRecord, completion: &str) -> Message {
    Message::Assistant {
        content: json!(completion),
        source: "generate",
        tool_calls: Vec::new(),
        model: record.agent.label(),
    }
}

fn output(record: &RunRecord, completion: String) -> ModelOutput {
    let choice = || Choice {
        message: said(record, &completion),
        stop_reason: "stop",
    };
    ModelOutput {
        model: record.agent.label(),
        choices: record.output.iter().map(|_| choice()).collect(),
        completion,
        usage: None,
        time: None,
        metadata: None,
        response_id: None,
    }
}

fn metadata(record: &RunRecord) -> Value {
    json!({
        "domain": record.domain,
        "scenario": record.scenario,
        "persona": record.persona,
        "action": record.action,
        "system": record.system,
        "iba": { "format": FORMAT, "version": VERSION, "record": record },
    })
}

fn error(status: &RunStatus) -> Option<SampleError> {
    let message = match status {
        RunStatus::Done => return None,
        RunStatus::Running => "the run was not finished when the file was written".to_owned(),
        RunStatus::Cancelled => "cancelled by the visitor".to_owned(),
        RunStatus::Failed { message } => message.clone(),
    };
    Some(SampleError {
        traceback: message.clone(),
        traceback_ansi: message.clone(),
        message,
    })
}
