//! Prompts that a server cut without saying so. Ollama keeps the end of a prompt that does not fit
//! its window, so instructions vanish and the answer still looks plausible.

use super::address::{Address, Place};
use super::{Chat, Message, Reply};

/// Below this many tokens nothing is cut.
const SMALLEST_WINDOW: u64 = 1024;

/// A warning when the server probably cut the front of the prompt: the tokens it counted are far
/// below any estimate, or fill exactly a context window of a power of two.
pub fn check(chat: &Chat, reply: &Reply, base_url: &str) -> Option<String> {
    let seen = reply.usage.as_ref()?.input?;
    let expected = prompt_tokens(chat);
    if !looks_cut(seen, expected) {
        return None;
    }
    let local = Address::parse(base_url).is_ok_and(|address| address.place() != Place::Public);
    let hint = match local {
        true => " Give the model a larger window (Ollama: OLLAMA_CONTEXT_LENGTH=32768).",
        false => "",
    };
    Some(format!(
        "server probably truncated the prompt (saw {seen} tokens, expected ≈{expected}).{hint}"
    ))
}

fn looks_cut(seen: u64, expected: u64) -> bool {
    // No tokenizer packs text twice as tight as the estimate assumes.
    let far_below = seen * 2 < expected;
    let full_window = seen.is_power_of_two() && seen * 9 / 10 < expected;
    expected > SMALLEST_WINDOW / 2 && (far_below || full_window && seen >= SMALLEST_WINDOW)
}

/// A low estimate of a prompt's tokens.
pub fn prompt_tokens(chat: &Chat) -> u64 {
    estimated_tokens(&prompt_text(chat))
}

/// About four characters of ASCII to a token, and two of other scripts to three tokens or fewer;
/// long runs of blanks count once, as tokenizers merge them.
pub fn estimated_tokens(text: &str) -> u64 {
    let (mut ascii, mut other, mut blank) = (0_u64, 0_u64, false);
    for c in text.chars() {
        let repeated = std::mem::replace(&mut blank, c.is_whitespace()) && c.is_whitespace();
        match c.is_ascii() {
            _ if repeated => {}
            true => ascii += 1,
            false => other += 1,
        }
    }
    ascii / 4 + other * 6 / 10
}

fn prompt_text(chat: &Chat) -> String {
    let texts = chat.messages.iter().map(|message| match message {
        Message::System { text }
        | Message::User { text }
        | Message::Assistant { text, .. }
        | Message::Tool { text, .. } => text.as_str(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_tokenizer_explains_is_flagged() {
        let cases = [
            (4096, 15000, true),
            (2048, 15000, true),
            (4096, 4200, true),
            (4096, 3000, false),
            (4097, 4200, false),
            (12000, 15000, false),
            (8000, 15000, false),
            (6000, 15000, true),
            (16, 30, false),
            (64, 80, false),
        ];
        for (seen, expected, cut) in cases {
            assert_eq!(looks_cut(seen, expected), cut, "{seen} of {expected}");
        }
    }

    #[test]
    fn estimates_are_conservative() {
        assert_eq!(estimated_tokens(&"word ".repeat(1000)), 1250);
        assert_eq!(estimated_tokens(&"记忆".repeat(500)), 600);
        assert_eq!(estimated_tokens(&" ".repeat(100_000)), 0);
    }
}
