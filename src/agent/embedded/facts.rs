//! Slots that the task itself settles: dates, times, numbers, places. Plain extraction; what is
//! not found stays empty.

use super::text::number;
use crate::bench::taxonomy::Slot;
use crate::bench::visible::Task;
use regex_lite::{Captures, Regex};
use serde_json::Value;
use std::sync::LazyLock;

macro_rules! own_regex {
    ($name:ident, $pattern:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).expect("a pattern of our own compiles"));
    };
}

own_regex!(ISO_DATE, r"\b(\d{4})-(\d\d)-(\d\d)\b");
own_regex!(
    DATE,
    r"(?i)\b(\d{1,2})(?:st|nd|rd|th)? (?:of )?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*,?(?: (\d{4}))?"
);
own_regex!(TIME, r"\b([01]?\d|2[0-3]):([0-5]\d)\b");
own_regex!(
    MONEY,
    r"(?i)(?:[$€£₦]\s?(\d[\d,]*)|(\d[\d,]*) ?(?:euros?|dollars?|rupees|pesos|pounds|zł|ringgit)\b)"
);
own_regex!(
    FROM,
    r"\b[Ff]rom ((?:\d+ )?[A-Z\u{C0}-\u{DE}ĀĄĆČĐĒĘĞİĶŁŃŅŌŐŒŘŚŞŠŪŰŹŻŽ][^,.;]*?)(?: to |[,.;]|$)"
);
own_regex!(
    TO,
    r"\b(?:to|in|at|near) ((?:the )?(?:\d+ )?[A-Z\u{C0}-\u{DE}ĀĄĆČĐĒĘĞİĶŁŃŅŌŐŒŘŚŞŠŪŰŹŻŽ][^,.;]*?)(?: for |[,.;]|$)"
);

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Whether the slot's own description says that the task settles it, or nothing else could.
pub fn is_fixed(slot: &Slot) -> bool {
    let description = slot.description.to_lowercase();
    let says_so = ["from the task", "by the task", "in the task"];
    says_so.iter().any(|phrase| description.contains(phrase))
        || (slot.options.is_none() && slot.kind == "string")
}

/// The slot's value in the task, if it can be found.
pub fn value(slot: &Slot, task: &Task) -> Option<Value> {
    let text = task.text();
    if let Some(options) = &slot.options {
        return named_option(options, &text);
    }
    match slot.kind.as_str() {
        "integer" => amount(slot, &text).map(Value::from),
        "number" => money(&text)
            .or_else(|| amount(slot, &text))
            .map(Value::from),
        "boolean" => Some(Value::Bool(is_asked_for(slot, &text))),
        _ => string(slot, task, &text).map(Value::from),
    }
}

/// An option whose words all stand in the text.
fn named_option(options: &[Value], text: &str) -> Option<Value> {
    let text = text.to_lowercase();
    let named = |option: &&Value| {
        let words = option.as_str().unwrap_or_default().to_lowercase();
        !words.is_empty() && words.split('_').all(|word| text.contains(word))
    };
    options.iter().find(named).cloned()
}

fn money(text: &str) -> Option<u64> {
    let found = MONEY.captures(text)?;
    let digits = found
        .get(1)
        .or_else(|| found.get(2))?
        .as_str()
        .replace(',', "");
    digits.parse().ok()
}

/// The number before a word that the slot's name or description shares with the text; people are
/// also counted as persons, passengers and the like.
fn amount(slot: &Slot, text: &str) -> Option<u64> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    let about = format!("{} {}", slot.name.replace('_', " "), slot.description).to_lowercase();
    let wanted = |word: &String| {
        let stem: String = word.chars().take(5).collect();
        stem.chars().count() > 3
            && about
                .split(|c: char| !c.is_alphanumeric())
                .any(|w| w.starts_with(&stem))
    };
    let ahead = |at: usize| number(&words[at.saturating_sub(3)..at]);
    let exact = (0..words.len())
        .filter(|at| wanted(&words[*at]))
        .find_map(ahead);
    exact
        .or_else(|| words.iter().enumerate().find_map(|(at, _)| ahead(at)))
        .map(|n| n as u64)
}

