//! Reads an ONNX file where it lies: nodes by name, tensors as ranges of the file's bytes.
//!
//! Protocol buffers are a row of tagged fields; what is read here are the few tags of
//! `onnx.proto` that a graph of weights and operators consists of. Nothing is copied, so a model
//! takes the memory of its file and no more.

use std::collections::HashMap;
use std::ops::Range;

/// `TensorProto.DataType`.
pub(super) const FLOAT: u64 = 1;
pub(super) const UINT8: u64 = 2;
pub(super) const INT8: u64 = 3;
pub(super) const INT32: u64 = 6;
pub(super) const INT64: u64 = 7;

/// Why a file is not one that this encoder runs; the general engine may still do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit(pub String);

pub(super) fn unfit<T>(why: impl Into<String>) -> Result<T, Unfit> {
    Err(Unfit(why.into()))
}

/// A graph: operators by what they give, constants by name.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    /// Output name to index of its node.
    makers: HashMap<&'a str, usize>,
    tensors: HashMap<&'a str, Tensor>,
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
}

#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub op: &'a str,
    pub inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
    attributes: Vec<Attribute<'a>>,
}

#[derive(Debug, Default)]
struct Attribute<'a> {
    name: &'a str,
    float: f32,
    int: i64,
    tensor: Option<Tensor>,
}

/// A constant: its shape and where its numbers are.
#[derive(Clone, Debug, Default)]
pub(super) struct Tensor {
    pub dims: Vec<usize>,
    pub kind: u64,
    /// Little-endian numbers in the file.
    raw: Range<usize>,
    /// Numbers that stand as protocol buffer fields; constants of a few elements.
    floats: Vec<f32>,
    ints: Vec<i64>,
    /// Name of the data file it would lie in, which is not there.
    missing: Option<String>,
}

impl Tensor {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Where its bytes lie in the file, when there is one for each element.
    pub fn bytes(&self) -> Option<Range<usize>> {
        let fits = matches!(self.kind, INT8 | UINT8) && self.raw.len() == self.len();
        fits.then(|| self.raw.clone())
    }

    /// Its single byte, for example a zero point; bytes without a sign count from 0.
    pub fn byte(&self, file: &[u8]) -> Option<i16> {
        match (self.kind, self.ints(file)?[..].as_ref()) {
            (INT8 | UINT8, [one]) => i16::try_from(*one).ok(),
            _ => None,
        }
    }

    /// Where its floats lie in the file, four bytes each, not aligned.
    pub fn float_bytes(&self) -> Option<Range<usize>> {
        let fits = self.kind == FLOAT && self.raw.len() == self.len() * 4;
        fits.then(|| self.raw.clone())
    }

    /// Its numbers as floats.
    pub fn floats(&self, file: &[u8]) -> Option<Vec<f32>> {
        match self.float_bytes() {
            Some(range) => Some(floats(&file[range])),
            None => {
                (self.kind == FLOAT && self.floats.len() == self.len()).then(|| self.floats.clone())
            }
        }
    }

    /// Its numbers as integers.
    pub fn ints(&self, file: &[u8]) -> Option<Vec<i64>> {
        let raw = &file[self.raw.clone()];
        let found: Vec<i64> = match self.kind {
            INT64 if !raw.is_empty() => whole(raw, i64::from_le_bytes),
            INT32 if !raw.is_empty() => whole(raw, |b| i64::from(i32::from_le_bytes(b))),
            INT8 if !raw.is_empty() => whole(raw, |b| i64::from(i8::from_le_bytes(b))),
            UINT8 if !raw.is_empty() => whole(raw, |b| i64::from(u8::from_le_bytes(b))),
            INT64 | INT32 | INT8 | UINT8 => self.ints.clone(),
            _ => return None,
        };
        (found.len() == self.len()).then_some(found)
    }
}

/// Little-endian floats.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    whole(bytes, f32::from_le_bytes)
}

fn whole<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|b| read(*b)).collect()
}

impl<'a> Graph<'a> {
    /// Reads the graph of a model file; weights that lie apart are where `data` says that their
    /// files lie in it.
    pub fn read(file: &'a [u8], graph_end: usize, data: Data<'_>) -> Result<Self, Unfit> {
        let mut graph = Self::default();
        let mut found = false;
        for field in Fields::new(file, 0..graph_end) {
            if let (7, Value::Bytes(range)) = field? {
                graph.take(file, range, data)?;
                found = true;
            }
        }
        if found {
            Ok(graph)
        } else {
            unfit("the file holds no graph")
        }
    }

