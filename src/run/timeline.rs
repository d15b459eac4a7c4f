//! A history as a timeline: months, search, marks, and the text of a session cut where passages
//! and search words begin and end.

use crate::bench::hidden::{Evidence, HiddenInstance, Signal};
use crate::bench::ids::{PreferenceId, SessionId};
use crate::bench::visible::{History, Role, Session};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Sessions by date, ready to list and search.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub rows: Vec<Row>,
    pub turns: usize,
    /// Session id to index of its row.
    index: HashMap<SessionId, usize>,
}

/// One session in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub id: SessionId,
    pub date: Date,
    /// First line of the first user turn.
    pub opener: String,
    pub turns: usize,
    /// All turns in lower case, for search.
    haystack: String,
}

/// A date of the data set, without zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    pub year: u16,
    /// 1 to 12; 0 where the text was no date.
    pub month: u8,
    pub day: u8,
    /// `19:04`, or empty.
    pub time: String,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Days of a common year before each month.
const BEFORE: [u16; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

impl Date {
    /// Reads `2025-03-02T19:04:00`; what cannot be read is zero.
    pub fn parse(text: &str) -> Self {
        let (date, time) = text.split_once('T').unwrap_or((text, ""));
        let mut parts = date.splitn(3, '-');
        let mut next = || {
            parts
                .next()
                .and_then(|part| part.parse::<u16>().ok())
                .unwrap_or(0)
        };
        let (year, month, day) = (next(), next(), next());
        let month = if (1..=12).contains(&month) {
            month as u8
        } else {
            0
        };
        let day = if (1..=31).contains(&day) {
            day as u8
        } else {
            0
        };
        Self {
            year,
            month,
            day,
            time: time.get(..5).unwrap_or("").to_owned(),
        }
    }

    /// `March 2025`.
    pub fn month_label(&self) -> String {
        match self.month_name() {
            Some(name) => format!("{name} {}", self.year),
            None => "without date".to_owned(),
        }
    }

    /// `2 Mar`.
    pub fn day_label(&self) -> String {
        match self.month_name() {
            Some(name) => format!("{} {}", self.day, &name[..3]),
            None => "?".to_owned(),
        }
    }

    /// `2 March 2025, 19:04`.
    pub fn long_label(&self) -> String {
        match self.month_name() {
            Some(name) if self.time.is_empty() => format!("{} {name} {}", self.day, self.year),
            Some(name) => format!("{} {name} {}, {}", self.day, self.year, self.time),
            None => "without date".to_owned(),
        }
    }

    fn month_name(&self) -> Option<&'static str> {
        MONTHS.get(usize::from(self.month).checked_sub(1)?).copied()
    }

    /// Day of the year from 0; leap days fall on the first of March, which a drawing forgives.
    pub fn day_of_year(&self) -> u16 {
        match usize::from(self.month).checked_sub(1) {
            Some(month) => BEFORE[month] + u16::from(self.day.max(1)) - 1,
            None => 0,
        }
    }
}

/// Which sessions the list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    #[default]
    All,
    /// Sessions a query found.
    Retrieved,
    /// Sessions that reveal a preference.
    Evidence,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Name of a month and its sessions in the list.
    Month(String, usize),
    /// Index of a row.
    Session(usize),
}

impl Timeline {
    pub fn new(history: &History) -> Self {
        let rows: Vec<Row> = history.sessions.iter().map(row).collect();
        let index = rows
            .iter()
            .enumerate()
            .map(|(at, row)| (row.id.clone(), at))
            .collect();
        let turns = rows.iter().map(|row| row.turns).sum();
        Self { rows, turns, index }
    }

    /// Index of a session's row.
    pub fn position(&self, session: &SessionId) -> Option<usize> {
        self.index.get(session).copied()
    }

    /// Rows that contain every word of the query and pass `keep`.
    pub fn search(&self, query: &str, keep: impl Fn(&SessionId) -> bool) -> Vec<usize> {
        let words = words(query);
        (0..self.rows.len())
            .filter(|at| {
                let row = &self.rows[*at];
                keep(&row.id) && words.iter().all(|word| row.haystack.contains(word))
            })
            .collect()
    }

    /// The rows with a line before each month.
    pub fn lines(&self, rows: &[usize]) -> Vec<Line> {
        let month = |at: &usize| (self.rows[*at].date.year, self.rows[*at].date.month);
        let mut lines = Vec::with_capacity(rows.len() + 13);
        for group in rows.chunk_by(|a, b| month(a) == month(b)) {
            let label = self.rows[group[0]].date.month_label();
            lines.push(Line::Month(label, group.len()));
            lines.extend(group.iter().map(|at| Line::Session(*at)));
        }
        lines
    }

    /// Sessions in each of the 53 weeks of a year, all years laid over one another.
    pub fn weeks(&self) -> [u16; 53] {
        let mut weeks = [0; 53];
        for row in &self.rows {
            weeks[usize::from(row.date.day_of_year() / 7).min(52)] += 1;
        }
        weeks
    }
}

