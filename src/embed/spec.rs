//! How an embedding model is to be read: what its card says and its graph does not.

use serde::{Deserialize, Serialize};

/// How the vectors of tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over tokens.
    Mean,
    /// The first token's.
    Cls,
}

impl Pooling {
    /// As files write it.
    pub fn word(self) -> &'static str {
        match self {
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
        }
    }

    /// The pooling of that word.
    pub fn of(word: &str) -> Option<Self> {
        [Pooling::Mean, Pooling::Cls]
            .into_iter()
            .find(|pooling| pooling.word() == word)
    }
}

/// What is computed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// int8 weights and integer activations by the encoder of this crate, where it knows the graph;
    /// else as [`Arithmetic::Float32`].
    #[default]
    Int8,
    /// float32 throughout by the general ONNX engine: the exact reference.
    Float32,
}

/// What a model's card says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSpec {
    /// Longest input in tokens, special tokens included.
    pub max_tokens: u32,
    /// `None` where the graph pools.
    #[serde(default)]
    pub pooling: Option<Pooling>,
    /// Whether vectors are made unit vectors, so that products of them are cosines. Only models that
    /// are compared by plain products are not.
    #[serde(default = "yes")]
    pub normalise: bool,
    /// Put before a query.
    #[serde(default)]
    pub query_prefix: String,
    /// Put before a passage.
    #[serde(default)]
    pub passage_prefix: String,
    #[serde(default)]
    pub arithmetic: Arithmetic,
}

impl ModelSpec {
    /// A model that pools in its graph and takes texts as they are.
    pub fn plain(max_tokens: u32) -> Self {
        Self {
            max_tokens,
            pooling: None,
            normalise: true,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            arithmetic: Arithmetic::default(),
        }
    }

    /// The same model with other arithmetic.
    pub fn with(self, arithmetic: Arithmetic) -> Self {
        Self { arithmetic, ..self }
    }
}

fn yes() -> bool {
    true
}
