//! Prompts that a server cut without saying so.

use super::{Chat, Reply};

/// A warning when the server probably cut the front of the prompt: the tokens it counted are far
/// below any estimate, or fill exactly a context window of a power of two.
pub fn check(chat: &Chat, reply: &Reply, base_url: &str) -> Option<String> {
    todo!()
}
