//! SHA-256 of files, against what the manifest says.

use super::error::DataError;
use super::limits::FileKind;
use super::lines;
use super::manifest::FileRef;
use super::unpack;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Lower-case hex SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of bytes that come in pieces.
#[derive(Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Lower-case hex.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Whether bytes are the file the manifest means: as stored, or as a host that unpacked or packed
/// it on the way delivers it. The error names both hashes and what to do.
pub fn check(kind: FileKind, file: &FileRef, bytes: &[u8]) -> Result<(), DataError> {
    let found = sha256_hex(bytes);
    if found == file.sha256 {
        return Ok(());
    }
    // A web page or a cut file differs as well; the cause says more than two hashes do.
    let plain = unpack::unpack(&file.path, bytes, kind.unpacked())?;
    if file
        .unpacked_sha256
        .as_ref()
        .is_some_and(|hash| *hash == sha256_hex(&plain))
    {
        return Ok(());
    }
    lines::refuse_html(&file.path, &plain)?;
    Err(DataError::HashMismatch {
        place: file.path.clone(),
        found,
        expected: file.sha256.clone(),
    })
}

fn hex(digest: &[u8]) -> String {
    digest
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From FIPS 180-4's examples.
    #[test]
    fn published_vectors() {
        let cases = [
            (
                "",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(sha256_hex(text.as_bytes()), want);
            let mut hasher = Hasher::default();
            text.bytes().for_each(|byte| hasher.push(&[byte]));
            assert_eq!(hasher.finish(), want);
        }
    }
}
