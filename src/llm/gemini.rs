//! Gemini's own dialect: `generateContent`.

mod encode;
mod reply;

pub use encode::{encode, models_request};
pub use reply::{decode, decode_models};

/// Puts a streamed answer together; the result is the same for any split of the bytes.
pub type StreamDecoder = super::stream::Decoder<reply::Chunks>;

/// Where a turn keeps its parts when they carry signatures, which have to go back in place.
const STATE: &str = "gemini_parts";
const SIGNATURE: &str = "thoughtSignature";
