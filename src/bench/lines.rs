//! Plain bytes to lines of text, piece by piece. Only LF and CRLF end a line, so U+2028 and its
//! kin within a JSON string stay where they are; a byte-order mark and blank lines are skipped.

use super::error::DataError;

/// Cuts a file into lines.
pub struct Lines {
    place: String,
    pending: Vec<u8>,
    /// Number of the last line given out, from 1.
    number: u32,
    /// Whether a line that is not blank was given out: a web page may begin with blank ones.
    begun: bool,
}

impl Lines {
    pub fn new(place: &str) -> Self {
        Self {
            place: place.to_owned(),
            pending: Vec::new(),
            number: 0,
            begun: false,
        }
    }

    /// Takes the next piece and calls `each` with number and text of every line it completes.
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(u32, &str)) -> Result<(), DataError> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.pending.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            self.give(each)?;
        }
        self.pending.extend_from_slice(rest);
        Ok(())
    }

    /// Gives out the last line, which needs no line end. Returns how many lines the file had.
    pub fn finish(mut self, each: &mut dyn FnMut(u32, &str)) -> Result<u32, DataError> {
        if !self.pending.is_empty() {
            self.give(each)?;
        }
        Ok(self.number)
    }

    fn give(&mut self, each: &mut dyn FnMut(u32, &str)) -> Result<(), DataError> {
        self.number += 1;
        let line = std::mem::take(&mut self.pending);
        let text = if self.number == 1 {
            opening(&self.place, &line)?
        } else {
            decode(&self.place, self.number, &line)?
        };
        let text = text.strip_suffix('\r').unwrap_or(text);
        if !text.trim().is_empty() {
            if !self.begun {
                refuse_html(&self.place, text.as_bytes())?;
            }
            self.begun = true;
            each(self.number, text);
        }
        Ok(())
    }
}

/// The beginning of a file as text, without its byte-order mark; names what is no data at all.
pub fn opening<'a>(place: &str, bytes: &'a [u8]) -> Result<&'a str, DataError> {
    if looks_like_utf16(bytes) {
        return Err(DataError::Utf16 {
            place: place.to_owned(),
        });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    refuse_html(place, bytes)?;
    decode(place, 1, bytes)
}

/// Names a web page that came in a file's stead.
pub fn refuse_html(place: &str, bytes: &[u8]) -> Result<(), DataError> {
    if looks_like_html(bytes) {
        return Err(DataError::Html {
            place: place.to_owned(),
        });
    }
    Ok(())
}

fn decode<'a>(place: &str, line: u32, bytes: &'a [u8]) -> Result<&'a str, DataError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes[..error.valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        DataError::NotUtf8 {
            place: place.to_owned(),
            line: line + before as u32,
        }
    })
}

fn looks_like_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe])
        || bytes.starts_with(&[0xfe, 0xff])
        || bytes.iter().take(4).any(|byte| *byte == 0)
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start: Vec<u8> = bytes
        .trim_ascii_start()
        .iter()
        .take(9)
        .map(u8::to_ascii_lowercase)
        .collect();
    [
        b"<!doctype".as_slice(),
        b"<html",
        b"<head",
        b"<body",
        b"<!--",
    ]
    .iter()
    .any(|tag| start.starts_with(tag))
}
