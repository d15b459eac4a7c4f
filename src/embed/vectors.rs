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

const HEADER: usize = 16;
const SPAN: usize = 12;
const SCALE: usize = 4;

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
        Self {
            dim,
            ..Self::default()
        }
    }

    /// Quantises `vector`, which has `dim` components, and appends it.
    pub fn push(&mut self, span: ChunkSpan, vector: &[f32]) {
        debug_assert_eq!(vector.len(), self.dim as usize);
        self.spans.push(span);
        self.scales.push(quantise(vector, &mut self.rows));
    }

    /// Appends a row that is quantised already.
    pub fn push_row(&mut self, span: ChunkSpan, scale: f32, row: &[i8]) {
        debug_assert_eq!(row.len(), self.dim as usize);
        self.spans.push(span);
        self.scales.push(scale);
        self.rows.extend(row);
    }

    /// The bytes as documented above.
    pub fn encode(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(HEADER + self.spans.len() * (SPAN + SCALE) + self.rows.len());
        out.extend(MAGIC);
        for number in [VERSION, self.dim, self.spans.len() as u32] {
            out.extend(number.to_le_bytes());
        }
        for number in self.spans.iter().flat_map(|s| [s.session, s.start, s.end]) {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.scales.iter().flat_map(|scale| scale.to_le_bytes()));
        out.extend(self.rows.iter().map(|byte| *byte as u8));
        out
    }

    /// Reads the bytes back; every count is checked against the length first.
    pub fn decode(bytes: &[u8]) -> Result<Self, EmbedError> {
        let (dim, count) = read_header(bytes)?;
        let (spans, rest) = bytes[HEADER..].split_at(count * SPAN);
        let (scales, rows) = rest.split_at(count * SCALE);
        let scales: Vec<f32> = scales
            .chunks_exact(SCALE)
            .map(|b| f32::from_bits(number(b)))
            .collect();
        if let Some(row) = scales.iter().position(|scale| !scale.is_finite()) {
            return refuse(format!("the scale of row {row} is not a number"));
        }
        Ok(Self {
            dim,
            spans: spans.chunks_exact(SPAN).map(read_span).collect(),
            scales,
            rows: rows.iter().map(|byte| *byte as i8).collect(),
        })
    }

    /// The `index`-th vector as floats.
    pub fn vector(&self, index: usize) -> Vec<f32> {
        let dim = self.dim as usize;
        let row = &self.rows[index * dim..(index + 1) * dim];
        row.iter()
            .map(|byte| f32::from(*byte) * self.scales[index])
            .collect()
    }
}

/// Appends `vector` as bytes to `out` and returns the scale that turns them back.
pub fn quantise(vector: &[f32], out: &mut Vec<i8>) -> f32 {
    let largest = vector.iter().fold(0f32, |most, x| most.max(x.abs()));
    let scale = largest / 127.0;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    out.extend(vector.iter().map(|x| (x * inverse).round() as i8));
    scale
}

/// Dimension and count, once it is certain that the file is as long as they say.
fn read_header(bytes: &[u8]) -> Result<(u32, usize), EmbedError> {
    if !bytes.starts_with(&MAGIC) {
        return refuse("it does not begin with IBAV, so it is some other kind of file".to_owned());
    }
    if bytes.len() < HEADER {
        return refuse(format!(
            "it ends within its header, after {} bytes",
            bytes.len()
        ));
    }
    let [version, dim, count] = [4, 8, 12].map(|at| number(&bytes[at..at + 4]));
    if version != VERSION {
        return refuse(format!(
            "its version is {version}, and this program reads version {VERSION}"
        ));
    }
    if dim == 0 {
        return refuse("its vectors have no components".to_owned());
    }
    // In u128 no two u32 factors can overflow, whatever the header claims.
    let expected =
        HEADER as u128 + u128::from(count) * (SPAN as u128 + SCALE as u128 + u128::from(dim));
    if bytes.len() as u128 != expected {
        let found = bytes.len();
        return refuse(format!(
            "{count} vectors of {dim} components take {expected} bytes, but it has {found}"
        ));
    }
    Ok((dim, count as usize))
}

fn read_span(bytes: &[u8]) -> ChunkSpan {
    let [session, start, end] = [0, 4, 8].map(|at| number(&bytes[at..at + 4]));
    ChunkSpan {
        session,
        start,
        end,
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("callers pass four bytes"))
}

fn refuse<T>(why: String) -> Result<T, EmbedError> {
    Err(EmbedError::Vectors { why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> VectorFile {
        let mut file = VectorFile::new(2);
        file.push(
            ChunkSpan {
                session: 0,
                start: 0,
                end: 9,
            },
            &[0.6, -0.8],
        );
        file.push(
            ChunkSpan {
                session: 1,
                start: 258,
                end: 70_000,
            },
            &[0.0, 0.0],
        );
        file
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut expected = b"IBAV\x01\0\0\0\x02\0\0\0\x02\0\0\0".to_vec();
        expected.extend(b"\0\0\0\0\0\0\0\0\x09\0\0\0\x01\0\0\0\x02\x01\0\0\x70\x11\x01\0");
        expected.extend((0.8f32 / 127.0).to_le_bytes());
        expected.extend(0f32.to_le_bytes());
        expected.extend([95, (-127i8) as u8, 0, 0]); // 0.6 / 0.8 × 127 = 95.25
        assert_eq!(sample().encode(), expected);
        assert_eq!(VectorFile::decode(&expected).unwrap(), sample());
    }

    #[test]
    fn a_component_is_off_by_half_a_step_at_most() {
        let vector: Vec<f32> = (0..384).map(|i| (i as f32 * 0.7).sin() / 14.0).collect();
        let mut file = VectorFile::new(384);
        file.push(
            ChunkSpan {
                session: 0,
                start: 0,
                end: 1,
            },
            &vector,
        );
        let half = file.scales[0] * 0.5001;
        assert!(
            vector
                .iter()
                .zip(file.vector(0))
                .all(|(a, b)| (a - b).abs() <= half)
        );
    }

    #[test]
    fn broken_files_say_what_is_wrong() {
        let whole = sample().encode();
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            bytes
        };
        for (bytes, part) in [
            (b"<!doctype html>".to_vec(), "some other kind"),
            (Vec::new(), "some other kind"),
            (whole[..10].to_vec(), "within its header, after 10 bytes"),
            (
                whole[..whole.len() - 1].to_vec(),
                "take 52 bytes, but it has 51",
            ),
            (with(4, 9), "its version is 9"),
            (with(8, 0), "no components"),
            (with(15, 0xff), "4278190082 vectors of 2 components"),
            (with(43, 0x7f), "the scale of row 0 is not a number"),
        ] {
            let error = VectorFile::decode(&bytes).unwrap_err().to_string();
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
    }
}
