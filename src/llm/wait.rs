//! How long a server asks to wait: in seconds, dates, `6m0s`, `120ms`, RetryInfo, or prose.

use super::http::HttpResponse;
use serde_json::Value;

/// Seconds to wait by headers and body, before any cap. `None` when nothing readable is said.
pub fn asked_seconds(response: &HttpResponse) -> Option<f64> {
    let now_ms = response
        .header("date")
        .and_then(http_date_ms)
        .or(response.received_ms);
    from_millis(response)
        .or_else(|| {
            response
                .header("retry-after")
                .and_then(|v| delay(v, now_ms))
        })
        .or_else(|| in_text(&response.text(), now_ms))
        .or_else(|| from_resets(response, now_ms))
}

/// A body's RetryInfo, `retry_after` field or prose.
pub fn in_body(body: &str) -> Option<f64> {
    in_text(body, None)
}

fn in_text(body: &str, now_ms: Option<f64>) -> Option<f64> {
    let value: Option<Value> = serde_json::from_str(body.trim()).ok();
    let named = value.as_ref().and_then(|value| in_value(value, now_ms));
    named.or_else(|| in_prose(body))
}

/// `2`, `1.57s`, `120ms`, `6m0s`, `1h2m`, `2 minutes`: seconds, never negative.
pub fn duration(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return sensible(seconds);
    }
    let (seconds, length) = leading_duration(text)?;
    text[length..].trim().is_empty().then_some(seconds)
}

fn sensible(seconds: f64) -> Option<f64> {
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

fn from_millis(response: &HttpResponse) -> Option<f64> {
    let names = ["retry-after-ms", "x-ms-retry-after-ms"];
    let value = names.iter().find_map(|name| response.header(name))?;
    sensible(value.parse::<f64>().ok()? / 1000.0)
}

/// Seconds, a duration or a date.
fn delay(text: &str, now_ms: Option<f64>) -> Option<f64> {
    duration(text)
        .or_else(|| iso_duration(text))
        .or_else(|| until(http_date_ms(text).or(rfc3339_ms(text))?, now_ms))
}

/// `PT1M30S`.
fn iso_duration(text: &str) -> Option<f64> {
    let rest = text.trim().strip_prefix("PT")?;
    duration(&rest.to_ascii_lowercase())
}

fn until(then_ms: f64, now_ms: Option<f64>) -> Option<f64> {
    Some(((then_ms - now_ms?) / 1000.0).max(0.0))
}

/// The reset headers: those of an exhausted limit, else the longest.
fn from_resets(response: &HttpResponse, now_ms: Option<f64>) -> Option<f64> {
    let mut exhausted: Option<f64> = None;
    let mut any: Option<f64> = None;
    for (name, value) in &response.headers {
        let name = name.to_ascii_lowercase();
        let Some(seconds) = is_reset(&name).then(|| reset(value, now_ms)).flatten() else {
            continue;
        };
        let left = response.header(&name.replace("reset", "remaining"));
        if left.and_then(|left| left.parse::<f64>().ok()) == Some(0.0) {
            exhausted = Some(exhausted.unwrap_or(0.0).max(seconds));
        }
        any = Some(any.unwrap_or(0.0).max(seconds));
    }
    exhausted.or(any).or_else(|| combined(response))
}

/// `ratelimit: limit=100, remaining=0, reset=20` and `"default";r=0;t=20`.
fn combined(response: &HttpResponse) -> Option<f64> {
    let header = response.header("ratelimit")?;
    let parts = header.split([',', ';']).map(str::trim);
    let named = parts.filter_map(|part| part.split_once('='));
    let mut reset = named.filter(|(name, _)| matches!(*name, "reset" | "t"));
    reset.next().and_then(|(_, value)| duration(value))
}

fn is_reset(name: &str) -> bool {
    name.contains("ratelimit") && name.contains("reset")
}

/// Seconds until the reset that a header names.
pub(in crate::llm) fn until_reset(value: &str, now_ms: Option<f64>) -> Option<f64> {
    reset(value, now_ms)
}

/// Large bare numbers are points in time, in seconds or milliseconds.
fn reset(value: &str, now_ms: Option<f64>) -> Option<f64> {
    match value.trim().parse::<f64>() {
        Ok(number) if number >= 1e11 => until(number, now_ms),
        Ok(number) if number >= 1e9 => until(number * 1000.0, now_ms),
        _ => delay(value, now_ms),
    }
}

/// `now_ms` turns points in time into waits; without it they say nothing.
fn in_value(value: &Value, now_ms: Option<f64>) -> Option<f64> {
    const NAMES: [&str; 5] = [
        "retryDelay",
        "retry_delay",
        "retry_after",
        "retry_after_seconds",
        "retryAfter",
    ];
    match value {
        Value::Object(fields) => {
            let millis = ["retry_after_ms", "retryAfterMs"]
                .iter()
                .find_map(|name| sensible(fields.get(*name)?.as_f64()? / 1000.0));
            let named = NAMES.iter().find_map(|name| match fields.get(*name)? {
                Value::String(text) => duration(text),
                Value::Number(number) => sensible(number.as_f64()?),
                _ => None,
            });
            let reset = || {
                let mut resets = fields
                    .iter()
                    .filter(|(name, _)| is_reset(&name.to_ascii_lowercase()));
                resets.find_map(|(_, value)| reset(value.as_str()?, now_ms))
            };
            let named = millis.or(named).or_else(reset);
            named.or_else(|| fields.values().find_map(|value| in_value(value, now_ms)))
        }
        Value::Array(items) => items.iter().find_map(|item| in_value(item, now_ms)),
        _ => None,
    }
}

/// "Please try again in 1m2.5s.", "retry after 20 seconds", "请 30 秒后重试".
fn in_prose(text: &str) -> Option<f64> {
    const LEADS: [&str; 13] = [
        "try again in ",
        "retry in ",
        "try again after ",
        "retry after ",
        "retry-after: ",
        "wait for ",
        "wait ",
        "available in ",
        "resets in ",
        "reset in ",
        "reset after ",
        "resets after ",
        "again after ",
    ];
    let lower = text.to_ascii_lowercase();
    let after_lead = |lead: &str| {
        let at = lower.find(lead)? + lead.len();
        let rest = lower[at..].trim_start();
        clock(rest).or_else(|| leading_duration(rest).map(|(seconds, _)| seconds))
    };
    LEADS
        .iter()
        .find_map(|lead| after_lead(lead))
        .or_else(|| in_chinese(text))
}

/// `00:01:30`.
fn clock(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ':');
    let parts: Vec<&str> = text[..end.unwrap_or(text.len())].split(':').collect();
    let [hours, minutes, seconds] = parts.as_slice() else {
        return None;
    };
    let number = |text: &str| text.parse::<f64>().ok();
    sensible(number(hours)? * 3600.0 + number(minutes)? * 60.0 + number(seconds)?)
}