fn row(session: &Session) -> Row {
    let opener = session
        .turns
        .iter()
        .find(|turn| turn.role == Role::User)
        .and_then(|turn| turn.text.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or("(no user turn)");
    let texts: Vec<String> = session
        .turns
        .iter()
        .map(|turn| turn.text.to_lowercase())
        .collect();
    Row {
        id: session.id.clone(),
        date: Date::parse(&session.date),
        opener: opener.trim().to_owned(),
        turns: session.turns.len(),
        haystack: texts.join("\n"),
    }
}

/// The lower-case words of a query.
pub fn words(query: &str) -> Vec<String> {
    query.split_whitespace().map(str::to_lowercase).collect()
}

/// What a session reveals, for readers who may see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Revealed {
    pub signals: Vec<Signal>,
    pub preferences: Vec<PreferenceId>,
    /// Texts of the preferences, in the same order.
    pub texts: Vec<String>,
}

/// Evidence by session.
pub fn evidence(hidden: &HiddenInstance) -> BTreeMap<SessionId, Revealed> {
    let mut by_session: BTreeMap<SessionId, Revealed> = BTreeMap::new();
    for item in &hidden.evidence {
        let revealed = by_session
            .entry(item.session.clone())
            .or_insert_with(|| Revealed {
                signals: Vec::new(),
                preferences: Vec::new(),
                texts: Vec::new(),
            });
        add(revealed, item, hidden);
    }
    by_session
}

fn add(revealed: &mut Revealed, item: &Evidence, hidden: &HiddenInstance) {
    if !revealed.signals.contains(&item.signal) {
        revealed.signals.push(item.signal);
    }
    for preference in hidden
        .preferences
        .iter()
        .filter(|p| item.reveals.contains(&p.id))
    {
        if !revealed.preferences.contains(&preference.id) {
            revealed.preferences.push(preference.id.clone());
            revealed.texts.push(preference.text.clone());
        }
    }
}

/// A turn cut into pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Bubble {
    pub role: Role,
    pub pieces: Vec<Piece>,
}

/// A run of text with the same marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    /// Index of the first passage that covers it.
    pub passage: Option<usize>,
    /// A word searched for.
    pub found: bool,
}

/// Byte ranges of passages within [`Session::render`]; a passage whose text is not there, for
/// example one of another data set, has none.
pub fn spans(session: &Session, passages: &[&str]) -> Vec<Option<Range<usize>>> {
    let rendered = session.render();
    let find = |text: &&str| rendered.find(*text).map(|start| start..start + text.len());
    passages.iter().map(find).collect()
}

/// The turns of a session, cut at passages (see [`spans`]) and at the words searched for.
pub fn bubbles(session: &Session, spans: &[Option<Range<usize>>], words: &[String]) -> Vec<Bubble> {
    let mut start = 0;
    let mut bubbles = Vec::with_capacity(session.turns.len());
    for turn in &session.turns {
        start += match turn.role {
            Role::User => "User: ".len(),
            Role::Assistant => "Assistant: ".len(),
        };
        bubbles.push(Bubble {
            role: turn.role,
            pieces: pieces(&turn.text, start, spans, words),
        });
        start += turn.text.len() + "\n".len();
    }
    bubbles
}

fn pieces(
    text: &str,
    start: usize,
    spans: &[Option<Range<usize>>],
    words: &[String],
) -> Vec<Piece> {
    let found: Vec<Range<usize>> = words
        .iter()
        .flat_map(|word| occurrences(text, word))
        .collect();
    let covering = |at: usize| {
        spans
            .iter()
            .position(|span| span.as_ref().is_some_and(|s| s.contains(&(start + at))))
    };
    let mut pieces: Vec<Piece> = Vec::new();
    for pair in cuts(text, start, spans, &found).windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let piece = Piece {
            text: text[from..to].to_owned(),
            passage: covering(from),
            found: found.iter().any(|range| range.contains(&from)),
        };
        pieces.push(piece);
    }
    pieces
}

