//! Server-sent events from bytes, by the rules of the HTML standard: lines end with LF, CRLF or CR,
//! a byte-order mark may lead, lines that begin with a colon are comments. Bytes are kept until a
//! line ends, so that no character is torn, and any split of the bytes gives the same events.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Empty when the stream named none.
    pub name: String,
    /// Data lines joined by line feeds.
    pub data: String,
}

/// The parser's state between two reads.
#[derive(Debug, Default)]
pub struct SseParser {
    /// The line so far.
    line: Vec<u8>,
    /// The last byte was a CR, so an LF that follows belongs to it.
    after_cr: bool,
    /// A first line was seen; only it can carry a byte-order mark.
    started: bool,
    pending: Pending,
}

#[derive(Debug, Default)]
struct Pending {
    name: String,
    data: String,
    has_data: bool,
}

impl SseParser {
    pub fn new() -> Self {
        Self::default()
    }

    /// The events that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    /// The event that was left open at the end. The standard drops it; servers that forget the last
    /// blank line are common, and whether the event is whole shows in its data.
    pub fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.pending.take()
    }

    fn end_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.started, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.pending.take();
        }
        self.pending.field(&String::from_utf8_lossy(&line));
        None
    }
}

impl Pending {
    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.name),
            // Comments have an empty name; `id` and `retry` are of no use to a single answer.
            _ => {}
        }
    }

    fn take(&mut self) -> Option<Event> {
        let pending = std::mem::take(self);
        pending.has_data.then_some(Event {
            name: pending.name,
            data: pending.data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(stream: &[u8]) -> Vec<(String, String)> {
        let mut parser = SseParser::new();
        let mut events = parser.push(stream);
        events.extend(parser.finish());
        events
            .into_iter()
            .map(|event| (event.name, event.data))
            .collect()
    }

    fn check(stream: &str, expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
            .collect();
        assert_eq!(events(stream.as_bytes()), expected, "{stream:?}");
    }

    #[test]
    fn every_line_end_counts() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = format!("data: a{end}{end}event: x{end}data: b{end}data:c{end}{end}");
            check(&stream, &[("", "a"), ("x", "b\nc")]);
        }
    }

    #[test]
    fn marks_comments_and_blank_lines_give_nothing() {
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check(": ping\n\n\n\n:\n\n", &[]);
        check("event: ping\n\n", &[]);
        check("data\n\n", &[("", "")]);
        check("data:  two\n\n", &[("", " two")]);
        check("id: 1\nretry: 5\nnonsense\ndata: a\n\n", &[("", "a")]);
    }

    #[test]
    fn the_last_event_needs_no_blank_line() {
        check("data: [DONE]", &[("", "[DONE]")]);
        check("data: [DONE]\n", &[("", "[DONE]")]);
    }
}