/// "请 30 秒后重试", "请等待5分钟".
fn in_chinese(text: &str) -> Option<f64> {
    let waits = ["后", "等待", "重试", "再试"]
        .iter()
        .any(|word| text.contains(word));
    let units = [
        ("毫秒", 0.001),
        ("秒", 1.0),
        ("分钟", 60.0),
        ("小时", 3600.0),
    ];
    let mut found = units
        .iter()
        .filter_map(|(unit, factor)| text.find(unit).map(|at| (at, *factor)));
    let (at, factor) = found.next().filter(|_| waits)?;
    let before = text[..at].trim_end();
    let start = before
        .rfind(|c: char| !c.is_ascii_digit() && c != '.')
        .map_or(0, |at| {
            at + before[at..].chars().next().map_or(0, char::len_utf8)
        });
    sensible(before[start..].parse::<f64>().ok()? * factor)
}

/// Numbers with units at the start, added up, and the length they take.
fn leading_duration(text: &str) -> Option<(f64, usize)> {
    let (mut sum, mut at, mut any) = (0.0, 0, false);
    loop {
        let rest = text[at..].trim_start().trim_start_matches([',', ' ']);
        let rest = rest
            .strip_prefix("and ")
            .filter(|_| any)
            .unwrap_or(rest)
            .trim_start();
        let from = text.len() - rest.len();
        let number_end = text[from..]
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .map_or(text.len(), |end| from + end);
        let Ok(number) = text[from..number_end].parse::<f64>() else {
            break;
        };
        let Some((factor, unit_end)) = unit(text, number_end) else {
            break;
        };
        sum += number * factor;
        at = unit_end;
        any = true;
    }
    any.then_some((sum, at)).filter(|(sum, _)| sum.is_finite())
}

/// The unit that begins at `from` or after a blank, in seconds.
fn unit(text: &str, from: usize) -> Option<(f64, usize)> {
    let gap = text[from..].len() - text[from..].trim_start_matches(' ').len();
    let start = from + gap;
    let end = text[start..]
        .find(|c: char| !c.is_alphabetic())
        .map_or(text.len(), |end| start + end);
    let factor = match text[start..end].to_ascii_lowercase().as_str() {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    };
    Some((factor, end))
}

