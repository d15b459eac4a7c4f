//! Bytes as fetched to plain bytes, piece by piece. Whether they are gzip is decided by their first
//! bytes, never by a name or a header: a host may have unpacked a file already, or packed it twice.

use super::error::DataError;
use flate2::write::GzDecoder;
use std::io::{self, Write};

/// A file may be packed this many times: by the builder, and once more by a host.
const MAX_LAYERS: u8 = 2;
/// Input handed to the decoder at once, so that the size limit is looked at often.
const SLICE: usize = 16 * 1024;

/// Removes up to two layers of gzip, each of any number of members.
pub struct Unpacker {
    place: String,
    limit: u64,
    layer: Layer,
    depth: u8,
}

enum Layer {
    /// Too few bytes so far to tell gzip from plain text.
    Undecided(Vec<u8>),
    Plain {
        passed: u64,
    },
    Gzip {
        members: Box<Members>,
        inner: Box<Unpacker>,
    },
}

impl Unpacker {
    /// `limit` is the largest size of the unpacked data, in bytes.
    pub fn new(place: &str, limit: u64) -> Self {
        Self::at_depth(place, limit, 0)
    }

    fn at_depth(place: &str, limit: u64, depth: u8) -> Self {
        Self {
            place: place.to_owned(),
            limit,
            layer: Layer::Undecided(Vec::new()),
            depth,
        }
    }

    /// Takes the next piece and appends what it unpacks to.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DataError> {
        for slice in bytes.chunks(SLICE) {
            self.push_slice(slice, out)?;
        }
        Ok(())
    }

    /// Says that the last piece was pushed.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), DataError> {
        match &mut self.layer {
            Layer::Undecided(start) => out.append(start),
            Layer::Plain { .. } => {}
            Layer::Gzip { members, .. } => {
                let mut rest = Vec::new();
                members.finish(&self.place, &mut rest)?;
                let Layer::Gzip { mut inner, .. } = self.layer else {
                    return Ok(());
                };
                inner.push(&rest, out)?;
                inner.finish(out)?;
            }
        }
        Ok(())
    }

    fn push_slice(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DataError> {
        match &mut self.layer {
            Layer::Undecided(start) => {
                start.extend_from_slice(bytes);
                if start.len() < 2 {
                    return Ok(());
                }
                let start = std::mem::take(start);
                self.decide(&start)?;
                self.push(&start, out)
            }
            Layer::Plain { passed } => {
                *passed += bytes.len() as u64;
                if *passed > self.limit {
                    return Err(self.bomb());
                }
                out.extend_from_slice(bytes);
                Ok(())
            }
            Layer::Gzip { members, inner } => {
                let mut unpacked = Vec::new();
                members.push(&self.place, bytes, &mut unpacked)?;
                inner.push(&unpacked, out)
            }
        }
    }

    fn decide(&mut self, start: &[u8]) -> Result<(), DataError> {
        if !is_gzip(start) {
            self.layer = Layer::Plain { passed: 0 };
            return Ok(());
        }
        if self.depth == MAX_LAYERS {
            return Err(DataError::TooManyLayers {
                place: self.place.clone(),
                layers: MAX_LAYERS,
            });
        }
        let inner = Unpacker::at_depth(&self.place, self.limit, self.depth + 1);
        self.layer = Layer::Gzip {
            members: Box::new(Members::new(self.limit)),
            inner: Box::new(inner),
        };
        Ok(())
    }

    fn bomb(&self) -> DataError {
        DataError::Bomb {
            place: self.place.clone(),
            limit: self.limit,
        }
    }
}

/// Whether bytes begin like a gzip member.
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Unpacks a whole file at once.
pub fn unpack(place: &str, bytes: &[u8], limit: u64) -> Result<Vec<u8>, DataError> {
    let mut out = Vec::new();
    let mut unpacker = Unpacker::new(place, limit);
    unpacker.push(bytes, &mut out)?;
    unpacker.finish(&mut out)?;
    Ok(out)
}

/// One layer: gzip members one after the other, zero padding allowed between and after them.
struct Members {
    /// `None` between two members.
    member: Option<GzDecoder<Sink>>,
    limit: u64,
    written: u64,
}

impl Members {
    fn new(limit: u64) -> Self {
        let first = GzDecoder::new(Sink::new(limit));
        Self {
            member: Some(first),
            limit,
            written: 0,
        }
    }

    fn push(&mut self, place: &str, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DataError> {
        while !bytes.is_empty() {
            let Some(member) = &mut self.member else {
                bytes = self.next_member(place, bytes)?;
                continue;
            };
            let taken = member
                .write(bytes)
                .map_err(|error| failure(place, self.limit, &error))?;
            bytes = &bytes[taken..];
            // Nothing taken of a non-empty input: the member's checksum is complete.
            if taken == 0 {
                self.close_member(place, out)?;
            }
        }
        if let Some(member) = &mut self.member {
            self.written += drain(member, out);
        }
        Ok(())
    }

    fn next_member<'a>(&mut self, place: &str, bytes: &'a [u8]) -> Result<&'a [u8], DataError> {
        match bytes[0] {
            0 => Ok(&bytes[1..]),
            0x1f => {
                let left = self.limit.saturating_sub(self.written);
                self.member = Some(GzDecoder::new(Sink::new(left)));
                Ok(bytes)
            }
            _ => Err(DataError::TrailingGarbage {
                place: place.to_owned(),
            }),
        }
    }

    fn close_member(&mut self, place: &str, out: &mut Vec<u8>) -> Result<(), DataError> {
        let Some(mut member) = self.member.take() else {
            return Ok(());
        };
        member
            .try_finish()
            .map_err(|error| failure(place, self.limit, &error))?;
        self.written += drain(&mut member, out);
        Ok(())
    }

    fn finish(&mut self, place: &str, out: &mut Vec<u8>) -> Result<(), DataError> {
        let Some(member) = &mut self.member else {
            return Ok(());
        };
        // A complete member takes no further byte; one that does was cut off.
        match member.write(&[0]) {
            Ok(0) => self.close_member(place, out),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err(failure(place, self.limit, &error))
            }
            _ => Err(DataError::Truncated {
                place: place.to_owned(),
            }),
        }
    }
}

fn drain(member: &mut GzDecoder<Sink>, out: &mut Vec<u8>) -> u64 {
    let sink = member.get_mut();
    let count = sink.bytes.len() as u64;
    out.append(&mut sink.bytes);
    count
}

fn failure(place: &str, limit: u64, error: &io::Error) -> DataError {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return DataError::Bomb {
            place: place.to_owned(),
            limit,
        };
    }
    DataError::Damaged {
        place: place.to_owned(),
        reason: error.to_string(),
    }
}

/// Keeps what a member unpacks to and refuses more than is left of the limit.
struct Sink {
    bytes: Vec<u8>,
    left: u64,
}

impl Sink {
    fn new(left: u64) -> Self {
        Self {
            bytes: Vec::new(),
            left,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.left = left;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
