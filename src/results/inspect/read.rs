//! Result files to rows, whoever wrote them.

use crate::results::{Notice, ResultFile, ResultsError};

/// Reads JSON or gzip'd JSON. `name` is the file's name, for error messages.
pub fn read(_bytes: &[u8], _name: &str) -> Result<(ResultFile, Vec<Notice>), ResultsError> {
    todo!()
}