    fn take(&mut self, file: &'a [u8], range: Range<usize>, data: Data<'_>) -> Result<(), Unfit> {
        for field in Fields::new(file, range) {
            match field? {
                (1, Value::Bytes(range)) => {
                    let node = node(file, range)?;
                    for output in &node.outputs {
                        self.makers.insert(output, self.nodes.len());
                    }
                    self.nodes.push(node);
                }
                (5, Value::Bytes(range)) => {
                    let (name, tensor) = tensor(file, range, data)?;
                    self.tensors.insert(name, tensor);
                }
                (11, Value::Bytes(range)) => self.inputs.push(value_name(file, range)?),
                (12, Value::Bytes(range)) => self.outputs.push(value_name(file, range)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// The operator that makes `name`, past those that only hand on what they get.
    pub fn maker(&self, name: &str) -> Option<&Node<'a>> {
        let node = &self.nodes[*self.makers.get(name)?];
        match node.op {
            "Identity" | "Dropout" => self.maker(node.inputs.first()?),
            _ => Some(node),
        }
    }

    /// The operator that makes `name`, if it is an `op`.
    pub fn made_by(&self, name: &str, op: &str) -> Option<&Node<'a>> {
        self.maker(name).filter(|node| node.op == op)
    }

    /// `name` past operators that only hand on what they get.
    pub fn origin<'s>(&'s self, name: &'s str) -> &'s str {
        match self.makers.get(name).map(|at| &self.nodes[*at]) {
            Some(node) if matches!(node.op, "Identity" | "Dropout") => {
                node.inputs.first().map_or(name, |input| self.origin(input))
            }
            _ => name,
        }
    }

    /// The constant `name`: an initialiser or a `Constant` operator.
    pub fn constant(&self, name: &str) -> Option<&Tensor> {
        let name = self.origin(name);
        let found = self.tensors.get(name);
        let found = found.or_else(|| {
            let node = self.made_by(name, "Constant")?;
            node.attributes.iter().find_map(|a| a.tensor.as_ref())
        });
        found.filter(|tensor| tensor.missing.is_none())
    }

    /// A data file that a weight lies in and that is not there.
    pub fn missing_data(&self) -> Option<&str> {
        let mut missing = self.tensors.values().filter_map(|t| t.missing.as_deref());
        missing.next()
    }

    /// Rows of the table that is looked up by the graph's input `input`.
    pub fn rows_looked_up_by(&self, input: &str) -> Option<usize> {
        let lookups = self.nodes.iter().filter(|node| {
            node.op == "Gather"
                && node
                    .inputs
                    .get(1)
                    .is_some_and(|at| self.origin(at) == input)
        });
        let mut rows = lookups.filter_map(|node| {
            let table = node.inputs.first()?;
            let table = match self.made_by(table, "DequantizeLinear") {
                Some(node) => node.inputs.first()?,
                None => table,
            };
            let [rows, _] = self.constant(table)?.dims[..] else {
                return None;
            };
            Some(rows)
        });
        rows.next()
    }

    /// Whether any operator that `name` depends on satisfies `test`.
    pub fn depends_on(&self, name: &str, test: &dyn Fn(&Node) -> bool) -> bool {
        let (mut open, mut seen) = (vec![name], std::collections::HashSet::new());
        while let Some(name) = open.pop() {
            let Some(&at) = self.makers.get(name) else {
                continue;
            };
            let node = &self.nodes[at];
            if test(node) {
                return true;
            }
            if seen.insert(at) {
                open.extend(&node.inputs);
            }
        }
        false
    }

    /// Whether `name` is, or depends on, the graph's input or tensor `other`.
    pub fn reaches(&self, name: &str, other: &str) -> bool {
        name == other || self.depends_on(name, &|node| node.inputs.contains(&other))
    }
}

impl Node<'_> {
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name).map(|found| found.int)
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        self.attribute(name).map(|found| found.float)
    }

    fn attribute(&self, name: &str) -> Option<&Attribute<'_>> {
        self.attributes.iter().find(|found| found.name == name)
    }
}

fn node<'a>(file: &'a [u8], range: Range<usize>) -> Result<Node<'a>, Unfit> {
    let mut node = Node::default();
    for field in Fields::new(file, range) {
        match field? {
            (1, Value::Bytes(range)) => node.inputs.push(text(file, range)?),
            (2, Value::Bytes(range)) => node.outputs.push(text(file, range)?),
            (4, Value::Bytes(range)) => node.op = text(file, range)?,
            (5, Value::Bytes(range)) => node.attributes.push(attribute(file, range)?),
            _ => {}
        }
    }
    Ok(node)
}

