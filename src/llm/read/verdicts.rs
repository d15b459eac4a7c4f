//! Binary verdicts. A word counts only when nothing speaks against it; the rest is "invalid".

use super::body::{Body, excerpt};
use super::entries::{self, Given};
use super::fields;
use super::ids::Ids;
use super::words::{head, in_text};
use super::{Read, ReadError, ReadVerdict, VerdictItem};
use crate::llm::Finish;
use serde_json::Value;

const VERDICT_NAMES: [&str; 17] = [
    "verdict",
    "met",
    "score",
    "label",
    "result",
    "pass",
    "passed",
    "satisfied",
    "fulfilled",
    "correct",
    "decision",
    "judgement",
    "judgment",
    "answer",
    "value",
    "判定",
    "结论",
];
const RATIONALE_NAMES: [&str; 9] = [
    "rationale",
    "reason",
    "explanation",
    "justification",
    "why",
    "reasoning",
    "comment",
    "analysis",
    "理由",
];
const QUOTE_NAMES: [&str; 6] = ["quote", "evidence", "excerpt", "span", "citation", "引用"];

/// One item for each of `ids`, in their order. Shape:
/// `{"verdicts": [{"id": "r1", "rationale": "…", "quote": "…", "verdict": 1}]}`; where one id is
/// expected, also a word.
pub fn verdicts(
    text: &str,
    finish: &Finish,
    ids: &[String],
) -> Result<Read<Vec<VerdictItem>>, ReadError> {
    let body = Body::new(text, finish, "verdicts")?;
    let (given, truncated, mut problems) = match entries::read(&body, ids, carries) {
        Some(found) => (found.given, found.truncated, found.problems),
        None => (in_words(&body, ids)?, body.cut, Vec::new()),
    };
    let value: Vec<VerdictItem> = ids
        .iter()
        .zip(&given)
        .map(|(id, given)| item(id, given))
        .collect();
    for item in &value {
        if let ReadVerdict::Invalid(written) = &item.verdict {
            problems.push(format!(
                "the verdict on {} is neither yes nor no: {written}",
                item.id
            ));
        }
    }
    Ok(Read {
        value,
        truncated,
        problems,
    })
}

fn carries(value: &Value) -> bool {
    match value {
        Value::Object(object) => fields::field(object, &VERDICT_NAMES).is_some(),
        Value::Array(_) => false,
        _ => true,
    }
}

fn in_words(body: &Body, ids: &[String]) -> Result<Vec<Given>, ReadError> {
    let text = body.text();
    let given = match ids {
        [_] => vec![Given::One(Value::String(text.to_owned()))],
        _ => by_line(text, ids, body.cut),
    };
    let given = match given.iter().all(|given| *given == Given::Missing) {
        true => by_place(text, ids.len(), body.cut).unwrap_or(given),
        false => given,
    };
    let readable = |given: &Given| match given {
        Given::One(value) => verdict(value).is_some(),
        _ => false,
    };
    match given.iter().any(readable) {
        true => Ok(given),
        false => Err(body.unreadable()),
    }
}

fn item(id: &str, given: &Given) -> VerdictItem {
    let mut item = VerdictItem {
        id: id.to_owned(),
        verdict: ReadVerdict::Missing,
        rationale: String::new(),
        quote: None,
    };
    match given {
        Given::Missing => {}
        Given::Conflict => {
            item.verdict = ReadVerdict::Invalid("given more than once, differently".to_owned());
        }
        Given::One(Value::Object(object)) => {
            let found = fields::field(object, &VERDICT_NAMES);
            item.verdict = found.map_or(ReadVerdict::Missing, state);
            item.rationale = fields::text(object, &RATIONALE_NAMES).unwrap_or_default();
            item.quote = fields::text(object, &QUOTE_NAMES).filter(|quote| !is_none(quote));
        }
        Given::One(value) => {
            item.verdict = state(value);
            item.rationale = rest_of(value);
        }
    }
    item
}

/// What follows the verdict in a line of text.
fn rest_of(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let head = head(text);
    let rest = text[head.len()..].trim_start_matches(|c: char| !c.is_alphanumeric());
    rest.to_owned()
}

fn is_none(quote: &str) -> bool {
    matches!(
        quote.to_lowercase().as_str(),
        "none" | "n/a" | "null" | "-" | "无"
    )
}

fn state(value: &Value) -> ReadVerdict {
    match verdict(value) {
        Some(true) => ReadVerdict::Met,
        Some(false) => ReadVerdict::NotMet,
        None => ReadVerdict::Invalid(excerpt(&value.to_string())),
    }
}

/// A verdict as models write it: `1`, `true`, `"Yes."`, `"判定：不正确"`, `{"verdict": "1"}`.
pub fn verdict(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(met) => Some(*met),
        Value::Number(number) => match number.as_f64()? {
            1.0 => Some(true),
            0.0 => Some(false),
            _ => None,
        },
        Value::String(text) => in_text(text),
        Value::Object(object) => verdict(fields::field(object, &VERDICT_NAMES)?),
        Value::Array(items) => match items.as_slice() {
            [only] => verdict(only),
            _ => None,
        },
        Value::Null => None,
    }
}

/// Lines that begin with an expected id; what follows it.
pub fn by_line(text: &str, ids: &[String], cut: bool) -> Vec<Given> {
    let mut given = vec![Given::Missing; ids.len()];
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if cut {
        lines.pop();
    }
    let parts = lines.iter().filter_map(|line| id_and_rest(line));
    let parts: Vec<(String, &str)> = parts.collect();
    let named: Vec<String> = parts.iter().map(|(id, _)| id.clone()).collect();
    let places = Ids::new(ids, &named);
    for (id, rest) in parts {
        let Some(at) = places.place(&id) else {
            continue;
        };
        given[at] = match given[at] {
            Given::Missing => Given::One(Value::String(rest.to_owned())),
            _ => Given::Conflict,
        };
    }
    given
}

/// One verdict a line: only when there is exactly one for each id.
fn by_place(text: &str, wanted: usize, cut: bool) -> Option<Vec<Given>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let verdicts = || lines.iter().all(|line| in_text(line).is_some());
    let given = || {
        lines
            .iter()
            .map(|line| Given::One(Value::String((*line).to_owned())))
    };
    (lines.len() == wanted && !cut && verdicts()).then(|| given().collect())
}

fn id_and_rest(line: &str) -> Option<(String, &str)> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "*-•|#[(`".contains(c));
    // "1. Yes", "1 - Yes": behind a number other marks part as well.
    let digits = line
        .find(|c: char| !c.is_ascii_digit())
        .filter(|end| *end > 0);
    let numbered = digits.filter(|end| {
        let rest = line[*end..].trim_start_matches('*');
        let parts = [". ", ".* ", ".** ", " - ", " – ", " — ", "、", " "];
        parts.iter().any(|part| rest.starts_with(part))
    });
    let end = match numbered {
        Some(end)
            if !line[end..]
                .trim_start_matches(' ')
                .starts_with([':', '：', '|', '=']) =>
        {
            end
        }
        _ => line.find([':', '：', '|', ']', ')', '=', '\t'])?,
    };
    let rest =
        line[end..].trim_matches(|c: char| c.is_whitespace() || "*:：|])=`.-–—、".contains(c));
    let id = line[..end].trim().trim_end_matches('*');
    (!id.is_empty() && !rest.is_empty()).then(|| (id.to_owned(), rest))
}
