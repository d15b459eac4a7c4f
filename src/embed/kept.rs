//! Vectors of texts embedded before, by the hash of the text: the same chunk is never embedded
//! twice, in whichever dataset or version of it it stands.
//!
//! As a file, little-endian: magic `IBAT`, version, components, number of texts, each u32; then for
//! each text its SHA-256, its scale (f32) and its row of signed bytes, the oldest first. A vector that
//! was paid for is a record of its own instead, [`TextVector`].

use super::vectors::quantise;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

const MAGIC: [u8; 4] = *b"IBAT";
const VERSION: u32 = 1;
const HEADER: usize = 16;
const HASH: usize = 32;
/// Texts kept; the oldest make room. More than a dataset of the paper's size has passages; some forty
/// megabytes for 384 components.
const MOST: usize = 100_000;

/// Hash of a text.
pub type TextHash = [u8; HASH];

/// What names a text here.
pub fn hash(text: &str) -> TextHash {
    Sha256::digest(text).into()
}

/// Quantised vectors of texts of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct TextVectors {
    dim: usize,
    /// In the order in which they came.
    hashes: Vec<TextHash>,
    scales: Vec<f32>,
    rows: Vec<i8>,
    places: HashMap<TextHash, usize>,
}

impl TextVectors {
    /// Nothing yet; vectors of `dim` components.
    pub fn new(dim: u32) -> Self {
        Self {
            dim: dim as usize,
            hashes: Vec::new(),
            scales: Vec::new(),
            rows: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Components of a vector.
    pub fn dim(&self) -> u32 {
        self.dim as u32
    }

    /// Scale and row of a text.
    pub fn get(&self, hash: &TextHash) -> Option<(f32, &[i8])> {
        let place = *self.places.get(hash)?;
        let row = &self.rows[place * self.dim..(place + 1) * self.dim];
        Some((self.scales[place], row))
    }

    /// Keeps the vector of a text that is not known yet.
    pub fn insert(&mut self, hash: TextHash, vector: &[f32]) {
        if vector.len() != self.dim || self.places.contains_key(&hash) {
            return;
        }
        let scale = quantise(vector, &mut self.rows);
        self.add(hash, scale);
    }

    /// Takes over what the other one has and this one has not.
    pub fn take_in(&mut self, other: &Self) {
        for hash in &other.hashes {
            if let Some((scale, row)) = other.get(hash)
                && row.len() == self.dim
                && !self.places.contains_key(hash)
            {
                self.rows.extend_from_slice(row);
                self.add(*hash, scale);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Takes the hash of the row that was just appended.
    fn add(&mut self, hash: TextHash, scale: f32) {
        self.places.insert(hash, self.hashes.len());
        self.hashes.push(hash);
        self.scales.push(scale);
    }

    /// The file, with the latest texts only where there are too many.
    pub fn encode(&self) -> Vec<u8> {
        let first = self.len().saturating_sub(MOST);
        let mut out = Vec::with_capacity(HEADER + (self.len() - first) * (HASH + 4 + self.dim));
        out.extend(MAGIC);
        for number in [VERSION, self.dim as u32, (self.len() - first) as u32] {
            out.extend(number.to_le_bytes());
        }
        for place in first..self.len() {
            out.extend(self.hashes[place]);
            out.extend(self.scales[place].to_le_bytes());
            let row = &self.rows[place * self.dim..(place + 1) * self.dim];
            out.extend(row.iter().map(|byte| *byte as u8));
        }
        out
    }

    /// Reads a file of vectors with `dim` components; anything else is as good as none.
    pub fn decode(bytes: &[u8], dim: u32) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(HEADER)?;
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| header[at + n]));
        let record = HASH + 4 + dim as usize;
        let fits = header.starts_with(&MAGIC)
            && number(4) == VERSION
            && number(8) == dim
            && rest.len() == number(12) as usize * record;
        if !fits {
            return None;
        }
        let mut out = Self::new(dim);
        for record in rest.chunks_exact(record) {
            let (hash, rest) = record.split_first_chunk::<HASH>()?;
            let (scale, row) = rest.split_first_chunk::<4>()?;
            let scale = f32::from_le_bytes(*scale);
            if scale.is_finite() && !out.places.contains_key(hash) {
                out.rows.extend(row.iter().map(|byte| *byte as i8));
                out.add(*hash, scale);
            }
        }
        Some(out)
    }
}

/// The vector of one text as a record of its own: nothing else has to be written again when one more
/// comes, and none makes room for another.
///
/// As bytes: version (u8), whether the text was cut (u8), scale (f32, little-endian), the row.
#[derive(Clone, Debug, PartialEq)]
pub struct TextVector {
    pub scale: f32,
    pub row: Vec<i8>,
    /// The text was longer than the model reads; the rest of it is not in here.
    pub cut: bool,
}

impl TextVector {
    /// Quantises a vector.
    pub fn of(vector: &[f32], cut: bool) -> Self {
        let mut row = Vec::with_capacity(vector.len());
        let scale = quantise(vector, &mut row);
        Self { scale, row, cut }
    }

    pub fn dim(&self) -> usize {
        self.row.len()
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION as u8, u8::from(self.cut)];
        out.extend(self.scale.to_le_bytes());
        out.extend(self.row.iter().map(|byte| *byte as u8));
        out
    }

    /// Anything that is no such record is as good as none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let ([version, cut], rest) = bytes.split_first_chunk()?;
        let (scale, row) = rest.split_first_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        let fits = u32::from(*version) == VERSION && *cut < 2 && scale.is_finite();
        (fits && !row.is_empty()).then(|| Self {
            scale,
            row: row.iter().map(|byte| *byte as i8).collect(),
            cut: *cut == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        // 0.6 / 0.8 × 127 = 95.25.
        let kept = TextVector::of(&[0.6, -0.8], true);
        let mut bytes = vec![1, 1];
        bytes.extend((0.8f32 / 127.0).to_le_bytes());
        bytes.extend([95, (-127i8) as u8]);
        assert_eq!(kept.encode(), bytes);
        assert_eq!(TextVector::decode(&bytes), Some(kept));
        for end in 0..7 {
            assert_eq!(TextVector::decode(&bytes[..end]), None, "cut at {end}");
        }
        bytes[0] = 2;
        assert_eq!(TextVector::decode(&bytes), None, "another version");
    }

    #[test]
    fn a_text_is_found_again_after_a_visit() {
        let mut kept = TextVectors::new(2);
        kept.insert(hash("a"), &[0.6, -0.8]);
        kept.insert(hash("b"), &[0.0, 1.0]);
        kept.insert(hash("a"), &[1.0, 0.0]); // known: the first one stays
        let again = TextVectors::decode(&kept.encode(), 2).unwrap();
        assert_eq!(again, kept);
        let (scale, row) = again.get(&hash("a")).unwrap();
        assert_eq!((scale, row), (0.8 / 127.0, &[95i8, -127][..]));
        assert_eq!(again.get(&hash("c")), None);
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn what_two_visits_made_is_put_together() {
        let mut known = TextVectors::new(2);
        known.insert(hash("a"), &[0.6, -0.8]);
        let mut left = TextVectors::new(2);
        left.insert(hash("a"), &[1.0, 0.0]);
        left.insert(hash("b"), &[0.0, 1.0]);
        known.take_in(&left);
        assert_eq!(known.len(), 2);
        let row = |text| known.get(&hash(text)).map(|(_, row)| row.to_vec());
        assert_eq!(row("a"), Some(vec![95, -127]), "the first one stays");
        assert_eq!(row("b"), Some(vec![0, 127]));
        let mut other = TextVectors::new(1);
        other.insert(hash("c"), &[1.0]);
        known.take_in(&other);
        assert_eq!(known.len(), 2, "another model's");
    }

    #[test]
    fn files_of_other_kinds_count_for_nothing() {
        let mut kept = TextVectors::new(2);
        kept.insert(hash("a"), &[0.6, -0.8]);
        let bytes = kept.encode();
        assert_eq!(TextVectors::decode(&bytes, 3), None, "another model's");
        for end in 0..bytes.len() {
            assert_eq!(TextVectors::decode(&bytes[..end], 2), None, "cut at {end}");
        }
    }

    #[test]
    fn the_oldest_make_room() {
        let mut kept = TextVectors::new(1);
        for n in 0..MOST + 5 {
            kept.insert(hash(&n.to_string()), &[1.0]);
        }
        let again = TextVectors::decode(&kept.encode(), 1).unwrap();
        assert_eq!(again.len(), MOST);
        assert_eq!(again.get(&hash("4")), None);
        assert!(again.get(&hash("5")).is_some());
    }
}
