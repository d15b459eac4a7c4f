//! How passages of a history are found.

use crate::embed::spec::Arithmetic;
use crate::worker::protocol::SearchMethod;
use serde::{Deserialize, Serialize};

/// The visitor's retriever; the published one unless changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retriever {
    pub method: SearchMethod,
    pub arithmetic: Arithmetic,
}

/// A choice as the settings view shows it.
pub struct MethodInfo {
    pub method: SearchMethod,
    pub title: &'static str,
    pub about: &'static str,
}

/// The methods that can be chosen, the published one first.
pub const METHODS: &[MethodInfo] = &[
    MethodInfo {
        method: SearchMethod::Exact,
        title: "By meaning",
        about: "Nearest vectors of the embedding model, every passage compared. As published.",
    },
    MethodInfo {
        method: SearchMethod::Lexical,
        title: "By words",
        about: "BM25: passages that share the query's rare words.",
    },
    MethodInfo {
        method: SearchMethod::Fused,
        title: "Both",
        about: "The two rankings fused by reciprocal ranks. On IBA-Mini it finds more of the evidence than either.",
    },
];

impl Retriever {
    /// As results name it.
    pub fn name(self) -> String {
        let method = match self.method {
            SearchMethod::Exact => "exact",
            SearchMethod::Hnsw => "hnsw",
            SearchMethod::Lexical => "bm25",
            SearchMethod::Fused => "exact+bm25",
        };
        match self.arithmetic {
            Arithmetic::Int8 => method.to_owned(),
            Arithmetic::Float32 => format!("{method}, float32"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_retriever_is_the_default_and_has_a_plain_name() {
        assert_eq!(Retriever::default().name(), "exact");
        assert_eq!(METHODS[0].method, Retriever::default().method);
        let other = Retriever {
            method: SearchMethod::Fused,
            arithmetic: Arithmetic::Float32,
        };
        assert_eq!(other.name(), "exact+bm25, float32");
        let kept = serde_json::to_string(&other).unwrap();
        assert_eq!(serde_json::from_str::<Retriever>(&kept).unwrap(), other);
        assert_eq!(
            serde_json::from_str::<Retriever>("{}").unwrap(),
            Retriever::default()
        );
    }
}
