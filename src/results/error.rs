//! Why a result file could not be written or read.

use thiserror::Error;

/// Each message says what was tried on which file and why it failed; [`ResultsError::hint`] says
/// what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResultsError {
    #[error("there is no run to write to a result file")]
    NothingToWrite,
    #[error(
        "one result file holds one system, model and set of parameters, and these runs have {groups}"
    )]
    Mixed { groups: usize },
    #[error("{file} is empty")]
    Empty { file: String },
    #[error("{file} cannot be unpacked: {why}")]
    Gzip { file: String, why: String },
    #[error("{file} unpacks to more than {limit_mb} MB, which is more than a tab can show")]
    TooLarge { file: String, limit_mb: u64 },
    #[error("{file} is a web page, not a result file")]
    Html { file: String },
    #[error("{file} is an .eval archive, and this page reads result files as JSON")]
    EvalArchive { file: String },
    #[error("{file} is not UTF-8 text from byte {byte} on")]
    NotText { file: String, byte: usize },
    #[error("{file} ends in the middle, at line {line}, column {column}")]
    Truncated {
        file: String,
        line: usize,
        column: usize,
    },
    #[error("{file} is not JSON at line {line}, column {column}: {why}")]
    NotJson {
        file: String,
        line: usize,
        column: usize,
        why: String,
    },
    #[error("{file} is JSON, but not an Inspect log: {why}")]
    NotALog { file: String, why: String },
    #[error("the paper's tables cannot be read: {why}")]
    Paper { why: String },
}

impl ResultsError {
    /// The next step, in a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NothingToWrite => "Run a system on an instance first.",
            Self::Mixed { .. } => "Write one file for each of them.",
            Self::Empty { .. } | Self::Gzip { .. } | Self::Truncated { .. } => {
                "The copy is probably incomplete: fetch or export the file again."
            }
            Self::TooLarge { .. } => "Split the log by samples before you open it.",
            Self::Html { .. } => {
                "The address probably leads to a page about the file, or to an error page; use the address of the raw file."
            }
            Self::EvalArchive { .. } => {
                "Convert it with `inspect log convert --to json --output-dir out FILE` and open the JSON file."
            }
            Self::NotText { .. } | Self::NotJson { .. } => {
                "Open a result file of this site, or an Inspect log in JSON (.json or .json.gz)."
            }
            Self::NotALog { .. } => {
                "A log has the fields `eval` and `samples`; data sets are opened from the start view."
            }
            Self::Paper { .. } => "The page works without them; reload it to try again.",
        }
    }
}
