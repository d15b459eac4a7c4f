//! The model's own tokenizer, freed of the limits its file carries.

use super::EmbedError;
use tokenizers::utils::truncation::TruncationDirection;
use tokenizers::{Encoding, PostProcessor, Tokenizer};

/// Text to token ids and to byte offsets.
pub struct TextTokenizer {
    inner: Tokenizer,
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
    /// Reads a `tokenizer.json`. Truncation and padding set in the file are dropped: they belong
    /// to one use of the model (often 128 tokens), and would silently lose the rest of a session.
    pub fn load(json: &[u8]) -> Result<Self, EmbedError> {
        let mut inner = Tokenizer::from_bytes(json)
            .map_err(|e| EmbedError::Tokenizer { why: e.to_string() })?;
        inner.with_padding(None);
        inner
            .with_truncation(None)
            .map_err(|e| EmbedError::Tokenizer { why: e.to_string() })?;
        Ok(Self { inner })
    }

    /// Ids for the model, at most `max_tokens` with special tokens; a cut text still ends in the
    /// separator.
    pub fn encode(&self, text: &str, max_tokens: u32) -> Result<Encoded, EmbedError> {
        let mut encoding = self.plain(text)?;
        let room = (max_tokens as usize).saturating_sub(self.special_tokens());
        let truncated = encoding.len() > room;
        encoding.truncate(room, 0, TruncationDirection::Right);
        let whole = self
            .inner
            .post_process(encoding, None, true)
            .map_err(refused)?;
        Ok(Encoded {
            ids: whole.get_ids().to_vec(),
            truncated,
        })
    }

    /// Byte range of each token of `text`, special tokens left out, always on character
    /// boundaries.
    pub fn offsets(&self, text: &str) -> Result<Vec<(usize, usize)>, EmbedError> {
        let encoding = self.plain(text)?;
        Ok(encoding
            .get_offsets()
            .iter()
            .map(|&range| on_characters(text, range))
            .collect())
    }

    /// The largest token number, if it is not below `vocabulary`.
    pub fn id_beyond(&self, vocabulary: usize) -> Option<u32> {
        let largest = self.inner.get_vocab(true).into_values().max()?;
        (largest as usize >= vocabulary).then_some(largest)
    }

    fn plain(&self, text: &str) -> Result<Encoding, EmbedError> {
        self.inner.encode(text, false).map_err(refused)
    }

    fn special_tokens(&self) -> usize {
        self.inner
            .get_post_processor()
            .map_or(0, |post| post.added_tokens(false))
    }
}

fn refused(error: tokenizers::Error) -> EmbedError {
    EmbedError::Tokenize {
        why: error.to_string(),
    }
}

/// A byte-level tokenizer may split a character; the range grows to whole ones.
fn on_characters(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    (
        text.floor_char_boundary(start),
        text.ceil_char_boundary(end),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words by whitespace, `[CLS]` and `[SEP]` round them, and limits that must not survive.
    const WORDS: &str = r#"{"version":"1.0",
        "truncation":{"max_length":4,"strategy":"LongestFirst","stride":0},
        "padding":{"strategy":{"Fixed":8},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"[PAD]"},
        "added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},
        "post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},"decoder":null,
        "model":{"type":"WordLevel","vocab":{"[PAD]":0,"[CLS]":1,"[SEP]":2,"[UNK]":3,"a":4,"é":5},"unk_token":"[UNK]"}}"#;

    fn words() -> TextTokenizer {
        TextTokenizer::load(WORDS.as_bytes()).expect("the test's tokenizer is valid")
    }

    #[test]
    fn limits_of_the_file_are_dropped() {
        let encoded = words().encode("a a a a a a", 256).unwrap();
        assert_eq!(
            encoded,
            Encoded {
                ids: vec![1, 4, 4, 4, 4, 4, 4, 2],
                truncated: false
            }
        );
    }

    #[test]
    fn a_cut_text_ends_in_the_separator() {
        for (text, max, ids, truncated) in [
            ("", 4, vec![1, 2], false),
            ("a é", 4, vec![1, 4, 5, 2], false),
            ("a é a", 4, vec![1, 4, 5, 2], true),
        ] {
            assert_eq!(
                words().encode(text, max).unwrap(),
                Encoded { ids, truncated },
                "{text:?}"
            );
        }
    }

    #[test]
    fn offsets_are_bytes() {
        assert_eq!(
            words().offsets(" é 漢字 a").unwrap(),
            [(1, 3), (4, 10), (11, 12)]
        );
    }

    #[test]
    fn a_file_that_is_no_tokenizer_is_named() {
        let error = TextTokenizer::load(b"<html>").err().expect("must not load");
        assert!(
            error
                .to_string()
                .starts_with("the tokenizer could not be read"),
            "{error}"
        );
    }
}
