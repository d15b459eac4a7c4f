//! Milliseconds since the Unix epoch to ISO 8601.

use chrono::{DateTime, Datelike, SecondsFormat, Timelike, Utc};

/// `2026-11-29T16:45:54.123+00:00`, the form Inspect writes. Not a number gives the epoch.
pub fn iso(ms: f64) -> String {
    date(ms).to_rfc3339_opts(SecondsFormat::Millis, false)
}

/// `2026-11-29T16-45-54`, for file names: no disk forbids any of it.
pub fn file_stamp(ms: f64) -> String {
    let t = date(ms);
    let (date, h, m, s) = (t.date_naive(), t.hour(), t.minute(), t.second());
    format!(
        "{:04}-{:02}-{:02}T{h:02}-{m:02}-{s:02}",
        date.year(),
        date.month(),
        date.day()
    )
}

/// Times no calendar has become the epoch.
fn date(ms: f64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms.floor() as i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_agree_with_the_calendar() {
        // Expected values: Python's datetime.fromtimestamp(ms / 1000, timezone.utc).
        for (ms, expected) in [
            (0.0, "1970-01-01T00:00:00.000+00:00"),
            (951_782_399_999.0, "2000-02-28T23:59:59.999+00:00"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000+00:00"),
            (1_709_251_199_500.0, "2024-02-29T23:59:59.500+00:00"),
            (1_795_970_754_123.0, "2026-11-29T16:45:54.123+00:00"),
            (-1.0, "1969-12-31T23:59:59.999+00:00"),
            (f64::NAN, "1970-01-01T00:00:00.000+00:00"),
            (1e300, "1970-01-01T00:00:00.000+00:00"),
        ] {
            assert_eq!(iso(ms), expected);
        }
        assert_eq!(file_stamp(1_795_970_754_123.0), "2026-11-29T16-45-54");
    }
}
