//! How fast an endpoint may be asked: limits learned from its headers, and a number of calls at once
//! that grows by one while all goes well and is halved when the server says "too many" (AIMD, as
//! TCP does). A pure state machine; the transport asks it before each call.

use super::http::HttpResponse;
use super::wait;

/// Calls at once to begin with.
const FIRST_WINDOW: f64 = 2.0;
/// Browsers open six connections to a host over HTTP/1.1; more would only wait there.
const LARGEST_WINDOW: f64 = 6.0;

/// What a server said about one of its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allowance {
    /// In all, for each period of the limit.
    pub limit: Option<f64>,
    /// Left when the server wrote.
    pub remaining: Option<f64>,
    /// When it is full again, in milliseconds since the Unix epoch.
    pub reset_ms: Option<f64>,
}

impl Allowance {
    fn take(&mut self, amount: f64) {
        self.remaining = self.remaining.map(|left| left - amount);
    }

    /// When that much may be asked for: at once, or at the reset.
    fn free_at(&self, amount: f64, now_ms: f64) -> f64 {
        let reset = self.reset_ms.filter(|reset| *reset > now_ms);
        let full = self.limit.is_some_and(|limit| amount >= limit);
        match (self.remaining, reset) {
            // More than the whole limit never fits; the server has to say so.
            (Some(left), Some(reset)) if left < amount && !full => reset,
            _ => now_ms,
        }
    }

    /// Forgets what was left once the period is over.
    fn refresh(&mut self, now_ms: f64) {
        if self.reset_ms.is_some_and(|reset| reset <= now_ms) {
            self.remaining = self.limit;
            self.reset_ms = None;
        }
    }
}

/// When the next call may start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    Now,
    /// Not before this time, in milliseconds since the Unix epoch.
    At(f64),
    /// When a call under way has ended.
    AfterOne,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended {
    Answered,
    /// The server had too many, and asked for this wait.
    Limited {
        wait_seconds: Option<f64>,
    },
    /// Anything else: says nothing about speed.
    Failed,
}

/// The pace at one endpoint. Times in milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Calls at once, as a real number so that it can grow by parts.
    window: f64,
    in_flight: u32,
    /// Nothing starts earlier.
    quiet_until_ms: f64,
    /// Calls that started before this do not halve the window once more.
    halved_ms: f64,
    pub requests: Allowance,
    pub tokens: Allowance,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            window: FIRST_WINDOW,
            in_flight: 0,
            quiet_until_ms: 0.0,
            halved_ms: f64::NEG_INFINITY,
            requests: Allowance::default(),
            tokens: Allowance::default(),
        }
    }
}

