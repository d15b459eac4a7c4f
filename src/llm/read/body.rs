//! What all readers share: the JSON of an answer, and the sentence when there is none.

use super::{ReadError, fields};
use crate::llm::Finish;
use crate::llm::json::{self, Candidate, Found};
use serde_json::Value;

/// Longest piece of an answer quoted in an error.
const SHOWN_CHARS: usize = 200;

/// An answer taken apart.
pub struct Body {
    found: Found,
    /// The output limit ended the answer.
    pub cut: bool,
    wanted: &'static str,
}

impl Body {
    /// `wanted` names what is looked for, for example "verdicts".
    pub fn new(text: &str, finish: &Finish, wanted: &'static str) -> Result<Self, ReadError> {
        let found = json::find(text);
        let cut = *finish == Finish::Length;
        if text.trim().is_empty() {
            return Err(if cut {
                ReadError::Cut { wanted }
            } else {
                ReadError::Empty
            });
        }
        if found.only_reasoning || found.answer.is_empty() {
            return Err(if cut {
                ReadError::Cut { wanted }
            } else {
                ReadError::ReasoningOnly
            });
        }
        Ok(Self { found, cut, wanted })
    }

    /// The answer without reasoning.
    pub fn text(&self) -> &str {
        &self.found.answer
    }

    pub fn candidates(&self) -> &[Candidate] {
        &self.found.candidates
    }

    /// What the first candidate gives that fits, as it is or out of a wrapping; with whether it was
    /// cut.
    pub fn first<T>(&self, read: impl Fn(&Value) -> Option<T>) -> Option<(T, bool)> {
        let candidates = self.candidates().iter();
        let mut plain =
            candidates.filter_map(|found| read(&found.value).map(|read| (read, found.truncated)));
        plain.next().or_else(|| {
            let candidates = self.candidates().iter();
            let mut wrapped = candidates.filter_map(|found| {
                let inner = unwrapped(&found.value)?;
                read(&inner).map(|read| (read, found.truncated))
            });
            wrapped.next()
        })
    }

    /// Why nothing could be read.
    pub fn unreadable(&self) -> ReadError {
        let excerpt = excerpt(self.text());
        if is_refusal(self.text()) {
            return ReadError::Refused { excerpt };
        }
        let wanted = self.wanted;
        match self.cut {
            true => ReadError::Cut { wanted },
            false => ReadError::Unreadable { wanted, excerpt },
        }
    }

    /// Lines of a list in plain text, without their bullets; `None` when the answer is no list.
    /// `bare` also takes lines without bullets.
    pub fn lines(&self, bare: bool) -> Option<Vec<String>> {
        if !self.candidates().is_empty() || is_refusal(self.text()) || is_broken_json(self.text()) {
            return None;
        }
        let lines = self.text().lines().map(str::trim);
        let mut lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        if self.cut {
            // The last line may be half.
            lines.pop();
        }
        let listed: Vec<String> = lines
            .iter()
            .filter_map(|line| without_bullet(line))
            .collect();
        if !listed.is_empty() {
            return Some(listed);
        }
        let bare_lines = lines.iter().filter(|line| !is_preamble(line));
        let bare_lines = bare_lines
            .map(|line| unquoted(line))
            .filter(|line| !line.is_empty());
        let bare_lines: Vec<String> = bare_lines.collect();
        (bare && !bare_lines.is_empty() && !is_talk(&bare_lines)).then_some(bare_lines)
    }
}

/// `{"result": {…}}`, `[{…}]`, and the arguments of a call, also as text.
fn unwrapped(value: &Value) -> Option<Value> {
    const WRAPPINGS: [&str; 10] = [
        "result",
        "results",
        "response",
        "output",
        "data",
        "answer",
        "arguments",
        "parameters",
        "input",
        "json",
    ];
    let inner = match value {
        Value::Array(items) if items.len() == 1 => items.first()?,
        Value::Object(object) => {
            let only = || object.values().next().filter(|_| object.len() == 1);
            fields::field(object, &WRAPPINGS).or_else(only)?
        }
        _ => return None,
    };
    match inner {
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Object(_) | Value::Array(_) => Some(inner.clone()),
        _ => None,
    }
}

/// Meant as JSON but not readable as such: its lines are no list.
fn is_broken_json(text: &str) -> bool {
    let opens = |line: &str| line.starts_with(['{', '｛', '[', '［', '【']);
    text.lines().any(|line| opens(line.trim())) || text.contains("\":")
}

/// "Here are the queries:" and headings.
fn is_preamble(line: &str) -> bool {
    line.ends_with([':', '：']) || line.starts_with('#') || line.starts_with("```")
}

/// Whether bare lines talk instead of listing: one has several sentences or is very long, or all
/// there is is one statement.
fn is_talk(lines: &[String]) -> bool {
    const LONGEST_CHARS: usize = 200;
    const ENDS: [char; 4] = ['.', '!', '。', '！'];
    let goes_on = |line: &String| {
        let inner = line.trim_end_matches(ENDS);
        let latin = [". ", "! ", "? "].iter().any(|end| {
            let mut rests = inner.split(end).skip(1);
            rests.any(|rest| rest.starts_with(char::is_uppercase))
        });
        latin || inner.contains(['。', '！']) || line.chars().count() > LONGEST_CHARS
    };
    lines.iter().any(goes_on) || matches!(lines, [only] if only.ends_with(ENDS))
}

fn without_bullet(line: &str) -> Option<String> {
    let marked = ["- ", "* ", "• ", "– ", "+ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark));
    let rest = marked.or_else(|| {
        let digits = line
            .find(|c: char| !c.is_ascii_digit())
            .filter(|at| *at > 0 && *at < 4)?;
        let rest = &line[digits..];
        ['.', ')', '、', ':']
            .iter()
            .find_map(|mark| rest.strip_prefix(*mark))
    })?;
    let text = unquoted(rest);
    (!text.is_empty()).then_some(text)
}

fn unquoted(text: &str) -> String {
    let text = text.trim().trim_end_matches(',');
    let pairs = [('"', '"'), ('“', '”'), ('\'', '\''), ('`', '`')];
    let inner = pairs.iter().find_map(|(open, close)| {
        text.strip_prefix(*open)
            .and_then(|rest| rest.strip_suffix(*close))
    });
    inner.unwrap_or(text).trim().to_owned()
}

pub fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A model that declines says so at the start.
pub fn is_refusal(text: &str) -> bool {
    const WORDS: [&str; 22] = [
        "i'm sorry",
        "i am sorry",
        "i apologize",
        "i apologise",
        "sorry, but",
        "i cannot",
        "i can't",
        "i can not",
        "i won't",
        "i will not",
        "i'm unable",
        "i am unable",
        "i'm not able",
        "i am not able",
        "i must decline",
        "as an ai",
        "i do not feel comfortable",
        "对不起",
        "抱歉",
        "我无法",
        "我不能",
        "无法协助",
    ];
    let start: String = text.chars().take(160).collect();
    let start = start.to_lowercase().replace('’', "'");
    WORDS.iter().any(|word| start.contains(word))
}
