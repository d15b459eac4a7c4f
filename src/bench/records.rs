//! JSON Lines, packed or not, to records of one type, piece by piece: what shards, the index and
//! the dimensions have in common.

use super::error::{DataError, Fault, Warning};
use super::json::{self, Warnings};
use super::limits::FileKind;
use super::lines::Lines;
use super::unpack::Unpacker;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// Faults kept for one file; a file of another kind would otherwise yield one a line.
const MAX_FAULTS: usize = 200;

/// Reads one file. Push its bytes in pieces of any size, then finish.
pub struct RecordReader<R> {
    place: String,
    unpacker: Unpacker,
    lines: Lines,
    notes: Notes,
    record: PhantomData<R>,
}

/// What a file's reader has to say at its end.
pub struct Notes {
    pub warnings: Warnings,
    pub faults: Vec<Fault>,
}

impl Notes {
    /// Notes a fault in a field of a line.
    pub fn fault(&mut self, line: u32, field: &str, text: impl Into<String>) {
        self.push(Fault::at(line, field, text));
    }

    /// Notes a fault, unless there are too many already.
    pub fn push(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    /// The warnings if there was no fault, else all faults at once.
    pub fn close(self, place: &str) -> Result<Vec<Warning>, DataError> {
        if self.faults.is_empty() {
            return Ok(self.warnings.into_list());
        }
        Err(DataError::Faulty {
            place: place.to_owned(),
            faults: self.faults,
        })
    }
}

impl<R: DeserializeOwned> RecordReader<R> {
    pub fn new(place: &str, kind: FileKind) -> Self {
        Self {
            place: place.to_owned(),
            unpacker: Unpacker::new(place, kind.unpacked()),
            lines: Lines::new(place),
            notes: Notes {
                warnings: Warnings::new(place),
                faults: Vec::new(),
            },
            record: PhantomData,
        }
    }

    /// Takes the next bytes and calls `each` with every record they complete and its line.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&mut Notes, u32, R),
    ) -> Result<(), DataError> {
        let mut plain = Vec::new();
        self.unpacker.push(bytes, &mut plain)?;
        let notes = &mut self.notes;
        self.lines
            .push(&plain, &mut |line, text| give(notes, line, text, &mut each))
    }

    /// Says that all bytes were pushed. Call [`Notes::close`] when the records were checked.
    pub fn finish(self, mut each: impl FnMut(&mut Notes, u32, R)) -> Result<Notes, DataError> {
        let Self {
            place,
            unpacker,
            mut lines,
            mut notes,
            ..
        } = self;
        let mut plain = Vec::new();
        unpacker.finish(&mut plain)?;
        lines.push(&plain, &mut |line, text| {
            give(&mut notes, line, text, &mut each)
        })?;
        let count = lines.finish(&mut |line, text| give(&mut notes, line, text, &mut each))?;
        if count == 0 {
            return Err(DataError::Empty { place });
        }
        Ok(notes)
    }
}

fn give<R: DeserializeOwned>(
    notes: &mut Notes,
    line: u32,
    text: &str,
    each: &mut impl FnMut(&mut Notes, u32, R),
) {
    match json::parse(text, Some(line), &mut notes.warnings) {
        Ok(record) => each(notes, line, record),
        Err(fault) => notes.push(fault),
    }
}
