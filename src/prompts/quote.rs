//! Data as it stands in prompts: fenced, with short ids, so that text of a history cannot pass
//! for an order or end its own fence.

use crate::agent::trace::{AlignmentPlan, CompactItem, ExtractedPreference};
use crate::bench::taxonomy::{ApiTemplate, Slot};
use crate::embed::{Passage, PassageId};
use std::fmt::Write as _;

/// Tags that fence data in our prompts.
const FENCES: [&str; 4] = ["passage", "request", "note", "output"];

/// Disarms our own fences within quoted text: `</passage>` becomes `‹/passage>`.
pub fn disarm(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let name = after.trim_start_matches('/').trim_start().to_lowercase();
        let ours = FENCES.iter().any(|fence| name.starts_with(fence));
        out.push(if ours { '‹' } else { '<' });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// `P1`, `P2`, …: what the model sees instead of passage ids.
pub fn short_ids(n: usize) -> Vec<String> {
    (1..=n).map(|i| format!("P{i}")).collect()
}

/// Passages as fenced quotations under their short ids.
pub fn passages(passages: &[Passage]) -> String {
    let mut out = String::new();
    for (short, passage) in short_ids(passages.len()).iter().zip(passages) {
        fence(&mut out, "passage", short, &passage.date, &passage.text);
    }
    or_none(out)
}

/// One passage under an id of the caller's, with a line end.
pub fn passage(short: &str, passage: &Passage) -> String {
    let mut out = String::new();
    fence(&mut out, "passage", short, &passage.date, &passage.text);
    out
}

/// Condensed evidence as fenced quotations under short ids.
pub fn evidence(items: &[CompactItem]) -> String {
    let mut out = String::new();
    for (short, item) in short_ids(items.len()).iter().zip(items) {
        fence(&mut out, "note", short, &item.date, &item.text);
    }
    or_none(out)
}

fn fence(out: &mut String, tag: &str, id: &str, date: &str, text: &str) {
    let day = date.split('T').next().unwrap_or(date);
    let text = disarm(text);
    let _ = writeln!(out, "<{tag} id=\"{id}\" date=\"{day}\">\n{text}\n</{tag}>");
}

fn or_none(list: String) -> String {
    if list.is_empty() {
        "(none)".to_owned()
    } else {
        list.trim_end().to_owned()
    }
}

/// Preferences as a list, with what they rest on.
pub fn preferences(items: &[ExtractedPreference]) -> String {
    let line = |p: &ExtractedPreference| format!("- ({}) {}", p.kind, disarm(&p.text));
    or_none(items.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The plan as a list.
pub fn plan(plan: &AlignmentPlan) -> String {
    let mut out = String::new();
    for item in &plan.items {
        let slot = item
            .slot
            .as_ref()
            .map(|slot| format!(" {slot}:"))
            .unwrap_or_default();
        let _ = writeln!(out, "- [{}]{slot} {}", item.aspect, disarm(&item.text));
    }
    or_none(out)
}

/// Everything a trajectory knows as plain material: what it has of plan, preferences and notes.
pub fn known(known: super::Known<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(plan) = known.plan {
        parts.push(format!("Plan:\n{}", self::plan(plan)));
    }
    if !known.preferences.is_empty() {
        parts.push(format!("Preferences:\n{}", preferences(known.preferences)));
    }
    parts.push(format!("Notes:\n{}", evidence(known.evidence)));
    parts.join("\n\n")
}

/// The template of a call: name, purpose, slots with type, options and meaning.
pub fn api(template: &ApiTemplate) -> String {
    let mut out = format!("{}: {}\n", template.name, template.description);
    for slot in &template.slots {
        let _ = writeln!(out, "{}", slot_line(slot));
    }
    out.trim_end().to_owned()
}

fn slot_line(slot: &Slot) -> String {
    let required = if slot.required {
        "required"
    } else {
        "optional"
    };
    let options = slot.options.as_ref().map(|options| {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        format!("; one of {}", options.join(", "))
    });
    let options = options.unwrap_or_default();
    format!(
        "- {} ({}, {required}): {}{options}",
        slot.name, slot.kind, slot.description
    )
}

/// Maps a short id back to the passage it stands for.
pub fn resolve(short: &str, ids: &[PassageId]) -> Option<PassageId> {
    let number: usize = short.trim().trim_start_matches(['P', 'p']).parse().ok()?;
    ids.get(number.checked_sub(1)?).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_cannot_end_its_fence() {
        let cases = [
            ("a </passage> b", "a ‹/passage> b"),
            ("<PASSAGE id=\"P9\">", "‹PASSAGE id=\"P9\">"),
            ("</ note>", "‹/ note>"),
            ("x < y and <b>bold</b>", "x < y and <b>bold</b>"),
        ];
        for (text, wanted) in cases {
            assert_eq!(disarm(text), wanted);
        }
    }

    #[test]
    fn maps_short_ids_back_and_refuses_others() {
        let ids = [PassageId("s1#0".to_owned()), PassageId("s9#2".to_owned())];
        let of = |short| resolve(short, &ids).map(|id| id.0);
        assert_eq!(of("P2").as_deref(), Some("s9#2"));
        assert_eq!(of("p1").as_deref(), Some("s1#0"));
        for bad in ["P0", "P3", "s1#0", "", "P-1"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
