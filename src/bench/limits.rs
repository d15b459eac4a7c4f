//! How large a dataset's files may be; checked before anything is read.

use super::error::DataError;

const MIB: u64 = 1 << 20;

/// The files of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Manifest,
    Index,
    Dimensions,
    Shard,
    Vectors,
    Graph,
}

impl FileKind {
    /// Name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Manifest => "manifest",
            FileKind::Index => "index",
            FileKind::Dimensions => "dimensions file",
            FileKind::Shard => "shard",
            FileKind::Vectors => "vector file",
            FileKind::Graph => "graph file",
        }
    }

    /// Largest size as stored, in bytes.
    pub fn stored(self) -> u64 {
        match self {
            FileKind::Manifest => 8 * MIB,
            FileKind::Index | FileKind::Dimensions => 32 * MIB,
            FileKind::Shard => 64 * MIB,
            FileKind::Vectors | FileKind::Graph => 256 * MIB,
        }
    }

    /// Largest size after gunzip, in bytes.
    pub fn unpacked(self) -> u64 {
        match self {
            FileKind::Manifest => 16 * MIB,
            FileKind::Index | FileKind::Dimensions => 128 * MIB,
            FileKind::Shard | FileKind::Vectors | FileKind::Graph => 256 * MIB,
        }
    }
}

/// Refuses a file by its size alone; ask before reading it.
pub fn check(kind: FileKind, place: &str, bytes: u64) -> Result<(), DataError> {
    let limit = kind.stored();
    if bytes <= limit {
        return Ok(());
    }
    Err(DataError::TooLarge {
        place: place.to_owned(),
        what: kind.name(),
        bytes,
        limit,
    })
}
