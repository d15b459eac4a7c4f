//! Small pieces that every page uses. They get all by props and know nothing of the application.

pub mod copy;
mod dialog;
mod empty;
mod field;
mod icon;
mod later;
pub mod markdown;
mod notices;
mod progress;
mod verdict;
pub mod window;

pub use dialog::Dialog;
pub use empty::{Empty, ProblemBox};
pub use field::{Field, Select};
pub use icon::{Icon, Shape};
pub use later::{Later, after_frames};
pub use notices::{Notices, Toasts, Tone};
pub use progress::ProgressLine;
pub use verdict::VerdictChip;

use crate::words::sentence;

/// A failure for the visitor: what happened, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub text: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(text: impl ToString, hint: Option<impl ToString>) -> Self {
        Self {
            text: sentence(&text.to_string()),
            hint: hint.map(|hint| hint.to_string()),
        }
    }
}