/// Sorted character boundaries at which marks change, both ends included.
fn cuts(
    text: &str,
    start: usize,
    spans: &[Option<Range<usize>>],
    found: &[Range<usize>],
) -> Vec<usize> {
    let spans = spans
        .iter()
        .flatten()
        .flat_map(|span| [span.start, span.end]);
    let within = spans.filter_map(|at| at.checked_sub(start));
    let mut cuts: Vec<usize> = within
        .chain(found.iter().flat_map(|range| [range.start, range.end]))
        .chain([0, text.len()])
        .filter(|at| *at <= text.len() && text.is_char_boundary(*at))
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Where a lower-case word occurs in a text, whatever its case; byte ranges of the text as it
/// stands, because lower-casing can change lengths.
pub fn occurrences(text: &str, word: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if word.is_empty() {
        return found;
    }
    let mut end = 0;
    for (at, _) in text.char_indices() {
        if at < end {
            continue;
        }
        if let Some(length) = prefix_length(&text[at..], word) {
            end = at + length;
            found.push(at..end);
        }
    }
    found
}

/// Bytes of the prefix of `text` whose lower case is `word`.
fn prefix_length(text: &str, word: &str) -> Option<usize> {
    let mut rest = word;
    for (at, c) in text.char_indices() {
        if rest.is_empty() {
            return Some(at);
        }
        for lower in c.to_lowercase() {
            rest = rest.strip_prefix(lower)?;
        }
    }
    rest.is_empty().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::visible::Turn;

    fn session(id: &str, date: &str, turns: &[(Role, &str)]) -> Session {
        let turns = turns
            .iter()
            .map(|(role, text)| Turn {
                role: *role,
                text: (*text).into(),
            })
            .collect();
        Session {
            id: id.into(),
            date: date.into(),
            turns,
        }
    }

    fn history() -> History {
        let sessions = vec![
            session(
                "s1",
                "2025-01-05T08:00:00",
                &[(Role::User, "\n Soup again\nplease")],
            ),
            session(
                "s2",
                "2025-01-31T09:30:00",
                &[(Role::Assistant, "Hello"), (Role::User, "SUSHI tonight")],
            ),
            session(
                "s3",
                "2025-12-31T23:59:00",
                &[(Role::User, "Soup and sushi")],
            ),
        ];
        History {
            persona: "p".into(),
            sessions,
        }
    }

    #[test]
    fn dates_are_read_and_odd_ones_do_not_panic() {
        let date = Date::parse("2025-03-02T19:04:00");
        assert_eq!(date.long_label(), "2 March 2025, 19:04");
        assert_eq!(
            (date.day_label().as_str(), date.day_of_year()),
            ("2 Mar", 60)
        );
        assert_eq!(Date::parse("2025-12-31").day_of_year(), 364);
        for odd in ["", "soon", "2025-13-40T", "2025-02-30Tü", "99999-1-1T1"] {
            let date = Date::parse(odd);
            date.long_label();
            assert!(date.day_of_year() < 366, "{odd}");
        }
    }

    #[test]
    fn search_needs_every_word_and_groups_by_month() {
        let timeline = Timeline::new(&history());
        assert_eq!(timeline.turns, 4);
        assert_eq!(timeline.rows[0].opener, "Soup again");
        assert_eq!(timeline.search("sushi", |_| true), [1, 2]);
        assert_eq!(timeline.search("Sushi  SOUP", |_| true), [2]);
        assert_eq!(timeline.search("", |id| id.as_str() != "s1"), [1, 2]);
        let lines = timeline.lines(&[0, 1, 2]);
        assert_eq!(
            lines,
            [
                Line::Month("January 2025".into(), 2),
                Line::Session(0),
                Line::Session(1),
                Line::Month("December 2025".into(), 1),
                Line::Session(2),
            ]
        );
        assert_eq!(timeline.weeks()[52], 1);
    }

    #[test]
    fn a_passage_across_turns_is_marked_in_both() {
        let session = session(
            "s",
            "",
            &[(Role::User, "Grüße, kurz"), (Role::Assistant, "Gern.")],
        );
        let spans = spans(&session, &["kurz\nAssistant: Gern", "elsewhere"]);
        assert_eq!(spans[1], None);
        let cut = bubbles(&session, &spans, &[]);
        let marked: Vec<Vec<(&str, Option<usize>)>> = cut
            .iter()
            .map(|b| {
                b.pieces
                    .iter()
                    .map(|p| (p.text.as_str(), p.passage))
                    .collect()
            })
            .collect();
        assert_eq!(
            marked,
            [
                vec![("Grüße, ", None), ("kurz", Some(0))],
                vec![("Gern", Some(0)), (".", None)]
            ]
        );
    }

    #[test]
    fn words_are_found_whatever_their_case_and_length_in_bytes() {
        assert_eq!(occurrences("İstanbul ISTANBUL", "istanbul"), [10..18]);
        assert_eq!(occurrences("ÄÖäö", "ö"), [2..4, 6..8]);
        assert_eq!(occurrences("aaa", "aa"), [0..2]);
        assert!(occurrences("abc", "").is_empty());
    }

    #[test]
    fn evidence_joins_items_of_one_session() {
        let hidden: HiddenInstance = serde_json::from_value(serde_json::json!({
            "id": "i", "requirements": [],
            "preferences": [
                {"id": "q1", "dimension": "d", "value": "v", "text": "Short", "kind": "static"},
                {"id": "q2", "dimension": "e", "value": "w", "text": "Warm", "kind": "static"},
            ],
            "evidence": [
                {"id": "e1", "session": "s2", "signal": "complaint", "reveals": ["q2"]},
                {"id": "e2", "session": "s2", "signal": "complaint", "reveals": ["q1", "q2"]},
            ],
        }))
        .expect("a hidden instance");
        let revealed = &evidence(&hidden)[&SessionId::from("s2")];
        assert_eq!(revealed.signals, [Signal::Complaint]);
        assert_eq!(revealed.texts, ["Warm", "Short"]);
    }
}
