//! Models that this program knows how to read.

use crate::embed::spec::{ModelSpec, Pooling};

/// A published embedding model: what its card says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Short name, as results and embedding sets have it.
    pub name: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    /// Name of a repository that has it as ONNX, for whoever looks for its folder.
    pub repository: &'static str,
    /// Words of which one stands in the name of a folder that holds this model.
    words: &'static str,
    /// Components of a vector.
    pub dim: u32,
    /// Longest input in tokens, special tokens included.
    pub max_tokens: u32,
    /// How the vectors of tokens become one where the graph does not do it.
    pub pooling: Pooling,
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    /// Millions of bytes with int8 weights, about.
    pub megabytes: u32,
}

/// The models, the shipped one first.
pub const KNOWN: &[Known] = &[
    Known {
        name: "all-minilm-l6-v2",
        title: "all-MiniLM-L6-v2",
        about: "English. Comes with this site.",
        repository: "Xenova/all-MiniLM-L6-v2",
        words: "all-minilm-l6-v2",
        dim: 384,
        max_tokens: 256,
        pooling: Pooling::Mean,
        query_prefix: "",
        passage_prefix: "",
        megabytes: 23,
    },
    Known {
        name: "all-mpnet-base-v2",
        title: "all-mpnet-base-v2",
        about: "English, the paper's second retriever. About five times the work of MiniLM.",
        repository: "Xenova/all-mpnet-base-v2",
        words: "all-mpnet-base-v2",
        dim: 768,
        max_tokens: 384,
        pooling: Pooling::Mean,
        query_prefix: "",
        passage_prefix: "",
        megabytes: 110,
    },
    Known {
        name: "bge-m3",
        title: "BGE-M3",
        about: "Over a hundred languages, the paper's first retriever. Needs a large machine: some 25 times the work of MiniLM.",
        repository: "Xenova/bge-m3",
        words: "bge-m3",
        dim: 1024,
        max_tokens: 8192,
        pooling: Pooling::Cls,
        query_prefix: "",
        passage_prefix: "",
        megabytes: 570,
    },
    Known {
        name: "multilingual-e5-small",
        title: "multilingual-e5-small",
        about: "About a hundred languages, small.",
        repository: "Xenova/multilingual-e5-small",
        words: "multilingual-e5-small",
        dim: 384,
        max_tokens: 512,
        pooling: Pooling::Mean,
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        megabytes: 118,
    },
    Known {
        name: "bge-small-en-v1.5",
        title: "bge-small-en-v1.5",
        about: "English, small.",
        repository: "Xenova/bge-small-en-v1.5",
        words: "bge-small-en-v1.5",
        dim: 384,
        max_tokens: 512,
        pooling: Pooling::Cls,
        query_prefix: "Represent this sentence for searching relevant passages: ",
        passage_prefix: "",
        megabytes: 34,
    },
];

impl Known {
    /// The model of this short name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// The model that an address or the name of a folder speaks of.
    pub fn spoken_of(text: &str) -> Option<&'static Self> {
        let text = text.to_lowercase();
        KNOWN.iter().find(|known| text.contains(known.words))
    }

    /// How it is read.
    pub fn spec(&self) -> ModelSpec {
        ModelSpec {
            max_tokens: self.max_tokens,
            pooling: Some(self.pooling),
            normalise: true,
            query_prefix: self.query_prefix.to_owned(),
            passage_prefix: self.passage_prefix.to_owned(),
            arithmetic: Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_s_name_tells_the_model() {
        for (text, name) in [
            ("https://host/Xenova/bge-m3/resolve/main/", Some("bge-m3")),
            ("all-MPNet-base-v2", Some("all-mpnet-base-v2")),
            (
                "https://host/files/bge-small-en-v1.5/",
                Some("bge-small-en-v1.5"),
            ),
            ("https://host/files/bge-small-zh/", None),
        ] {
            assert_eq!(
                Known::spoken_of(text).map(|known| known.name),
                name,
                "{text}"
            );
        }
    }

    /// From the models' cards as published by their authors.
    #[test]
    fn prefixes_and_pooling_are_those_of_the_cards() {
        let e5 = Known::named("multilingual-e5-small").unwrap().spec();
        assert_eq!(
            (e5.query_prefix.as_str(), e5.passage_prefix.as_str()),
            ("query: ", "passage: ")
        );
        assert_eq!((e5.pooling, e5.max_tokens), (Some(Pooling::Mean), 512));
        let m3 = Known::named("bge-m3").unwrap().spec();
        assert_eq!((m3.pooling, m3.max_tokens), (Some(Pooling::Cls), 8192));
        assert!(m3.query_prefix.is_empty());
        let small = Known::named("bge-small-en-v1.5").unwrap().spec();
        assert!(small.query_prefix.starts_with("Represent this sentence"));
        assert!(small.passage_prefix.is_empty());
    }
}
