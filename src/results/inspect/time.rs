//! Milliseconds since the Unix epoch to ISO 8601, without a calendar library: a page pays for
//! every kilobyte, and UTC dates are all it needs.

/// `2026-11-29T16:45:54.123+00:00`, the form Inspect writes. Not a number gives the epoch.
pub fn iso(ms: f64) -> String {
    let (year, month, day, of_day) = split(ms);
    let (h, m, s, milli) = clock(of_day);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{milli:03}+00:00")
}

/// `2026-11-29T16-45-54`, for file names.
pub fn file_stamp(ms: f64) -> String {
    let (year, month, day, of_day) = split(ms);
    let (h, m, s, _) = clock(of_day);
    format!("{year:04}-{month:02}-{day:02}T{h:02}-{m:02}-{s:02}")
}

fn clock(of_day: i64) -> (i64, i64, i64, i64) {
    let seconds = of_day / 1000;
    (
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        of_day % 1000,
    )
}

/// Year, month, day and milliseconds of the day.
fn split(ms: f64) -> (i64, i64, i64, i64) {
    const DAY: i64 = 86_400_000;
    let ms = ms as i64;
    let (year, month, day) = civil(ms.div_euclid(DAY));
    (year, month, day, ms.rem_euclid(DAY))
}

/// Days since 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that
/// the leap day is the last of its year; an era is 400 years.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
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
        ] {
            assert_eq!(iso(ms), expected);
        }
        assert_eq!(file_stamp(1_795_970_754_123.0), "2026-11-29T16-45-54");
    }
}
