//! Many runs one after another: what is left to do of them, and how far they are.

use super::record::{BY_WORDS, Mode, ModelRef, Params, RetrieverRef, RunRecord, RunStatus};
use crate::agent::trace::System;
use crate::bench::ids::InstanceId;
use crate::prompts::Edits;

/// What makes two runs the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub system: System,
    pub agent: ModelRef,
    pub params: Params,
    /// Prompts changed by the visitor.
    pub edits: Edits,
    pub retriever: Finder,
    /// Hash of the dataset's manifest.
    pub dataset_sha256: String,
}

/// The retriever of runs to come, as far as settings tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finder {
    /// How passages are found, as results name it.
    pub method: String,
    /// Short name of the embedding model.
    pub model: String,
    /// Of its weights; not known where nothing but the name is.
    pub model_sha256: Option<String>,
    /// Where vectors come from, for a model behind an address.
    pub base_url: Option<String>,
}

impl Finder {
    /// Whether a run found its passages so. One that ended before its model was there may go on.
    fn fits(&self, record: &RetrieverRef) -> bool {
        let unknown = record.reading.is_none() && record.model != BY_WORDS;
        let weights = self.model_sha256.as_ref();
        let same = record.model == self.model
            && record.base_url == self.base_url
            && weights.is_none_or(|sha256| *sha256 == record.model_sha256);
        record.method == self.method && (same || unknown)
    }
}

/// What is to be done about one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// It was run to the end already.
    Done,
    /// A run of it stopped on the way: go on under its id, so that nothing is paid twice.
    Resume {
        id: String,
    },
    Run,
}

/// Looks the instance up among the records; the latest that fits decides.
pub fn todo(wanted: &Wanted, instance: &InstanceId, records: &[impl AsRef<RunRecord>]) -> Todo {
    let fits = |record: &&RunRecord| {
        record.instance == *instance
            && record.system == wanted.system
            && record.agent == wanted.agent
            && record.params == wanted.params
            && wanted.retriever.fits(&record.retriever)
            && record.variant.mode == Mode::Task
            && record.variant.edits == wanted.edits
            && record.dataset.sha256 == wanted.dataset_sha256
    };
    let mut stopped = None;
    for record in records.iter().rev().map(AsRef::as_ref).filter(fits) {
        match record.status {
            RunStatus::Done => return Todo::Done,
            _ if stopped.is_none() => stopped = Some(record.id.clone()),
            _ => {}
        }
    }
    stopped.map_or(Todo::Run, |id| Todo::Resume { id })
}

/// How far a batch is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// For example `IBA-Agent on 12 instances`.
    pub title: String,
    pub total: u32,
    pub done: u32,
    /// Ended by an error; they are kept as such and count as done.
    pub failed: u32,
}

impl Progress {
    /// `7 of 12, 1 failed`.
    pub fn words(&self) -> String {
        match self.failed {
            0 => format!("{} of {}", self.done, self.total),
            n => format!("{} of {}, {n} failed", self.done, self.total),
        }
    }
}

/// Errors in a row after which a batch stops by itself: a wrong key or an empty account fails for
/// every instance alike.
pub const MOST_FAILURES: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn record(id: &str, status: &str, top_k: u32) -> Arc<RunRecord> {
        Arc::new(
            serde_json::from_value(json!({
                "id": id, "instance": "i", "persona": "p", "scenario": "s", "domain": "d",
                "action": "generate_text", "task": "t", "system": "iba_agent", "epoch": 1,
                "params": {"top_k": top_k}, "agent": {"kind": "embedded"},
                "dataset": {"name": "n", "sha256": "abc"},
                "retriever": {"model": "m", "model_sha256": "", "method": "exact"},
                "stages": [], "output": null, "requirements": [], "judgements": [],
                "status": {"state": status, "message": ""}, "started_ms": 0.0, "ended_ms": null, "app_version": "0",
            }))
            .expect("a record"),
        )
    }

    fn finder(model: &str) -> Finder {
        Finder {
            method: "exact".to_owned(),
            model: model.to_owned(),
            ..Finder::default()
        }
    }

    fn wanted() -> Wanted {
        Wanted {
            system: System::IbaAgent,
            agent: ModelRef::Embedded,
            params: Params::default(),
            edits: Edits::default(),
            retriever: finder("m"),
            dataset_sha256: "abc".to_owned(),
        }
    }

    #[test]
    fn another_retriever_is_other_work() {
        let reading = json!({"dim": 3, "pooling": "mean", "normalised": true,
                             "query_prefix": "", "passage_prefix": ""});
        let by = |model: &str, sha256: &str, method: &str, read: bool| RetrieverRef {
            model: model.to_owned(),
            model_sha256: sha256.to_owned(),
            method: method.to_owned(),
            reading: read.then(|| serde_json::from_value(reading.clone()).expect("a reading")),
            ..RetrieverRef::default()
        };
        let wanted = Finder {
            model_sha256: Some("ab".to_owned()),
            ..finder("m")
        };
        assert!(wanted.fits(&by("m", "ab", "exact", true)));
        assert!(!wanted.fits(&by("m", "cd", "exact", true)));
        assert!(!wanted.fits(&by("other", "ab", "exact", true)));
        assert!(!wanted.fits(&by("m", "ab", "bm25", true)));
        assert!(!wanted.fits(&by(BY_WORDS, "", "bm25", false)));
        assert!(wanted.fits(&by("not loaded", "", "exact", false)));
        let there = Finder {
            base_url: Some("https://v.example/v1".to_owned()),
            ..finder("m")
        };
        assert!(!there.fits(&by("m", "", "exact", true)));
    }

    #[test]
    fn what_was_done_is_not_done_again_and_what_stopped_goes_on() {
        let of = |records: &[Arc<RunRecord>]| todo(&wanted(), &"i".into(), records);
        assert_eq!(of(&[]), Todo::Run);
        assert_eq!(
            of(&[record("a", "done", 3), record("b", "failed", 3)]),
            Todo::Done
        );
        let stopped = [record("a", "cancelled", 3), record("b", "running", 3)];
        assert_eq!(of(&stopped), Todo::Resume { id: "b".to_owned() });
        assert_eq!(
            of(&[record("a", "done", 4)]),
            Todo::Run,
            "other parameters are other work"
        );
        assert_eq!(
            todo(&wanted(), &"j".into(), &[record("a", "done", 3)]),
            Todo::Run
        );
    }
}
