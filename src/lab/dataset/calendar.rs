//! Dates of sessions as minutes, so that they can be compared and spread.

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime};

const FORMAT: &str = "%Y-%m-%dT%H:%M:%S";
/// Casual sessions begin from 07:00…
pub const FIRST_MINUTE: u64 = 7 * 60;
/// … to 23:30.
pub const LAST_MINUTE: u64 = 23 * 60 + 30;

/// Reads `2025-03-02T19:04:00`; `None` when it is no such date.
pub fn parse(text: &str) -> Option<NaiveDateTime> {
    let date = NaiveDateTime::parse_from_str(text, FORMAT).ok()?;
    (format(date) == text).then_some(date)
}

/// Reads `2025-03-02`.
pub fn parse_day(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()
}

/// Writes a date the way [`parse`] reads it.
pub fn format(date: NaiveDateTime) -> String {
    date.format(FORMAT).to_string()
}

/// The years a history covers, from the first day of the first to the last day of the last.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    first: NaiveDate,
    pub days: u64,
}

impl Span {
    /// The whole years in which these dates lie; `None` without a date.
    pub fn around(dates: impl Iterator<Item = NaiveDateTime> + Clone) -> Option<Self> {
        let first = NaiveDate::from_ymd_opt(dates.clone().map(|date| date.year()).min()?, 1, 1)?;
        let end = NaiveDate::from_ymd_opt(dates.map(|date| date.year()).max()? + 1, 1, 1)?;
        Some(Self {
            first,
            days: u64::try_from((end - first).num_days()).ok()?,
        })
    }

    /// The minute `minute` of the day `day`, both counted from 0.
    pub fn at(&self, day: u64, minute: u64) -> NaiveDateTime {
        let minutes = i64::try_from(day * 24 * 60 + minute).expect("days of a few years");
        self.first.and_time(chrono::NaiveTime::MIN) + Duration::minutes(minutes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_dates_in_the_one_spelling_are_read() {
        for (text, ok) in [
            ("2025-03-02T19:04:00", true),
            ("2025-02-29T10:00:00", false),
            ("2025-03-02 19:04:00", false),
            ("2025-3-2T19:04:00", false),
            ("2025-03-02T24:00:00", false),
        ] {
            assert_eq!(parse(text).is_some(), ok, "{text}");
        }
    }

    #[test]
    fn a_span_covers_whole_years() {
        let dates = ["2025-12-20T10:00:00", "2025-01-05T08:00:00"].map(|text| parse(text).unwrap());
        let span = Span::around(dates.into_iter()).unwrap();
        assert_eq!(span.days, 365);
        assert_eq!(format(span.at(364, FIRST_MINUTE)), "2025-12-31T07:00:00");
    }
}
