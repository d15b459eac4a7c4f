//! Scores of 0 to 10.

use super::body::Body;
use super::entries::{self, Given};
use super::fields::{self, snake};
use super::{Read, ReadError, ReadScore, SalienceItem};
use crate::llm::Finish;
use serde_json::Value;

const SCORE_NAMES: [&str; 8] = [
    "score",
    "salience",
    "salience_score",
    "rating",
    "relevance",
    "value",
    "分数",
    "评分",
];
const SIGNAL_NAMES: [&str; 4] = ["signals", "signal", "signal_types", "cues"];

/// One item for each of `ids`, in their order.
/// Shape: `{"scores": [{"id": "p1", "score": 7, "signals": ["complaint"]}]}`; also a map from id to
/// score, or bare scores in order when there is one for each id.
pub fn salience(
    text: &str,
    finish: &Finish,
    ids: &[String],
) -> Result<Read<Vec<SalienceItem>>, ReadError> {
    let body = Body::new(text, finish, "scores")?;
    let Some(found) = entries::read(&body, ids, carries) else {
        return in_lines(&body, ids).ok_or_else(|| body.unreadable());
    };
    let mut problems = found.problems;
    let items = ids
        .iter()
        .zip(found.given)
        .map(|(id, given)| item(id, &given));
    let value: Vec<SalienceItem> = items.collect();
    for item in &value {
        if let ReadScore::Invalid(written) = &item.score {
            problems.push(format!(
                "the score {written} of {} is none of 0 to 10",
                item.id
            ));
        }
    }
    Ok(Read {
        value,
        truncated: found.truncated,
        problems,
    })
}

fn carries(value: &Value) -> bool {
    match value {
        Value::Object(object) => fields::field(object, &SCORE_NAMES).is_some(),
        Value::Array(_) => false,
        _ => true,
    }
}

fn item(id: &str, given: &Given) -> SalienceItem {
    let (score, signals) = match given {
        Given::Missing => (ReadScore::Missing, Vec::new()),
        Given::Conflict => (
            ReadScore::Invalid("(two different ones)".to_owned()),
            Vec::new(),
        ),
        Given::One(Value::Object(object)) => {
            let found = fields::field(object, &SCORE_NAMES).map(score);
            let signals = fields::texts(object, &SIGNAL_NAMES);
            (
                found.unwrap_or(ReadScore::Missing),
                signals.iter().map(|signal| snake(signal)).collect(),
            )
        }
        Given::One(value) => (score(value), Vec::new()),
    };
    SalienceItem {
        id: id.to_owned(),
        score,
        signals,
    }
}

/// `p1: 7` line by line, or one score where one was asked for.
fn in_lines(body: &Body, ids: &[String]) -> Option<Read<Vec<SalienceItem>>> {
    let text = body.text();
    let given: Vec<Given> = match ids {
        [_] => vec![Given::One(Value::String(text.to_owned()))],
        _ => super::verdicts::by_line(text, ids, body.cut),
    };
    let given = match given.iter().all(|given| *given == Given::Missing) {
        true => by_place(text, ids.len(), body.cut)?,
        false => given,
    };
    let items = ids.iter().zip(&given).map(|(id, given)| item(id, given));
    let value: Vec<SalienceItem> = items.collect();
    let any = value
        .iter()
        .any(|item| matches!(item.score, ReadScore::Score(_)));
    let missing = value
        .iter()
        .filter(|item| item.score == ReadScore::Missing)
        .count();
    any.then(|| Read {
        value,
        truncated: body.cut,
        problems: (missing > 0)
            .then(|| format!("{missing} of {} items are missing", ids.len()))
            .into_iter()
            .collect(),
    })
}

/// `8, 3, 7` or one score a line: only when there is exactly one for each id.
fn by_place(text: &str, wanted: usize, cut: bool) -> Option<Vec<Given>> {
    let pieces = text.split([',', '，', '、', ';', '\n', ' ']).map(str::trim);
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    let scores = || pieces.iter().all(|piece| in_text(piece).is_some());
    let given = || {
        pieces
            .iter()
            .map(|piece| Given::One(Value::String((*piece).to_owned())))
    };
    (pieces.len() == wanted && !cut && scores()).then(|| given().collect())
}

