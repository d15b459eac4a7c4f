//! What can be wrong with a dataset's files, in sentences: what was read, where, why, and what to
//! do next.

use std::fmt;

/// Faults of one file that are printed; the others are counted.
const SHOWN: usize = 20;

/// A file that could not be used. Nothing that was loaded before is changed by it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DataError {
    #[error("{place}: {bytes} bytes is more than the {limit} bytes allowed for this {what}")]
    TooLarge {
        place: String,
        what: &'static str,
        bytes: u64,
        limit: u64,
    },
    #[error("{place}: unpacks to more than {limit} bytes, so it was not read to its end")]
    Bomb { place: String, limit: u64 },
    #[error("{place}: the gzip data ends too early, so the file is incomplete")]
    Truncated { place: String },
    #[error("{place}: the gzip data is damaged ({reason})")]
    Damaged { place: String, reason: String },
    #[error("{place}: something that is no gzip member follows the gzip data")]
    TrailingGarbage { place: String },
    #[error("{place}: is packed with gzip more than {layers} times")]
    TooManyLayers { place: String, layers: u8 },
    #[error("{place}: is a web page (HTML), not data")]
    Html { place: String },
    #[error("{place}: is UTF-16 text; datasets are UTF-8")]
    Utf16 { place: String },
    #[error("{place}: line {line} is not UTF-8 text")]
    NotUtf8 { place: String, line: u32 },
    #[error("{place}: is empty")]
    Empty { place: String },
    #[error("{place}: is {found}; expected {expected}")]
    WrongFormat {
        place: String,
        found: String,
        expected: String,
    },
    #[error("{place}: has version {found} of the format; this program reads version {expected}")]
    WrongVersion {
        place: String,
        found: String,
        expected: u32,
    },
    #[error("{place}: SHA-256 is {found}, but the manifest says {expected}")]
    HashMismatch {
        place: String,
        found: String,
        expected: String,
    },
    #[error("{place}: {}", list(faults))]
    Faulty { place: String, faults: Vec<Fault> },
}

impl DataError {
    /// What the reader can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            DataError::TooLarge { .. } | DataError::Bomb { .. } => {
                "Check that it is the right file; a dataset this large has to be cut into more shards."
            }
            DataError::Truncated { .. } | DataError::Damaged { .. } => {
                "Load it again; if that does not help, the copy on the host is damaged and has to be uploaded anew."
            }
            DataError::TrailingGarbage { .. } => {
                "Something was appended on the way; upload the file anew in binary mode."
            }
            DataError::TooManyLayers { .. } => "Upload the file as `lab dataset build` wrote it.",
            DataError::Html { .. } => {
                "The host answered with a page, often its \"not found\" or log-in page; check the address of manifest.json and that the files beside it were uploaded."
            }
            DataError::Utf16 { .. } | DataError::NotUtf8 { .. } => {
                "Save the file as UTF-8 and load it again."
            }
            DataError::Empty { .. } => "Upload the file anew; the copy on the host holds nothing.",
            DataError::WrongFormat { .. } => {
                "Open the manifest.json of a dataset that `lab dataset build` wrote, or see FORMAT.md."
            }
            DataError::WrongVersion { .. } => {
                "Build the dataset again with the `lab` of this version, or open it in the version it was made for."
            }
            DataError::HashMismatch { .. } => {
                "The file and the manifest are not of the same build; reload without cache, or upload the whole folder anew."
            }
            DataError::Faulty { .. } => {
                "Correct the source and build again; `lab dataset validate` lists every fault."
            }
        }
    }

    /// The error and what to do about it, as one text.
    pub fn sentence(&self) -> String {
        format!("{self}. {}", self.hint())
    }
}

/// One thing that is wrong within a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line of a JSON Lines file, from 1.
    pub line: Option<u32>,
    /// Path of the field, for example `hidden.evidence[2].session`; empty when the whole line is meant.
    pub field: String,
    pub text: String,
}

impl Fault {
    /// A fault in a field of a line.
    pub fn at(line: u32, field: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            field: field.into(),
            text: text.into(),
        }
    }

    /// A fault in a field of a file that has no lines, or of no line in particular.
    pub fn of(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            line: None,
            field: field.into(),
            text: text.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.text)
    }
}

/// Something odd that did not keep the file from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub place: String,
    /// Line of a JSON Lines file, from 1.
    pub line: Option<u32>,
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}: line {line}: {}", self.place, self.text),
            None => write!(f, "{}: {}", self.place, self.text),
        }
    }
}

fn list(faults: &[Fault]) -> String {
    let mut shown: Vec<String> = faults.iter().take(SHOWN).map(Fault::to_string).collect();
    if faults.len() > SHOWN {
        shown.push(format!("and {} more faults", faults.len() - SHOWN));
    }
    shown.join("; ")
}
