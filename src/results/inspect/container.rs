//! Bytes to text: gzip, byte-order marks, and files that are something else.

use crate::results::ResultsError;
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// More than this a tab cannot hold as text and as rows.
const LIMIT: u64 = 512 << 20;

/// The JSON text within a result file, whatever its packing.
pub fn text(bytes: &[u8], name: &str) -> Result<String, ResultsError> {
    let file = || name.to_owned();
    if bytes.is_empty() {
        return Err(ResultsError::Empty { file: file() });
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Err(ResultsError::EvalArchive { file: file() });
    }
    let bytes = match bytes.starts_with(&[0x1f, 0x8b]) {
        true => gunzip(bytes, name, LIMIT)?,
        false => bytes.to_vec(),
    };
    let text = decode(bytes, name)?;
    match text.trim_start().as_bytes().first() {
        None => Err(ResultsError::Empty { file: file() }),
        Some(b'<') => Err(ResultsError::Html { file: file() }),
        Some(_) => Ok(text),
    }
}

/// All members of a gzip file, up to `limit` bytes.
fn gunzip(bytes: &[u8], name: &str, limit: u64) -> Result<Vec<u8>, ResultsError> {
    let mut out = Vec::new();
    let read = MultiGzDecoder::new(bytes)
        .take(limit + 1)
        .read_to_end(&mut out);
    read.map_err(|why| ResultsError::Gzip {
        file: name.to_owned(),
        why: why.to_string(),
    })?;
    if out.len() as u64 > limit {
        return Err(ResultsError::TooLarge {
            file: name.to_owned(),
            limit_mb: limit >> 20,
        });
    }
    Ok(out)
}

fn decode(mut bytes: Vec<u8>, name: &str) -> Result<String, ResultsError> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| ResultsError::NotText {
        file: name.to_owned(),
        byte: error.utf8_error().valid_up_to(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(text: &str) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn members_are_joined_and_marks_dropped() {
        let two = [gzip("{\"a\":"), gzip("1}")].concat();
        assert_eq!(text(&two, "x").unwrap(), "{\"a\":1}");
        assert_eq!(text(b"\xef\xbb\xbf{}", "x").unwrap(), "{}");
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let zeros = gzip(&"0".repeat(4 << 20));
        let error = gunzip(&zeros, "x", 1 << 20).unwrap_err();
        assert_eq!(
            error,
            ResultsError::TooLarge {
                file: "x".into(),
                limit_mb: 1
            }
        );
    }

    #[test]
    fn what_is_no_text_is_named() {
        let short = &gzip("{\"a\": 1, \"b\": [1, 2, 3]}")[..20];
        let cases: [(&[u8], &str); 6] = [
            (b"", "x is empty"),
            (b"  \n", "x is empty"),
            (b"<!doctype html><p>404", "x is a web page"),
            (b"PK\x03\x04....", "x is an .eval archive"),
            (b"{\"a\": \"\xff\"}", "x is not UTF-8 text from byte 7"),
            (short, "x cannot be unpacked"),
        ];
        for (bytes, expected) in cases {
            let error = text(bytes, "x").unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
