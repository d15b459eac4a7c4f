//! Strings of a forgiving parser: which mark ends them, and which is part of them.

use super::value::{Parser, SEPARATORS, Step, Stop, is_blank};

/// What a string or word stands for: decides what may follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Name,
    Field,
    Item,
}

/// A kind of quotation marks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    Double,
    Single,
    /// Marks with a direction, which may nest.
    Curly,
}

impl Quote {
    pub fn opened_by(c: char) -> Option<Self> {
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
    pub fn string(&mut self, quote: Quote, place: Place) -> Step<String> {
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
