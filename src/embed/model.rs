//! The embedding model: text in, unit vector out. The same code runs natively and in the browser.

use super::EmbedError;
use super::tokens::TextTokenizer;

/// Tokenizer and ONNX graph of one embedding model. Pooling and normalising are in the graph.
pub struct Embedder {
    tokenizer: TextTokenizer,
    max_tokens: u32,
}

/// A unit vector and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    pub vector: Vec<f32>,
    /// Tokens the model read, special tokens included.
    pub tokens: u32,
    /// Whether text was cut to fit the model.
    pub truncated: bool,
}

impl Embedder {
    /// Reads the ONNX file and its `tokenizer.json`. `max_tokens` is the longest input, special
    /// tokens included.
    pub fn load(onnx: &[u8], tokenizer: &[u8], max_tokens: u32) -> Result<Self, EmbedError> {
        todo!()
    }

    /// Embeds one text, alone: a vector never depends on its neighbours.
    pub fn embed(&self, text: &str) -> Result<Embedding, EmbedError> {
        todo!()
    }

    /// Components of a vector.
    pub fn dim(&self) -> u32 {
        todo!()
    }

    pub fn tokenizer(&self) -> &TextTokenizer {
        &self.tokenizer
    }
}