fn attribute<'a>(file: &'a [u8], range: Range<usize>) -> Result<Attribute<'a>, Unfit> {
    let mut out = Attribute::default();
    for field in Fields::new(file, range) {
        match field? {
            (1, Value::Bytes(range)) => out.name = text(file, range)?,
            (2, Value::Fixed32(bits)) => out.float = f32::from_bits(bits),
            (3, Value::Int(value)) => out.int = value as i64,
            (5, Value::Bytes(range)) => out.tensor = Some(tensor(file, range, &|_| None)?.1),
            _ => {}
        }
    }
    Ok(out)
}

/// Where a data file lies, by its name.
pub(super) type Data<'a> = &'a dyn Fn(&str) -> Option<Range<usize>>;

/// Where weights lie that are not in the graph's own file.
#[derive(Default)]
struct Apart<'a> {
    location: &'a str,
    offset: usize,
    length: Option<usize>,
}

impl<'a> Apart<'a> {
    /// Takes a key and its value.
    fn take(&mut self, file: &'a [u8], range: Range<usize>) -> Result<(), Unfit> {
        let (mut key, mut value) = ("", "");
        for field in Fields::new(file, range) {
            match field? {
                (1, Value::Bytes(range)) => key = text(file, range)?,
                (2, Value::Bytes(range)) => value = text(file, range)?,
                _ => {}
            }
        }
        let number = || {
            let number = value.parse::<usize>();
            number.or_else(|_| unfit(format!("the {key} of a weight is '{value}'")))
        };
        match key {
            "location" => self.location = value,
            "offset" => self.offset = number()?,
            "length" => self.length = Some(number()?),
            _ => {}
        }
        Ok(())
    }

    /// The bytes within the data file that lies at `place`.
    fn within(&self, place: Range<usize>, bytes: usize) -> Result<Range<usize>, Unfit> {
        let start = place.start.checked_add(self.offset);
        let length = self.length.unwrap_or(bytes);
        let range = start.and_then(|start| Some(start..start.checked_add(length)?));
        match range.filter(|range| range.end <= place.end) {
            Some(range) => Ok(range),
            None => unfit(format!(
                "{} has {} bytes, and weights in it end at {}: it is cut or of another model",
                self.location,
                place.len(),
                self.offset.saturating_add(length)
            )),
        }
    }
}

fn tensor<'a>(
    file: &'a [u8],
    range: Range<usize>,
    data: Data<'_>,
) -> Result<(&'a str, Tensor), Unfit> {
    let (mut name, mut out) = ("", Tensor::default());
    let (mut is_apart, mut apart) = (false, Apart::default());
    for field in Fields::new(file, range) {
        match field? {
            (1, value) => {
                let dims = numbers(file, value)?;
                out.dims.extend(dims.iter().map(|dim| *dim as usize));
            }
            (2, Value::Int(kind)) => out.kind = kind,
            (4, Value::Bytes(range)) => out.floats.extend(floats(&file[range])),
            (4, Value::Fixed32(bits)) => out.floats.push(f32::from_bits(bits)),
            (5 | 7, value) => out.ints.extend(numbers(file, value)?),
            (8, Value::Bytes(range)) => name = text(file, range)?,
            (9, Value::Bytes(range)) => out.raw = range,
            (13, Value::Bytes(range)) => apart.take(file, range)?,
            (14, Value::Int(place)) => is_apart = place == 1,
            _ => {}
        }
    }
    // A product that overflows belongs to no file that fits into memory.
    let size = out.dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    if size.is_none_or(|size| size.checked_mul(8).is_none()) {
        return unfit(format!("the tensor '{name}' has no possible size"));
    }
    if is_apart {
        let bytes = out.len()
            * if matches!(out.kind, INT8 | UINT8) {
                1
            } else {
                4
            };
        match data(apart.location) {
            Some(place) => out.raw = apart.within(place, bytes)?,
            None => out.missing = Some(apart.location.to_owned()),
        }
    }
    Ok((name, out))
}

fn value_name(file: &[u8], range: Range<usize>) -> Result<&str, Unfit> {
    for field in Fields::new(file, range) {
        if let (1, Value::Bytes(range)) = field? {
            return text(file, range);
        }
    }
    unfit("an output has no name")
}

