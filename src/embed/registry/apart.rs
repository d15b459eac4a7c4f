//! Which files the weights of a graph lie in, read from its ONNX file while that comes. Protocol
//! buffers are a row of tagged fields, so of all bytes no more than a few names have to be held.

/// Longest name that is read; what is longer names no file.
const LONGEST: u64 = 4096;

// Tags of `onnx.proto`: number of the field, and its wire type in the last three bits.
const GRAPH: u64 = 7 << 3 | 2;
const INITIALIZER: u64 = 5 << 3 | 2;
const EXTERNAL_DATA: u64 = 13 << 3 | 2;
const DATA_LOCATION: u64 = 14 << 3;
const KEY: u64 = 1 << 3 | 2;
const VALUE: u64 = 2 << 3 | 2;

/// Reads an ONNX file piece by piece, as it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    names: Vec<String>,
    /// Bytes read.
    at: u64,
    /// Messages within each other, with the byte each ends before.
    open: Vec<(Message, u64)>,
    state: State,
    /// Of the number that is being read, what has come.
    number: u64,
    shift: u32,
    entry: Entry,
    /// Of the weights that are being read.
    location: Vec<u8>,
    is_apart: bool,
    /// It is no ONNX file, or a damaged one; others say so.
    is_broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Graph,
    Weights,
    Entry,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Tag,
    /// The number of a field with this tag.
    Number(u64),
    /// So many bytes that nobody needs.
    Over(u64),
    /// So many bytes of a key or of its value.
    Key(u64),
    Value(u64),
}

/// A key with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Apart {
    /// Takes the next bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_broken {
            let taken = match self.state {
                State::Tag | State::Number(_) => {
                    self.at += 1;
                    self.digit(bytes[0]);
                    1
                }
                State::Over(left) | State::Key(left) | State::Value(left) => {
                    let now = left.min(bytes.len() as u64) as usize;
                    self.at += now as u64;
                    self.take(&bytes[..now], left - now as u64);
                    now
                }
            };
            bytes = &bytes[taken..];
            if self.state == State::Tag && self.shift == 0 {
                self.close();
            }
        }
    }

    /// The names, as the graph has them, in the order in which it uses them first.
    pub fn finish(self) -> Vec<String> {
        self.names
    }

    /// The next byte of a number, seven bits each.
    fn digit(&mut self, byte: u8) {
        if self.shift > 63 {
            self.is_broken = true;
            return;
        }
        self.number |= u64::from(byte & 0x7f) << self.shift;
        self.shift += 7;
        if byte < 0x80 {
            self.shift = 0;
            let number = std::mem::take(&mut self.number);
            match self.state {
                State::Number(tag) => self.field(tag, number),
                _ => self.tag(number),
            }
        }
    }

    fn tag(&mut self, tag: u64) {
        self.state = match tag & 7 {
            0 | 2 => State::Number(tag),
            1 => State::Over(8),
            5 => State::Over(4),
            _ => {
                self.is_broken = true;
                State::Tag
            }
        };
    }

    /// A field's number has come: its value, or its length.
    fn field(&mut self, tag: u64, number: u64) {
        self.state = State::Tag;
        let within = self.open.last().map(|(message, _)| *message);
        if tag & 7 == 0 {
            if (within, tag) == (Some(Message::Weights), DATA_LOCATION) {
                self.is_apart = number == 1;
            }
            return;
        }
        let end = self.at.saturating_add(number);
        if self.open.last().is_some_and(|(_, outer)| end > *outer) {
            self.is_broken = true;
            return;
        }
        match (within, tag) {
            (None, GRAPH) => self.open.push((Message::Graph, end)),
            (Some(Message::Graph), INITIALIZER) => {
                self.open.push((Message::Weights, end));
                self.location.clear();
                self.is_apart = false;
            }
            (Some(Message::Weights), EXTERNAL_DATA) => {
                self.open.push((Message::Entry, end));
                self.entry = Entry::default();
            }
            (Some(Message::Entry), KEY) if number <= LONGEST => self.state = State::Key(number),
            (Some(Message::Entry), VALUE) if number <= LONGEST => self.state = State::Value(number),
            _ => self.state = State::Over(number),
        }
        if matches!(self.state, State::Key(0) | State::Value(0) | State::Over(0)) {
            self.state = State::Tag;
        }
    }

    /// Bytes of a field, of which `left` are still to come.
    fn take(&mut self, bytes: &[u8], left: u64) {
        let next = match self.state {
            State::Key(_) => {
                self.entry.key.extend_from_slice(bytes);
                State::Key(left)
            }
            State::Value(_) => {
                self.entry.value.extend_from_slice(bytes);
                State::Value(left)
            }
            _ => State::Over(left),
        };
        self.state = if left == 0 { State::Tag } else { next };
    }

    /// Leaves the messages that end here.
    fn close(&mut self) {
        while let Some((message, end)) = self.open.last().copied()
            && end <= self.at
        {
            self.open.pop();
            match message {
                Message::Graph => {}
                Message::Entry if self.entry.key == b"location" => {
                    self.location = std::mem::take(&mut self.entry.value);
                }
                Message::Entry => {}
                Message::Weights => self.note(),
            }
        }
    }

    fn note(&mut self) {
        let location = std::mem::take(&mut self.location);
        if let Ok(name) = String::from_utf8(location)
            && self.is_apart
            && !name.is_empty()
            && !self.names.contains(&name)
        {
            self.names.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that the package `onnx` wrote.
    fn written(name: &str) -> Vec<u8> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::read(root.join("tests/data/models").join(name)).expect("it is in the repository")
    }

    fn names(bytes: &[u8], at_once: usize) -> Vec<String> {
        let mut apart = Apart::default();
        bytes.chunks(at_once).for_each(|piece| apart.push(piece));
        apart.finish()
    }

    #[test]
    fn files_are_named_however_the_graph_comes() {
        let (apart, whole) = (written("ext/model.onnx"), written("xlmr-int8/model.onnx"));
        for at_once in [1, 7, 4096, usize::MAX] {
            assert_eq!(names(&apart, at_once), ["model.onnx_data"], "{at_once}");
            assert_eq!(names(&whole, at_once), Vec::<String>::new(), "{at_once}");
        }
    }

    #[test]
    fn every_file_is_named_once_in_the_order_of_its_use() {
        // The first use of the one file becomes one of another, by a name of the same length.
        let mut bytes = written("ext/model.onnx");
        let name = b"model.onnx_data";
        let first = bytes.windows(name.len()).position(|part| part == name);
        let first = first.expect("the graph names its data");
        bytes[first..first + name.len()].copy_from_slice(b"weights.000.bin");
        assert_eq!(names(&bytes, 1000), ["weights.000.bin", "model.onnx_data"]);
    }

    #[test]
    fn what_is_no_graph_names_nothing() {
        for bytes in [&b"<!doctype html><p>Sign in</p>"[..], &[0xff; 64], b""] {
            assert_eq!(names(bytes, 5), Vec::<String>::new());
        }
        let whole = written("ext/model.onnx");
        for end in (0..whole.len()).step_by(97) {
            assert!(names(&whole[..end], 64).len() <= 1);
        }
    }
}
