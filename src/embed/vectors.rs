//! The vector file: unit vectors of all chunks of one shard, one signed byte a component.
//!
//! Little-endian throughout:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | magic `IBAV` |
//! | 4 | version, u32, now 1 |
//! | 4 | `dim`, u32: components of a vector |
//! | 4 | `count`, u32: number of chunks |
//! | 12 × count | spans: session index, first byte, end byte, each u32 |
//! | 4 × count | scales, f32: component = byte × scale |
//! | dim × count | rows, i8, one after the other |

use super::{ChunkSpan, EmbedError};

/// First bytes of a vector file.
pub const MAGIC: [u8; 4] = *b"IBAV";
/// Version of the layout above.
pub const VERSION: u32 = 1;

/// Quantised unit vectors and where their texts lie.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorFile {
    pub dim: u32,
    pub spans: Vec<ChunkSpan>,
    /// One for each row.
    pub scales: Vec<f32>,
    /// `dim` bytes for each span.
    pub rows: Vec<i8>,
}

impl VectorFile {
    /// An empty file for vectors of `dim` components.
    pub fn new(dim: u32) -> Self {
        todo!()
    }

    /// Quantises `vector` and appends it.
    pub fn push(&mut self, span: ChunkSpan, vector: &[f32]) {
        todo!()
    }

    /// The bytes as documented above.
    pub fn encode(&self) -> Vec<u8> {
        todo!()
    }

    /// Reads the bytes back; every count is checked against the length first.
    pub fn decode(bytes: &[u8]) -> Result<Self, EmbedError> {
        todo!()
    }

    /// The `index`-th vector as floats.
    pub fn vector(&self, index: usize) -> Vec<f32> {
        todo!()
    }
}
