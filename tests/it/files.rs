//! Files of the repository, for all native tests.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A path within the repository.
pub fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

pub fn json_file(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files of one kind of IBA-Mini's source (`instances`, `scenarios`, `personas`), by id.
pub fn sources(kind: &str) -> BTreeMap<String, Value> {
    let dir = path("public/sources/iba-mini").join(kind);
    let files = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let files = files.map(|entry| json_file(entry.unwrap().path()));
    files
        .map(|x| (x["id"].as_str().unwrap().to_owned(), x))
        .collect()
}
