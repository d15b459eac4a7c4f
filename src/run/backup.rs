//! A file with every run and every answered call of this browser: to keep where storage is not safe,
//! and to go on elsewhere. No key is ever in it.

use super::record::RunRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the file says it is.
pub const FORMAT: &str = "iba-lab-backup";
/// Written by this release; older ones are read.
pub const VERSION: u32 = 1;

/// Runs, and the journal of their calls by the names that [`super::journal`] gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Backup {
    pub format: String,
    pub version: u32,
    /// Milliseconds since the Unix epoch.
    pub written_ms: f64,
    pub runs: BTreeMap<String, Value>,
    pub journal: BTreeMap<String, Value>,
}

/// Why a file is no backup that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupError {
    #[error("{name} is no backup of IBA Lab: {why}")]
    Unreadable { name: String, why: String },
    #[error("{name} was written by a later release (version {version}); reload the page to get it")]
    Later { name: String, version: u32 },
}

impl Backup {
    /// From texts as they are stored, by key. What is no JSON is left out; it could not be read back.
    pub fn new(
        written_ms: f64,
        runs: Vec<(String, String)>,
        journal: Vec<(String, String)>,
    ) -> Self {
        let read = |all: Vec<(String, String)>| {
            let parsed = all.into_iter().filter_map(|(key, text)| {
                serde_json::from_str::<Value>(&text)
                    .ok()
                    .map(|value| (key, value))
            });
            parsed.collect()
        };
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            written_ms,
            runs: read(runs),
            journal: read(journal),
        }
    }

    /// Whether a file looks like one, by its first bytes.
    pub fn is_one(bytes: &[u8]) -> bool {
        let head = &bytes[..bytes.len().min(64)];
        String::from_utf8_lossy(head).contains(FORMAT)
    }

    pub fn write(&self) -> String {
        serde_json::to_string(self).expect("a backup has only string keys")
    }

    /// Reads a file. Runs that this release cannot read are dropped and counted.
    pub fn read(name: &str, bytes: &[u8]) -> Result<(Self, usize), BackupError> {
        let unreadable = |why: String| BackupError::Unreadable {
            name: name.to_owned(),
            why,
        };
        let mut backup: Self =
            serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        if backup.format != FORMAT {
            return Err(unreadable(format!("it calls itself {:?}", backup.format)));
        }
        if backup.version > VERSION {
            return Err(BackupError::Later {
                name: name.to_owned(),
                version: backup.version,
            });
        }
        let before = backup.runs.len();
        let readable = |run: &Value| serde_json::from_value::<RunRecord>(run.clone()).is_ok();
        backup.runs.retain(|_, run| readable(run));
        let dropped = before - backup.runs.len();
        Ok((backup, dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_comes_back_without_what_cannot_be_read() {
        let journal = vec![
            ("1:r/ab".to_owned(), r#"{"reply":{"text":"hi"}}"#.to_owned()),
            ("1:r/cd".to_owned(), "half of a rec".to_owned()),
        ];
        let runs = vec![("r".to_owned(), r#"{"id":"r"}"#.to_owned())];
        let text = Backup::new(7.0, runs, journal).write();
        assert!(Backup::is_one(text.as_bytes()));
        let (read, dropped) = Backup::read("b.json", text.as_bytes()).expect("a backup");
        assert_eq!(dropped, 1, "a run without its fields is none");
        assert_eq!(read.journal.len(), 1);
        assert_eq!(read.journal["1:r/ab"]["reply"]["text"], "hi");
    }

    #[test]
    fn other_files_are_refused_in_a_sentence() {
        let cases = [
            ("{}", "is no backup"),
            (
                r#"{"format":"other","version":1,"written_ms":0,"runs":{},"journal":{}}"#,
                "other",
            ),
            (
                r#"{"format":"iba-lab-backup","version":9,"written_ms":0,"runs":{},"journal":{}}"#,
                "later release",
            ),
            ("", "is no backup"),
        ];
        for (text, says) in cases {
            let error = Backup::read("x.json", text.as_bytes()).expect_err(text);
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