fn http_date_ms(text: &str) -> Option<f64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    let since = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_secs_f64() * 1000.0)
}

/// `2026-01-01T00:00:30Z`, with a fraction or an offset.
fn rfc3339_ms(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let separators = text.get(4..5)? == "-" && text.get(7..8)? == "-" && text.get(13..14)? == ":";
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !separators || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone_at = text
        .get(19..)?
        .find(['Z', 'z', '+', '-'])
        .map(|at| at + 19)?;
    let fraction: f64 = match &text[19..zone_at] {
        "" => 0.0,
        digits => format!("0{digits}").parse().ok()?,
    };
    let clock = hour * 3600 + minute * 60 + second - offset_seconds(&text[zone_at..])?;
    Some(((days_from_civil(year, month, day) * 86400 + clock) as f64 + fraction) * 1000.0)
}

fn offset_seconds(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
    Some(if zone.starts_with('-') {
        -seconds
    } else {
        seconds
    })
}

/// Days since 1970-01-01 in the Gregorian calendar (Howard Hinnant's algorithm).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: f64 = 1_767_225_600_000.0;

    fn asked(headers: &[(&str, &str)], body: &str) -> Option<f64> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        asked_seconds(&HttpResponse {
            status: 429,
            headers: headers.iter().map(own).collect(),
            body: body.as_bytes().to_vec(),
            received_ms: Some(NOW),
        })
    }

    #[test]
    fn headers_name_waits() {
        let cases = [
            (("Retry-After", "2"), Some(2.0)),
            (("retry-after", "0.5"), Some(0.5)),
            (("retry-after", "30s"), Some(30.0)),
            (("retry-after", "2026-01-01T00:00:30Z"), Some(30.0)),
            (("retry-after", "Wed, 31 Dec 2025 23:59:00 GMT"), Some(0.0)),
            (("retry-after", "NaN"), None),
            (("retry-after", "1e999"), None),
            (("retry-after", ""), None),
            (("x-ratelimit-reset", "1767225610"), Some(10.0)),
            (("x-ratelimit-reset", "1767225610000"), Some(10.0)),
            (
                (
                    "anthropic-ratelimit-tokens-reset",
                    "2026-01-01T01:00:05.5+01:00",
                ),
                Some(5.5),
            ),
            (("ratelimit-reset", "7"), Some(7.0)),
            (
                ("ratelimit", "limit=100, remaining=0, reset=20"),
                Some(20.0),
            ),
            (("retry-after", "PT1M30S"), Some(90.0)),
            (("x-ratelimit-reset-tokens", "1h2m3s"), Some(3723.0)),
        ];
        for (header, expected) in cases {
            assert_eq!(asked(&[header], ""), expected, "{header:?}");
        }
    }

    #[test]
    fn the_exhausted_limit_decides() {
        let headers = [
            ("x-ratelimit-reset-tokens", "50ms"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-requests", "20m"),
            ("x-ratelimit-remaining-requests", "99"),
        ];
        assert_eq!(asked(&headers, ""), Some(0.05));
    }

    #[test]
    fn the_servers_clock_counts() {
        let headers = [
            ("date", "Thu, 01 Jan 2026 00:10:00 GMT"),
            ("retry-after", "Thu, 01 Jan 2026 00:10:20 GMT"),
        ];
        assert_eq!(asked(&headers, ""), Some(20.0));
    }

    #[test]
    fn bodies_name_waits() {
        let cases = [
            ("Please try again in 7m12s. Visit", Some(432.0)),
            ("Please try again in 120ms.", Some(0.12)),
            ("Retry after 20 seconds", Some(20.0)),
            ("please wait 5 minutes", Some(300.0)),
            ("请求过于频繁，请 30 秒后重试", Some(30.0)),
            ("请5分钟后再试", Some(300.0)),
            ("请等待 5 秒", Some(5.0)),
            ("try again in 2 minutes and 3 seconds", Some(123.0)),
            ("limit resets in 00:01:30.", Some(90.0)),
            (
                r#"{"error":{"metadata":{"headers":{"X-RateLimit-Reset":"1767225660000"}}}}"#,
                Some(60.0),
            ),
            ("wait a moment", None),
            ("try again in an hour", None),
            (
                r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"17.5s"}]}}"#,
                Some(17.5),
            ),
            (r#"{"retry_after": 3}"#, Some(3.0)),
            (r#"{"error":{"message":"try again in 2s"}}"#, Some(2.0)),
        ];
        for (body, expected) in cases {
            assert_eq!(asked(&[], body), expected, "{body}");
        }
    }
}
