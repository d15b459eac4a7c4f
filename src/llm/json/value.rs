//! A forgiving parser for one value. It forgives form, never content: what could be read in two ways
//! is not read at all.

use super::strings::{Place, Quote};
use serde_json::{Map, Number, Value};

/// A value, and what happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// Byte offset behind the value.
    pub end: usize,
    pub truncated: bool,
    pub repaired: bool,
}

/// Nesting beyond this is refused, as `serde_json` does.
const DEEPEST: usize = 120;

/// What stands between two items.
pub const SEPARATORS: [char; 3] = [',', '，', '、'];

/// Why a value ended early.
pub enum Stop {
    /// The text ended; what was complete before is kept by the containers.
    End,
    /// Not a value.
    Unreadable,
}

pub type Step<T> = Result<T, Stop>;

pub struct Parser<'a, 'b> {
    text: &'a str,
    pub(super) at: usize,
    depth: usize,
    truncated: bool,
    /// Dots stand where the writer left something out.
    elided: bool,
    pub(super) budget: &'b mut usize,
}

impl<'a, 'b> Parser<'a, 'b> {
    pub fn new(text: &'a str, at: usize, budget: &'b mut usize) -> Self {
        Self {
            text,
            at,
            depth: 0,
            truncated: false,
            elided: false,
            budget,
        }
    }

    /// The container at the start, `None` when it cannot be read.
    pub fn parse(mut self) -> Option<Parsed> {
        let value = self.container().ok()?;
        Some(Parsed {
            value,
            end: self.at,
            truncated: self.truncated || self.elided,
            repaired: true,
        })
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character, paid from the budget.
    pub(super) fn bump(&mut self) -> Step<char> {
        let c = self.peek().ok_or(Stop::End)?;
        *self.budget = self.budget.checked_sub(1).ok_or(Stop::Unreadable)?;
        self.at += c.len_utf8();
        Ok(c)
    }

    fn eat(&mut self, wanted: &[char]) -> bool {
        let found = self.peek().filter(|c| wanted.contains(c));
        self.at += found.map_or(0, char::len_utf8);
        found.is_some()
    }

    /// Skips blanks and comments; true when a line ended among them.
    fn skip_blank(&mut self) -> Step<bool> {
        let from = self.at;
        loop {
            let rest = self.rest();
            if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or(Stop::End)?;
                self.at += end + 4;
            } else if self.peek().is_some_and(is_blank) {
                self.bump()?;
            } else {
                return Ok(self.text[from..self.at].contains('\n'));
            }
        }
    }

    /// After blanks: the text or its fence ended here.
    fn is_over(&self) -> bool {
        self.rest().is_empty() || self.rest().starts_with("```")
    }

