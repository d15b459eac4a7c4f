//! A forgiving parser for one value. It forgives form, never content: what could be read in two ways
//! is not read at all.

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
const SEPARATORS: [char; 3] = [',', '，', '、'];

/// Why a value ended early.
enum Stop {
    /// The text ended; what was complete before is kept by the containers.
    End,
    /// Not a value.
    Unreadable,
}

type Step<T> = Result<T, Stop>;

pub struct Parser<'a, 'b> {
    text: &'a str,
    at: usize,
    depth: usize,
    truncated: bool,
    /// Dots stand where the writer left something out.
    elided: bool,
    budget: &'b mut usize,
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

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character, paid from the budget.
    fn bump(&mut self) -> Step<char> {
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

/// What a string or word stands for: decides what may follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Name,
    Field,
    Item,
}

/// A kind of quotation marks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Double,
    Single,
    /// Marks with a direction, which may nest.
    Curly,
}

impl Quote {
    fn opened_by(c: char) -> Option<Self> {
        match c {
            '"' | '＂' => Some(Quote::Double),
            '\'' | '＇' => Some(Quote::Single),
            '“' | '”' | '„' | '‘' | '’' | '「' => Some(Quote::Curly),
            _ => None,
        }
    }

    /// Marks of the other kind that some models close with; `“` only opens what they would close.
    fn may_end_with(self, c: char) -> bool {
        match self {
            Quote::Double => matches!(c, '“' | '”'),
            Quote::Single => false,
            Quote::Curly => c == '"',
        }
    }

    /// Whether `c` is a mark of this kind, opening or closing.
    fn has(self, c: char) -> bool {
        match self {
            Quote::Double => matches!(c, '"' | '＂'),
            Quote::Single => matches!(c, '\'' | '＇'),
            Quote::Curly => matches!(c, '“' | '”' | '‘' | '’' | '」'),
        }
    }
}

impl Parser<'_, '_> {
    /// A string. A mark closes it when structure follows; others are quotations inside, which have
    /// to be in pairs, or it cannot be told where the string ends.
    fn string(&mut self, quote: Quote, place: Place) -> Step<String> {
        if let Some(triple) = ["\"\"\"", "'''"]
            .into_iter()
            .find(|t| self.rest().starts_with(t))
        {
            return self.triple(triple);
        }
        self.bump()?;
        let mut out = String::new();
        let mut inner = Inner::default();
        let mut before = None;
        loop {
            let c = self.bump()?;
            if c == '\\' {
                self.escape(&mut out)?;
                before = Some('\\');
                continue;
            }
            if quote.has(c) || quote.may_end_with(c) {
                let structure = self.structure_follows(place)?;
                if inner.mark(quote, c, structure, before, self.peek())? {
                    return Ok(out);
                }
            }
            out.push(c);
            before = Some(c);
        }
    }

    /// Python's long strings.
    fn triple(&mut self, marks: &str) -> Step<String> {
        let rest = &self.rest()[marks.len()..];
        let end = rest.find(marks).ok_or(Stop::End)?;
        self.at += 2 * marks.len() + end;
        Ok(rest[..end].to_owned())
    }

    /// Whether what follows the mark just read shows that the string is over.
    fn structure_follows(&mut self, place: Place) -> Step<bool> {
        let rest = self.rest();
        let next = rest.trim_start_matches(is_blank);
        *self.budget = self
            .budget
            .checked_sub(rest.len() - next.len())
            .ok_or(Stop::Unreadable)?;
        let new_line = rest[..rest.len() - next.len()].contains('\n');
        if next.is_empty() || next.starts_with("```") {
            return Ok(true);
        }
        let c = next.chars().next().unwrap_or_default();
        let comment = ["//", "/*"].iter().any(|start| next.starts_with(start)) || c == '#';
        Ok(match place {
            Place::Name => matches!(c, ':' | '：'),
            Place::Field | Place::Item => {
                let closes = matches!(c, '}' | '｝' | ']' | '］' | '】');
                let next_value = new_line && Quote::opened_by(c).is_some();
                SEPARATORS.contains(&c) || closes || comment || next_value
            }
        })
    }

    fn escape(&mut self, out: &mut String) -> Step<()> {
        match self.bump()? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => return self.unicode(out),
            c @ ('"' | '\'' | '\\' | '/' | '“' | '”' | '\n') => out.push(c),
            // `\d`, `\(`: a pattern or a formula whose backslash was not doubled.
            other => out.extend(['\\', other]),
        }
        Ok(())
    }

    fn unicode(&mut self, out: &mut String) -> Step<()> {
        let first = self.hex4()?;
        let low = self
            .rest()
            .strip_prefix("\\u")
            .and_then(|rest| rest.get(..4));
        let low = low.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let pair = low.and_then(|low| char::decode_utf16([first, low]).next()?.ok());
        match (pair, char::from_u32(u32::from(first))) {
            (_, Some(c)) => out.push(c),
            (Some(c), None) => {
                self.at += 6;
                out.push(c);
            }
            // Half of a pair stands for nothing.
            (None, None) => out.push(char::REPLACEMENT_CHARACTER),
        }
        Ok(())
    }

    fn hex4(&mut self) -> Step<u16> {
        if self.rest().len() < 4 {
            return Err(Stop::End);
        }
        let digits = self.rest().get(..4).ok_or(Stop::Unreadable)?;
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| Stop::Unreadable)
    }
}

/// Quotations inside a string. Unescaped marks are told apart by what touches them; one that fits
/// no quotation makes the string's end uncertain.
#[derive(Default)]
struct Inner {
    /// One in marks of the string's own kind is open.
    own: bool,
    /// One in marks of the other kind is open.
    other: bool,
}

impl Inner {
    /// Takes a mark; true when it ends the string. `structure` says that structure follows it.
    fn mark(
        &mut self,
        quote: Quote,
        mark: char,
        structure: bool,
        before: Option<char>,
        after: Option<char>,
    ) -> Step<bool> {
        if !quote.has(mark) {
            // Opened with one kind and closed with the other, where nothing of that kind is open.
            let ends = structure && !self.own && !self.other;
            self.other = matches!(mark, '“' | '‘') || (mark == '"' && !self.other);
            return Ok(ends);
        }
        // A mark with a direction says itself that it closes what is inside.
        let closes_inner = quote == Quote::Curly && self.own && matches!(mark, '”' | '’' | '」');
        match structure {
            true if !self.own => return Ok(true),
            true if !closes_inner => return Err(Stop::Unreadable),
            _ => {}
        }
        self.own = inner_is_open(quote, mark, self.own, before, after)?;
        Ok(false)
    }
}

/// Whether a quotation is open after a mark of the string's own kind inside it.
fn inner_is_open(
    quote: Quote,
    mark: char,
    open: bool,
    before: Option<char>,
    after: Option<char>,
) -> Step<bool> {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let blank = |c: Option<char>| c.is_none_or(is_blank);
    match quote {
        // With a direction: nothing to guess, but only one level is followed.
        Quote::Curly => Ok(matches!(mark, '“' | '‘')),
        // An apostrophe, or the end of a plural's genitive.
        Quote::Single if letter(before) && (letter(after) || !open) => Ok(open),
        _ if open && !blank(before) => Ok(false),
        _ if open || blank(after) => Err(Stop::Unreadable),
        _ if before.is_some_and(|c| c.is_ascii_alphanumeric()) => Err(Stop::Unreadable),
        _ => Ok(true),
    }
}

fn is_blank(c: char) -> bool {
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
