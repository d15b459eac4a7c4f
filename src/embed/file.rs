//! A model's bytes: its ONNX file, and behind it, in one piece of memory, the files in which its
//! weights lie apart.

use super::registry::folder::last;
use std::ops::Range;

/// All bytes of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFile {
    bytes: Vec<u8>,
    graph: usize,
    /// Data files by the names that the graph gives them.
    data: Vec<(String, Range<usize>)>,
}

impl From<Vec<u8>> for ModelFile {
    /// A model in one file.
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            graph: bytes.len(),
            bytes,
            data: Vec::new(),
        }
    }
}

impl ModelFile {
    /// Files that lie one behind the other in `bytes`: the ONNX file, then its data files, each with
    /// its name and size. `None` when the sizes are not those of the bytes.
    pub fn of_parts(bytes: Vec<u8>, files: Vec<(String, usize)>) -> Option<Self> {
        let mut at = 0usize;
        let mut parts = Vec::with_capacity(files.len());
        for (name, size) in files {
            let end = at.checked_add(size)?;
            parts.push((name, at..end));
            at = end;
        }
        if at != bytes.len() || parts.is_empty() {
            return None;
        }
        let (_, graph) = parts.remove(0);
        Some(Self {
            bytes,
            graph: graph.end,
            data: parts,
        })
    }

    /// The ONNX file.
    pub fn graph(&self) -> &[u8] {
        &self.bytes[..self.graph]
    }

    /// All bytes: the ONNX file's, then those of the data files.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in [`ModelFile::bytes`] the data file of that name lies; paths are compared by their
    /// last part, as files lie in one folder.
    pub fn place(&self, name: &str) -> Option<Range<usize>> {
        let wanted = last(name);
        let found = self.data.iter().find(|(own, _)| last(own) == wanted)?;
        Some(found.1.clone())
    }

    /// The data file of that name.
    pub fn data(&self, name: &str) -> Option<&[u8]> {
        Some(&self.bytes[self.place(name)?])
    }

    /// Every file's bytes, the ONNX file's first.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let data = self
            .data
            .iter()
            .map(|(_, range)| &self.bytes[range.clone()]);
        std::iter::once(self.graph()).chain(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_one_behind_the_other() {
        let sizes = |sizes: &[(&str, usize)]| -> Vec<(String, usize)> {
            sizes
                .iter()
                .map(|(name, size)| ((*name).to_owned(), *size))
                .collect()
        };
        let file = ModelFile::of_parts(
            b"graphdata".to_vec(),
            sizes(&[("m.onnx", 5), ("m.onnx_data", 4)]),
        );
        let file = file.unwrap();
        assert_eq!(file.graph(), b"graph");
        assert_eq!(file.data("./m.onnx_data"), Some(&b"data"[..]));
        assert_eq!(file.data("other"), None);
        assert_eq!(file.parts().count(), 2);
        for wrong in [
            sizes(&[("m.onnx", 8)]),
            sizes(&[("m.onnx", 5), ("d", 5)]),
            sizes(&[]),
        ] {
            assert_eq!(ModelFile::of_parts(b"graphdata".to_vec(), wrong), None);
        }
    }
}