    fn container(&mut self) -> Step<Value> {
        if self.depth == DEEPEST {
            // No model writes this; trying again one bracket further on would take for ever.
            *self.budget = 0;
            return Err(Stop::Unreadable);
        }
        self.depth += 1;
        let value = match self.bump()? {
            '{' | '｛' => self.object(),
            _ => self.array(),
        };
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Step<Value> {
        let mut fields = Map::new();
        match self.fields(&mut fields) {
            Ok(()) => {}
            Err(Stop::End) => self.truncated = true,
            Err(Stop::Unreadable) => return Err(Stop::Unreadable),
        }
        Ok(Value::Object(fields))
    }

    fn fields(&mut self, fields: &mut Map<String, Value>) -> Step<()> {
        let mut separated = true;
        loop {
            let new_line = self.skip_blank()?;
            if self.is_over() {
                return Err(Stop::End);
            }
            if self.eat(&['}', '｝']) {
                return Ok(());
            }
            // A forgotten brace: the closing bracket belongs to the list around this object.
            if self.depth > 1 && self.peek().is_some_and(|c| matches!(c, ']' | '］' | '】')) {
                return Ok(());
            }
            if self.ellipsis() {
                self.skip_to_separator()?;
                separated = self.eat(&SEPARATORS);
                continue;
            }
            if !separated && !new_line {
                return Err(Stop::Unreadable);
            }
            let name = self.name()?;
            self.skip_blank()?;
            if self.is_over() {
                return Err(Stop::End);
            }
            if !self.eat(&[':', '：']) {
                return Err(Stop::Unreadable);
            }
            let value = self.value(Place::Field)?;
            fields.insert(name, value);
            if self.truncated {
                return Ok(());
            }
            self.skip_to_separator()?;
            separated = self.eat(&SEPARATORS);
        }
    }

    fn array(&mut self) -> Step<Value> {
        let mut items = Vec::new();
        match self.items(&mut items) {
            Ok(()) => {}
            Err(Stop::End) => self.truncated = true,
            Err(Stop::Unreadable) => return Err(Stop::Unreadable),
        }
        Ok(Value::Array(items))
    }

    fn items(&mut self, items: &mut Vec<Value>) -> Step<()> {
        let mut separated = true;
        loop {
            let new_line = self.skip_blank()?;
            if self.is_over() {
                return Err(Stop::End);
            }
            if self.eat(&[']', '］', '】']) {
                return Ok(());
            }
            // A forgotten bracket: the closing brace belongs to the object around this list.
            if self.depth > 1 && self.peek().is_some_and(|c| matches!(c, '}' | '｝')) {
                return Ok(());
            }
            if self.eat(&SEPARATORS) {
                // A hole keeps its place, so that nothing after it moves.
                items.push(Value::Null);
                continue;
            }
            if self.ellipsis() {
                self.skip_to_separator()?;
                separated = self.eat(&SEPARATORS);
                continue;
            }
            if !separated && !new_line {
                return Err(Stop::Unreadable);
            }
            items.push(self.value(Place::Item)?);
            if self.truncated {
                return Ok(());
            }
            self.skip_to_separator()?;
            separated = self.eat(&SEPARATORS);
        }
    }

    /// Blanks in front of a comma only: line breaks elsewhere may stand for one.
    fn skip_to_separator(&mut self) -> Step<()> {
        let before = self.at;
        self.skip_blank()?;
        if !self.peek().is_some_and(|c| SEPARATORS.contains(&c)) {
            self.at = before;
        }
        Ok(())
    }

    /// `...`: the writer left something out.
    fn ellipsis(&mut self) -> bool {
        for dots in ["...", "……", "…"] {
            if self.rest().starts_with(dots) {
                self.at += dots.len();
                self.elided = true;
                return true;
            }
        }
        false
    }

    fn name(&mut self) -> Step<String> {
        if let Some(quote) = self.peek().and_then(Quote::opened_by) {
            return self.string(quote, Place::Name);
        }
        let rest = self.rest();
        let part = |c: char| c.is_alphanumeric() || "_-.$".contains(c);
        let end = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(Stop::Unreadable);
        }
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn value(&mut self, place: Place) -> Step<Value> {
        self.skip_blank()?;
        if self.is_over() {
            return Err(Stop::End);
        }
        let c = self.peek().ok_or(Stop::End)?;
        if let Some(quote) = Quote::opened_by(c) {
            return self.string(quote, place).map(Value::String);
        }
        match c {
            '{' | '｛' | '[' | '［' | '【' => self.container(),
            _ => self.word(place),
        }
    }

    /// A number, a literal of JSON or Python, or, as the value of a field, one bare word.
    fn word(&mut self, place: Place) -> Step<Value> {
        let rest = self.rest();
        let ends = |c: char| is_blank(c) || ",:{}[]\"'“”，、：｛｝［］】".contains(c);
        let end = rest.find(ends).ok_or(Stop::End)?;
        let word = &rest[..end];
        // A fence or a comment directly behind the word.
        let word = word.split("//").next().unwrap_or(word);
        let word = word.split("```").next().unwrap_or(word);
        self.at += word.len();
        if self.is_over() {
            return Err(Stop::End);
        }
        read_word(word, place).ok_or(Stop::Unreadable)
    }
}

pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}' | '\u{2060}')
}

fn read_word(word: &str, place: Place) -> Option<Value> {
    match word {
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        "null" | "None" | "NULL" | "Null" | "undefined" => return Some(Value::Null),
        // A number that is none.
        "NaN" | "nan" | "Infinity" | "-Infinity" | "inf" | "-inf" => return Some(Value::Null),
        _ => {}
    }
    if let Some(number) = read_number(word) {
        return Some(Value::Number(number));
    }
    let first = word.chars().next()?;
    // "1,000": the rest of a number with separators, which would shift what follows.
    let padded = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_digit());
    if place == Place::Item && padded {
        return None;
    }
    let like_a_number = first.is_numeric() || "+-.".contains(first);
    let identifier = word
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let bare = place == Place::Field && identifier;
    (bare || like_a_number).then(|| Value::String(word.to_owned()))
}

/// JSON's numbers, and `+1`, `.5`, `5.`.
fn read_number(word: &str) -> Option<Number> {
    let word = word.strip_prefix('+').unwrap_or(word);
    let tidy = match word.strip_prefix('.') {
        Some(fraction) => format!("0.{fraction}"),
        None => word.strip_suffix('.').unwrap_or(word).to_owned(),
    };
    serde_json::from_str(&tidy).ok()
}