fn text(file: &[u8], range: Range<usize>) -> Result<&str, Unfit> {
    std::str::from_utf8(&file[range]).or_else(|_| unfit("a name is not text"))
}

/// Integers, one or packed.
fn numbers(file: &[u8], value: Value) -> Result<Vec<i64>, Unfit> {
    match value {
        Value::Int(value) => Ok(vec![value as i64]),
        Value::Bytes(range) => {
            let (mut at, mut out) = (range.start, Vec::new());
            while at < range.end {
                out.push(varint(&file[..range.end], &mut at)? as i64);
            }
            Ok(out)
        }
        Value::Fixed32(_) => unfit("a number is of another kind than expected"),
    }
}

enum Value {
    Int(u64),
    Fixed32(u32),
    Bytes(Range<usize>),
}

/// The fields of one message.
struct Fields<'a> {
    file: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Fields<'a> {
    fn new(file: &'a [u8], range: Range<usize>) -> Self {
        Self {
            file,
            at: range.start,
            end: range.end,
        }
    }

    fn field(&mut self) -> Result<(u64, Value), Unfit> {
        loop {
            let tag = varint(&self.file[..self.end], &mut self.at)?;
            let value = match tag & 7 {
                0 => Value::Int(varint(&self.file[..self.end], &mut self.at)?),
                1 => {
                    self.skip(8)?;
                    if self.at == self.end {
                        return Ok((0, Value::Int(0)));
                    }
                    continue;
                }
                2 => {
                    let length = varint(&self.file[..self.end], &mut self.at)?;
                    Value::Bytes(self.skip(length)?)
                }
                5 => {
                    let range = self.skip(4)?;
                    let bytes: [u8; 4] = self.file[range].try_into().expect("four bytes");
                    Value::Fixed32(u32::from_le_bytes(bytes))
                }
                other => return unfit(format!("a field has the wire type {other}")),
            };
            return Ok((tag >> 3, value));
        }
    }

    fn skip(&mut self, length: u64) -> Result<Range<usize>, Unfit> {
        let start = self.at;
        let left = (self.end - start) as u64;
        if length > left {
            return unfit("the file ends within a field");
        }
        self.at = start + length as usize;
        Ok(start..self.at)
    }
}

impl Iterator for Fields<'_> {
    type Item = Result<(u64, Value), Unfit>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.end;
        }
        Some(field)
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, Unfit> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let Some(&byte) = bytes.get(*at) else {
            return unfit("the file ends within a number");
        };
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    unfit("a number has more than 64 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of one `Add` of the input `x` and the constant `c` = [1.5, -2], written by hand
    /// after `onnx.proto`.
    const ADD: &[u8] = &[
        0x08, 7, // ir_version
        0x3a, 42, // graph
        0x0a, 14, // node
        0x0a, 1, b'x', 0x0a, 1, b'c', 0x12, 1, b'y', 0x22, 3, b'A', b'd',
        b'd', // Add(x, c) -> y
        0x2a, 17, // initializer
        0x08, 2, 0x10, 1, 0x42, 1, b'c', 0x4a, 8, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0, // c
        0x62, 3, 0x0a, 1, b'y', // output
        0x12, 0, // name
    ];

    #[test]
    fn a_hand_written_graph_is_read() {
        let graph = Graph::read(ADD, ADD.len(), &|_| None).unwrap();
        assert_eq!(graph.outputs, ["y"]);
        let node = graph.made_by("y", "Add").unwrap();
        assert_eq!(node.inputs, ["x", "c"]);
        let constant = graph.constant("c").unwrap();
        assert_eq!(constant.dims, [2]);
        assert_eq!(constant.floats(ADD).unwrap(), [1.5, -2.0]);
        assert!(graph.reaches("y", "x") && !graph.reaches("y", "z"));
    }

    #[test]
    fn no_cut_file_is_read_beyond_its_end() {
        for end in 0..ADD.len() {
            // Some cuts fall between fields and leave a smaller graph; none may panic.
            let _ = Graph::read(&ADD[..end], end, &|_| None);
        }
        for at in 0..ADD.len() {
            let mut broken = ADD.to_vec();
            broken[at] = 0xff;
            let _ = Graph::read(&broken, broken.len(), &|_| None);
        }
        let error = Graph::read(b"<!doctype html>", 15, &|_| None).unwrap_err();
        assert_ne!(error.0, "");
    }
}
