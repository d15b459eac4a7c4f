//! Time and breath: the page must never stand still for more than 100 ms.

use gloo_timers::future::TimeoutFuture;

/// Work this long, then let the page draw. Leaves room for one slow step in a frame.
const SLICE_MS: f64 = 8.0;

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> f64 {
    js_sys::Date::now()
}

/// Waits; dropping the future stops the timer.
pub async fn sleep(millis: u32) {
    TimeoutFuture::new(millis).await;
}

/// Lets the page draw and react before going on.
pub async fn yield_now() {
    TimeoutFuture::new(0).await;
}

/// Yields when the current slice of work is used up; call [`Pace::breathe`] in every loop over
/// data.
pub struct Pace {
    since: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

impl Pace {
    /// Starts a slice.
    pub fn new() -> Self {
        Self { since: now_ms() }
    }

    /// Returns at once while the slice lasts, else yields and starts the next.
    pub async fn breathe(&mut self) {
        if now_ms() - self.since >= SLICE_MS {
            yield_now().await;
            self.since = now_ms();
        }
    }
}