fn is_asked_for(slot: &Slot, text: &str) -> bool {
    let text = text.to_lowercase();
    let noun = slot.name.split('_').next().unwrap_or_default();
    text.contains(noun) && !text.contains(&format!("no {noun}"))
}

fn string(slot: &Slot, task: &Task, text: &str) -> Option<String> {
    let about = format!("{} {}", slot.name, slot.description).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| about.contains(word));
    let with_date = has(&["yyyy", "date", "iso"]);
    let with_time = has(&["hh:mm", "iso", "time"]);
    match (
        with_date.then(|| date(text)).flatten(),
        with_time.then(|| time(text)).flatten(),
    ) {
        (Some(date), Some(time)) => return Some(format!("{date}T{time}")),
        (Some(found), None) | (None, Some(found)) => return Some(found),
        _ => {}
    }
    if has(&["origin", "pickup", "start", "departure"]) {
        return first(&FROM, text);
    }
    if has(&[
        "destination",
        "dropoff",
        "city",
        "town",
        "place",
        "region",
        "address",
    ]) {
        return first(&TO, text).or_else(|| first(&FROM, text));
    }
    slot.required.then(|| task.instruction.clone())
}

fn first(pattern: &Regex, text: &str) -> Option<String> {
    let found = pattern.captures(text)?;
    found.get(1).map(|place| place.as_str().trim().to_owned())
}

/// The first date, as `YYYY-MM-DD`; one without a year is none.
fn date(text: &str) -> Option<String> {
    if let Some(iso) = ISO_DATE.find(text) {
        return Some(iso.as_str().to_owned());
    }
    let found = DATE.captures(text)?;
    let day: u32 = group(&found, 1)?.parse().ok()?;
    let month = MONTHS
        .iter()
        .position(|m| *m == group(&found, 2).unwrap_or_default().to_lowercase())?;
    let year = group(&found, 3)?;
    Some(format!("{year}-{:02}-{day:02}", month + 1))
}

fn group<'a>(found: &'a Captures<'_>, n: usize) -> Option<&'a str> {
    found.get(n).map(|m| m.as_str())
}

fn time(text: &str) -> Option<String> {
    let found = TIME.captures(text)?;
    Some(format!("{:0>2}:{}", group(&found, 1)?, group(&found, 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_what_the_task_says() {
        let task = Task {
            instruction: "Book me a car to the ferry.".to_owned(),
            content:
                "From Quay Road 7, Havnesund, to the Storvik landing. Friday, 21 November 2025, \
                      06:40. Two passengers, three nights, 30 euro at most. A reminder, no guide."
                    .to_owned(),
        };
        let cases = [
            (
                "pickup",
                "string",
                "Pickup place from the task",
                json!("Quay Road 7"),
            ),
            (
                "dropoff",
                "string",
                "Destination from the task",
                json!("the Storvik landing"),
            ),
            (
                "pickup_time",
                "string",
                "ISO time from the task",
                json!("2025-11-21T06:40"),
            ),
            (
                "check_in",
                "string",
                "Arrival date, YYYY-MM-DD",
                json!("2025-11-21"),
            ),
            ("passengers", "integer", "Number of passengers", json!(2)),
            ("nights", "integer", "Number of nights", json!(3)),
            ("max_total", "number", "Upper limit", json!(30)),
            (
                "reminder",
                "boolean",
                "Whether a reminder is sent",
                json!(true),
            ),
            (
                "guide",
                "boolean",
                "Whether a guide is booked",
                json!(false),
            ),
        ];
        for (name, kind, description, wanted) in cases {
            let slot = Slot {
                name: name.to_owned(),
                kind: kind.to_owned(),
                options: None,
                required: true,
                description: description.to_owned(),
            };
            assert_eq!(value(&slot, &task), Some(wanted), "{name}");
        }
    }
}
