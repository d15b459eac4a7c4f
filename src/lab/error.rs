//! What can stop a command, in sentences.

use crate::bench::error::{DataError, Fault};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("could not {action} {}: {error}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{}", .0.sentence())]
    Data(#[from] DataError),
    #[error("{}", listed(.0))]
    Findings(Vec<Finding>),
    #[error("{0}")]
    Refused(String),
}

impl LabError {
    /// Adds what was tried on which file.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io {
            action,
            path,
            error,
        }
    }
}

/// A fault in one file of a source or dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path relative to the folder.
    pub file: String,
    pub fault: Fault,
}

impl Finding {
    pub fn new(file: &str, field: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            fault: Fault::of(field, text),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.fault)
    }
}

fn listed(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    format!(
        "{}\n{} faults; correct the source and run it again",
        lines.join("\n"),
        findings.len()
    )
}
