//! The model's own tokenizer, freed of the limits its file carries.

use super::EmbedError;

/// Text to token ids and to byte offsets.
pub struct TextTokenizer {
    inner: tokenizers::Tokenizer,
}

/// What the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Special tokens included.
    pub ids: Vec<u32>,
    /// Whether text was cut to fit the model.
    pub truncated: bool,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`. Truncation and padding set in the file are dropped.
    pub fn load(json: &[u8]) -> Result<Self, EmbedError> {
        todo!()
    }

    /// Ids for the model, at most `max_tokens` with special tokens; a cut text still ends in the
    /// separator.
    pub fn encode(&self, text: &str, max_tokens: u32) -> Result<Encoded, EmbedError> {
        todo!()
    }

    /// Byte range of each token of `text`, special tokens left out, always on character
    /// boundaries.
    pub fn offsets(&self, text: &str) -> Result<Vec<(usize, usize)>, EmbedError> {
        todo!()
    }
}