impl Pace {
    /// Calls at once, whole ones.
    pub fn window(&self) -> u32 {
        self.window.floor().max(1.0) as u32
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether a call of about that many tokens, answer included, may start.
    pub fn may_start(&mut self, now_ms: f64, tokens: u64) -> Start {
        self.requests.refresh(now_ms);
        self.tokens.refresh(now_ms);
        let requests_at = self.requests.free_at(1.0, now_ms);
        let tokens_at = self.tokens.free_at(tokens as f64, now_ms);
        let at = self.quiet_until_ms.max(requests_at).max(tokens_at);
        if at > now_ms {
            return Start::At(at);
        }
        match self.in_flight < self.window() {
            true => Start::Now,
            false => Start::AfterOne,
        }
    }

    /// A call starts; keep `now_ms` for [`Pace::ended`].
    pub fn started(&mut self, tokens: u64) {
        self.in_flight += 1;
        self.requests.take(1.0);
        self.tokens.take(tokens as f64);
    }

    /// The call that started at `started_ms` has ended.
    pub fn ended(&mut self, started_ms: f64, now_ms: f64, how: Ended) {
        self.in_flight = self.in_flight.saturating_sub(1);
        match how {
            Ended::Answered => {
                self.window = (self.window + 1.0 / self.window).min(LARGEST_WINDOW);
            }
            Ended::Limited { wait_seconds } => {
                if started_ms >= self.halved_ms {
                    self.window = (self.window / 2.0).max(1.0);
                    self.halved_ms = now_ms;
                }
                let wait = wait_seconds.filter(|wait| wait.is_finite()).unwrap_or(0.0);
                self.quiet_until_ms = self.quiet_until_ms.max(now_ms + wait * 1000.0);
            }
            Ended::Failed => {}
        }
    }

    /// Takes what the headers of a response say about limits. Those that a server lets no page see
    /// are simply not there.
    pub fn learn(&mut self, response: &HttpResponse, now_ms: f64) {
        for (kind, allowance) in [
            ("requests", &mut self.requests),
            ("tokens", &mut self.tokens),
        ] {
            let found = allowance_in(response, kind, now_ms);
            if found != Allowance::default() {
                *allowance = found;
            }
        }
    }
}

fn allowance_in(response: &HttpResponse, kind: &str, now_ms: f64) -> Allowance {
    let header = |what: &str| {
        let names = [
            format!("x-ratelimit-{what}-{kind}"),
            format!("anthropic-ratelimit-{kind}-{what}"),
            format!("x-ratelimit-{what}-{kind}-minute"),
            // Plain names mean requests.
            match kind {
                "requests" => format!("x-ratelimit-{what}"),
                _ => String::new(),
            },
        ];
        let named = |name: &String| response.header(name).map(str::to_owned);
        names.iter().find_map(named)
    };
    let number = |what: &str| {
        let value = header(what)?.parse::<f64>().ok()?;
        (value.is_finite() && value >= 0.0).then_some(value)
    };
    let reset = header("reset").and_then(|value| wait::until_reset(&value, Some(now_ms)));
    Allowance {
        limit: number("limit"),
        remaining: number("remaining"),
        reset_ms: reset.map(|seconds| now_ms + seconds * 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITED: Ended = Ended::Limited { wait_seconds: None };

    /// Starts as many calls as may start at once.
    fn fill(pace: &mut Pace, now_ms: f64) -> u32 {
        let before = pace.in_flight();
        while pace.may_start(now_ms, 0) == Start::Now {
            pace.started(0);
        }
        pace.in_flight() - before
    }

    #[test]
    fn the_window_grows_by_one_for_each_round_that_went_well() {
        let mut pace = Pace::default();
        let mut sizes = Vec::new();
        for round in 0..6 {
            let size = fill(&mut pace, f64::from(round));
            sizes.push(size);
            for _ in 0..size {
                pace.ended(f64::from(round), f64::from(round), Ended::Answered);
            }
        }
        // 2; 2 + 1/2 + 1/2.5 = 2.9; then on by about one for each round up to six.
        assert_eq!(sizes, [2, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn one_burst_of_refusals_halves_once() {
        let mut pace = Pace {
            window: 6.0,
            ..Pace::default()
        };
        assert_eq!(fill(&mut pace, 0.0), 6);
        for _ in 0..6 {
            pace.ended(0.0, 10.0, LIMITED);
        }
        assert_eq!(pace.window(), 3);
        assert_eq!(fill(&mut pace, 20.0), 3);
        pace.ended(20.0, 30.0, LIMITED);
        assert_eq!(pace.window(), 1, "1.5, of which whole calls count");
        pace.ended(20.0, 31.0, Ended::Failed);
        assert_eq!((pace.window(), pace.in_flight()), (1, 1));
        assert_eq!(pace.may_start(40.0, 0), Start::AfterOne);
    }

    #[test]
    fn a_wait_holds_everybody_back() {
        let mut pace = Pace::default();
        pace.started(0);
        let wait_seconds = Some(2.0);
        pace.ended(0.0, 1000.0, Ended::Limited { wait_seconds });
        assert_eq!(pace.may_start(1500.0, 0), Start::At(3000.0));
        assert_eq!(pace.may_start(3000.0, 0), Start::Now);
    }

    fn response(headers: &[(&str, &str)]) -> HttpResponse {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        HttpResponse {
            status: 200,
            headers: headers.iter().map(own).collect(),
            ..HttpResponse::default()
        }
    }

    #[test]
    fn limits_for_each_minute_are_kept() {
        let mut pace = Pace {
            window: 6.0,
            ..Pace::default()
        };
        pace.learn(
            &response(&[
                ("x-ratelimit-limit-requests", "60"),
                ("x-ratelimit-remaining-requests", "2"),
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-limit-tokens", "10000"),
                ("x-ratelimit-remaining-tokens", "900"),
                ("x-ratelimit-reset-tokens", "6s"),
            ]),
            1000.0,
        );
        assert_eq!(pace.may_start(1000.0, 901), Start::At(7000.0));
        assert_eq!(fill(&mut pace, 1000.0), 2);
        assert_eq!(pace.may_start(1000.0, 0), Start::At(2000.0));
        assert_eq!(pace.may_start(2000.0, 0), Start::Now);
        assert_eq!(pace.may_start(7000.0, 9000), Start::Now);
        // More than the whole limit would wait for ever.
        assert_eq!(pace.may_start(2000.0, 20_000), Start::Now);
    }

    #[test]
    fn other_spellings_are_understood() {
        let mut pace = Pace::default();
        pace.learn(
            &response(&[
                ("anthropic-ratelimit-requests-limit", "50"),
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "1970-01-01T00:00:09Z"),
            ]),
            1000.0,
        );
        assert_eq!(pace.may_start(1000.0, 0), Start::At(9000.0));
        pace.learn(&response(&[("x-ratelimit-remaining", "rubbish")]), 1000.0);
        assert_eq!(
            pace.requests.limit,
            Some(50.0),
            "nothing readable changes nothing"
        );
    }

    #[test]
    fn it_always_lets_somebody_through_in_the_end() {
        let mut pace = Pace::default();
        for turn in 0..10_000_u32 {
            let now = f64::from(turn);
            match pace.may_start(now, u64::from(turn % 7)) {
                Start::Now => pace.started(u64::from(turn % 7)),
                _ => pace.ended(
                    now - 1.0,
                    now,
                    if turn % 3 == 0 {
                        LIMITED
                    } else {
                        Ended::Answered
                    },
                ),
            }
            assert!(pace.window() >= 1 && pace.window() <= 6);
        }
        while pace.in_flight() > 0 {
            pace.ended(0.0, 1e5, Ended::Failed);
        }
        assert_eq!(pace.may_start(1e6, 1), Start::Now);
    }
}