/// A score of 0 to 10 as models write it: `8`, `"8/10"`, `"９分"`. Out of range, on another scale,
/// a word or a truth value is invalid, never clamped.
pub fn score(value: &Value) -> ReadScore {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => in_text(text),
        _ => None,
    };
    match number {
        // Minus nought is nought.
        Some(number) if (0.0..=10.0).contains(&number) => ReadScore::Score(number.abs()),
        _ => ReadScore::Invalid(super::body::excerpt(&value.to_string())),
    }
}

fn in_text(text: &str) -> Option<f64> {
    let text = narrow(text);
    let text =
        without_label(text.trim_matches(|c: char| c.is_whitespace() || "*_`\"'".contains(c)));
    let text = text.trim_matches(|c: char| c.is_whitespace() || "*_`\"'".contains(c));
    let text = without_remark(text).trim_end_matches(['.', '。', ',', '，', '!', '！']);
    let (own, scale) = match text
        .split_once('/')
        .or_else(|| text.split_once(" out of "))
        .or_else(|| text.split_once(" of "))
    {
        Some((own, scale)) => (own, Some(scale)),
        None => (text, None),
    };
    if scale.is_some_and(|scale| plain_number(without_unit(scale)) != Some(10.0)) {
        return None;
    }
    plain_number(without_unit(own)).or_else(|| in_chinese(without_unit(own)))
}

/// "8/10 - relevant", "8 (high)", "8分（满分10分）": without the remark, unless numbers in it could
/// mean another scale.
fn without_remark(text: &str) -> &str {
    let starts = [" - ", " – ", " — ", "(", "（", ", ", "，", "; ", "；"];
    let Some(at) = starts.iter().filter_map(|start| text.find(start)).min() else {
        return text;
    };
    let (own, remark) = text.split_at(at);
    let digits: String = remark.chars().filter(char::is_ascii_digit).collect();
    let scale = ["满分", "out of"].iter().any(|word| remark.contains(word));
    match digits.is_empty() || (digits == "10" && scale) {
        true => own.trim_end(),
        false => text,
    }
}

/// 八, 七点五.
fn in_chinese(text: &str) -> Option<f64> {
    let digit = |text: &str| -> Option<f64> {
        let all = [
            "零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十",
        ];
        let found = all.iter().position(|word| *word == text).or(match text {
            "〇" => Some(0),
            "两" => Some(2),
            _ => None,
        })?;
        Some(found as f64)
    };
    match text.split_once('点') {
        Some((whole, tenths)) => Some(digit(whole)? + digit(tenths)? / 10.0),
        None => digit(text),
    }
}

/// Full-width digits and marks as ASCII ones.
pub fn narrow(text: &str) -> String {
    let narrow = |c: char| match c {
        '０'..='９' | '．' | '／' | '－' | '＋' | '：' | '％' => {
            char::from_u32(c as u32 - 0xFEE0).unwrap_or(c)
        }
        other => other,
    };
    text.chars().map(narrow).collect()
}

fn without_label(text: &str) -> &str {
    let labels = ["score", "salience", "rating", "评分", "得分", "分数"];
    let lower = text.to_ascii_lowercase();
    let label = labels.iter().find(|label| lower.starts_with(**label));
    let rest = label.map(|label| text[label.len()..].trim_start_matches(['*', ' ']));
    let value = rest.and_then(|rest| rest.strip_prefix([':', '=', '为']));
    value.unwrap_or(text)
}

fn without_unit(text: &str) -> &str {
    let text = text.trim();
    let units = ["分", "points", "point", "pts"];
    let bare = units.iter().find_map(|unit| text.strip_suffix(unit));
    bare.unwrap_or(text).trim_end()
}

/// Digits with a point or an exponent; `inf`, `nan` and the like are no numbers here.
fn plain_number(text: &str) -> Option<f64> {
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let number = (digits && plain)
        .then(|| text.parse::<f64>().ok())
        .flatten();
    number.filter(|number| number.is_finite())
}
