//! Casual exchanges: the noise among which evidence lies. Their placeholders are filled from the
//! persona, in the grammar of whoever speaks.

use crate::bench::visible::{Role, Turn};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The placeholders an exchange may hold.
pub const SLOTS: [&str; 8] = [
    "city",
    "friend",
    "pet",
    "hobby",
    "food",
    "show",
    "workplace",
    "relative",
];

/// One exchange of a source's `casual/*.jsonl`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Exchange {
    pub id: String,
    pub topic: String,
    pub mood: String,
    pub turns: Vec<Turn>,
}

/// Fills the placeholders of all turns.
pub fn fill(turns: &[Turn], slots: &BTreeMap<String, String>) -> Vec<Turn> {
    turns
        .iter()
        .map(|turn| Turn {
            role: turn.role,
            text: fill_text(&turn.text, turn.role, slots),
        })
        .collect()
}

/// Placeholders of a text that are none of [`SLOTS`].
pub fn unknown_slots(text: &str) -> Vec<&str> {
    placeholders(text)
        .map(|(_, name)| name)
        .filter(|name| !SLOTS.contains(name))
        .collect()
}

fn fill_text(text: &str, role: Role, slots: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (start, name) in placeholders(text) {
        let Some(value) = slots.get(name) else {
            continue;
        };
        out.push_str(&text[done..start]);
        let value = match role {
            Role::User => value.clone(),
            Role::Assistant => to_second_person(value),
        };
        out.push_str(&if begins_sentence(&out) {
            capitalised(&value)
        } else {
            value
        });
        done = start + name.len() + 2;
    }
    out.push_str(&text[done..]);
    out
}

/// Byte offset of the brace and name of each `{name}`.
fn placeholders(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('{').filter_map(|(start, _)| {
        let rest = &text[start + 1..];
        let name = &rest[..rest.find('}')?];
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_name.then_some((start, name))
    })
}

fn to_second_person(value: &str) -> String {
    let word = |word: &str| match word {
        "my" => "your".to_owned(),
        "My" => "Your".to_owned(),
        other => other.to_owned(),
    };
    value.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn begins_sentence(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '“', '‘', '(', '*']);
    let Some(last) = before.trim_end().chars().next_back() else {
        return true;
    };
    before.ends_with(char::is_whitespace) && matches!(last, '.' | '!' | '?')
}

fn capitalised(value: &str) -> String {
    let mut rest = value.chars();
    rest.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(rest).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_follow_the_speaker_and_the_sentence() {
        let slots = [
            ("pet", "my cat Fader"),
            ("relative", "my mother-in-law, Auntie Comfort"),
            ("city", "Adomfe"),
        ];
        let slots = slots
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        for (role, text, want) in [
            (
                Role::User,
                "So {pet} sat there.",
                "So my cat Fader sat there.",
            ),
            (
                Role::User,
                "{pet} sat. {relative} left.",
                "My cat Fader sat. My mother-in-law, Auntie Comfort left.",
            ),
            (
                Role::Assistant,
                "Did {pet} mind?",
                "Did your cat Fader mind?",
            ),
            (
                Role::Assistant,
                "Ha! {pet} again.",
                "Ha! Your cat Fader again.",
            ),
            (
                Role::User,
                "In {city}? \"{pet} did.\"",
                "In Adomfe? \"My cat Fader did.\"",
            ),
            (Role::User, "a {set} of {1}", "a {set} of {1}"),
        ] {
            assert_eq!(fill_text(text, role, &slots), want);
        }
        assert_eq!(unknown_slots("{city} {town} { x }"), ["town"]);
    }
}
