//! Run records to result files.

use crate::results::ResultsError;
use crate::run::record::RunRecord;

/// What a file needs that no record has.
#[derive(Clone, Debug, PartialEq)]
pub struct FileMeta {
    /// Unique id of the file; part of its name.
    pub id: String,
    /// Milliseconds since the Unix epoch.
    pub created_ms: f64,
}

/// One result file in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalLog {
    stem: String,
    text: String,
}

impl EvalLog {
    /// `YYYY-MM-DDTHH-MM-SS_<task>_<system>_<id>.json`, or `.json.gz`.
    pub fn file_name(&self, gzip: bool) -> String {
        format!("{}.json{}", self.stem, if gzip { ".gz" } else { "" })
    }

    /// The file as JSON; unscored verdicts are bare `NaN`, as Inspect writes them.
    pub fn json(&self) -> &str {
        &self.text
    }

    /// The file as gzip'd JSON; equal records give equal bytes.
    pub fn json_gz(&self) -> Vec<u8> {
        todo!()
    }
}

/// One file; fails when the records are of several systems, models or parameter sets.
pub fn write(_records: &[RunRecord], _meta: &FileMeta) -> Result<EvalLog, ResultsError> {
    todo!()
}

/// One file for each system, model, dataset and set of parameters among the records.
pub fn group(_records: &[RunRecord], _meta: &FileMeta) -> Vec<EvalLog> {
    todo!()
}
