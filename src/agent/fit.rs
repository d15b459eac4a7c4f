//! The whole history, cut to the context window: whole sessions, the latest first choice.

use super::trace::Fit;
use crate::bench::ids::SessionId;
use crate::bench::visible::{History, Session};
use crate::embed::{Passage, PassageId};
use crate::llm::truncation::estimated_tokens;

/// Estimates are about a tenth low for some tokenizers, so that much of the window stays free.
const MARGIN: f64 = 0.9;
/// What fences, ids and date add to each session.
const FRAME_TOKENS: u64 = 20;
/// Our own instructions round request and history.
const PROMPT_TOKENS: u64 = 300;

/// Chooses the sessions that go in beside a request and an answer of the given sizes. A session
/// that does not fit ends the choice, so that what is kept has no holes.
pub fn fit(history: &History, request: &str, answer_tokens: u64, window_tokens: u64) -> Fit {
    let usable = (window_tokens as f64 * MARGIN) as u64;
    let taken = answer_tokens + estimated_tokens(request) + PROMPT_TOKENS;
    let mut fit = Fit {
        room_tokens: usable.saturating_sub(taken),
        ..Fit::default()
    };
    let mut by_date: Vec<&Session> = history.sessions.iter().collect();
    by_date.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
    for session in by_date.into_iter().rev() {
        let tokens = estimated_tokens(&session.render()) + FRAME_TOKENS;
        if fit.cut.is_empty() && fit.kept_tokens + tokens <= fit.room_tokens {
            fit.kept_tokens += tokens;
            fit.kept.push(session.id.clone());
        } else {
            fit.cut_tokens += tokens;
            fit.cut.push(session.id.clone());
        }
    }
    fit.kept.reverse();
    fit.cut.reverse();
    fit
}

/// What was cut, in a sentence; `None` when everything fits.
pub fn note(fit: &Fit) -> Option<String> {
    let all = fit.kept.len() + fit.cut.len();
    (!fit.cut.is_empty()).then(|| {
        format!(
            "{} of {all} sessions, the oldest, were cut: about {} tokens fit beside request and \
             answer, and the whole history has about {}",
            fit.cut.len(),
            fit.room_tokens,
            fit.kept_tokens + fit.cut_tokens
        )
    })
}

/// The kept sessions as passages, by date.
pub fn passages(history: &History, fit: &Fit) -> Vec<Passage> {
    let find = |id: &SessionId| history.sessions.iter().find(|session| session.id == *id);
    fit.kept.iter().filter_map(find).map(whole).collect()
}

/// A whole session as one passage.
pub fn whole(session: &Session) -> Passage {
    Passage {
        id: PassageId(format!("{}#all", session.id)),
        session: session.id.clone(),
        date: session.date.clone(),
        text: session.render(),
        start: Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::visible::{Role, Turn};

    /// Sessions of about 100 estimated tokens each: `User: ` and 394 letters are 400 characters.
    fn history(dates: &[&str]) -> History {
        let session = |(n, date): (usize, &&str)| Session {
            id: format!("s{n}").as_str().into(),
            date: (*date).to_owned(),
            turns: vec![Turn {
                role: Role::User,
                text: "x".repeat(394),
            }],
        };
        History {
            persona: "p".into(),
            sessions: dates.iter().enumerate().map(session).collect(),
        }
    }

    fn ids(ids: &[SessionId]) -> Vec<&str> {
        ids.iter().map(|id| id.as_str()).collect()
    }

    #[test]
    fn the_latest_sessions_stay_and_stand_by_date() {
        let history = history(&["2025-03-01", "2025-01-01", "2025-02-01"]);
        // Window 1000, of it 900 usable; less 300 for our words and 350 for the answer: 250.
        let fit = fit(&history, "", 350, 1000);
        assert_eq!(
            (fit.room_tokens, fit.kept_tokens, fit.cut_tokens),
            (250, 240, 120)
        );
        assert_eq!(
            (ids(&fit.kept), ids(&fit.cut)),
            (vec!["s2", "s0"], vec!["s1"])
        );
        let said = note(&fit).expect("one was cut");
        assert!(said.starts_with("1 of 3 sessions"), "{said}");
        assert!(said.contains("250") && said.contains("360"), "{said}");
        let passages = passages(&history, &fit);
        assert_eq!(passages.len(), 2);
        assert_eq!(passages[0].id.0, "s2#all");
    }

    #[test]
    fn a_window_without_room_cuts_everything_and_a_wide_one_nothing() {
        let history = history(&["2025-01-01", "2025-02-01"]);
        assert_eq!(fit(&history, "", 3000, 2000).kept.len(), 0);
        let wide = fit(&history, "", 3000, 1_000_000);
        assert_eq!((wide.kept.len(), note(&wide)), (2, None));
    }

    #[test]
    fn nothing_older_follows_a_session_that_did_not_fit() {
        let mut history = history(&["2025-01-01", "2025-02-01", "2025-03-01"]);
        history.sessions[1].turns[0].text = "x".repeat(4000);
        let fit = fit(&history, "", 350, 1200);
        assert_eq!(
            (ids(&fit.kept), ids(&fit.cut)),
            (vec!["s2"], vec!["s0", "s1"])
        );
    }
}
