//! A history as a timeline: sessions by month, search, and which of them are evidence.

use crate::bench::hidden::{Evidence, HiddenInstance, Signal};
use crate::bench::ids::{PreferenceId, SessionId};
use crate::bench::visible::{History, Role, Session};
use chrono::{Datelike, NaiveDateTime};
use std::collections::{BTreeMap, HashMap};

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

/// A date of the data set, without zone; `None` where the text was no date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date(pub Option<NaiveDateTime>);

impl Date {
    /// Reads `2025-03-02T19:04:00`.
    pub fn parse(text: &str) -> Self {
        Self(NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S").ok())
    }

    /// `March 2025`.
    pub fn month_label(&self) -> String {
        self.label("%B %Y")
    }

    /// `2 Mar`.
    pub fn day_label(&self) -> String {
        self.label("%-d %b")
    }

    /// `2 March 2025, 19:04`.
    pub fn long_label(&self) -> String {
        self.label("%-d %B %Y, %H:%M")
    }

    /// Day of the year from 0.
    pub fn day_of_year(&self) -> u32 {
        self.0.map_or(0, |date| date.ordinal0())
    }

    fn label(&self, format: &str) -> String {
        match self.0 {
            Some(date) => date.format(format).to_string(),
            None => "undated".to_owned(),
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
    /// A month of the list.
    Month {
        label: String,
        sessions: usize,
        /// Index of its first row: names are not unique where dates are missing.
        first: usize,
    },
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
        let month = |at: &usize| self.rows[*at].date.month_label();
        let mut lines = Vec::with_capacity(rows.len() + 13);
        for group in rows.chunk_by(|a, b| month(a) == month(b)) {
            let first = group[0];
            let label = self.rows[first].date.month_label();
            let sessions = group.len();
            lines.push(Line::Month {
                label,
                sessions,
                first,
            });
            lines.extend(group.iter().map(|at| Line::Session(*at)));
        }
        lines
    }

    /// Sessions in each of the 53 weeks of a year, all years laid over one another.
    pub fn weeks(&self) -> [u16; 53] {
        let mut weeks = [0; 53];
        for row in &self.rows {
            weeks[(row.date.day_of_year() / 7).min(52) as usize] += 1;
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
        assert_eq!(Date::parse("2025-12-31T00:00:00").day_of_year(), 364);
        for odd in ["", "soon", "2025-13-40T", "2025-02-30Tü", "99999-1-1T1"] {
            assert_eq!(Date::parse(odd).long_label(), "undated");
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
                Line::Month {
                    label: "January 2025".into(),
                    sessions: 2,
                    first: 0
                },
                Line::Session(0),
                Line::Session(1),
                Line::Month {
                    label: "December 2025".into(),
                    sessions: 1,
                    first: 2
                },
                Line::Session(2),
            ]
        );
        assert_eq!(timeline.weeks()[52], 1);
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
