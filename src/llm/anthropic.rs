//! Anthropic's own dialect: Messages.

mod encode;
mod reply;

pub use encode::{encode, models_request};
pub use reply::decode;

/// Puts a streamed answer together; the result is the same for any split of the bytes.
pub type StreamDecoder = super::stream::Decoder<reply::Events>;

/// Where a turn keeps blocks that have to go back unchanged (thinking and its signature).
const STATE: &str = "anthropic_content";
