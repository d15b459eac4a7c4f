//! Small pieces that every page uses. They get all by props and know nothing of the application.

pub mod copy;
mod dialog;
mod empty;
mod field;
mod icon;
pub mod markdown;
mod notices;
mod progress;
mod verdict;
pub mod window;

pub use dialog::Dialog;
pub use empty::{Empty, ProblemBox};
pub use field::{Field, Select};
pub use icon::{Icon, Shape};
pub use notices::{Notices, Toasts, Tone};
pub use progress::ProgressLine;
pub use verdict::VerdictChip;

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

/// An error's words as a sentence: errors start in lower case and have no full stop. A web address
/// keeps its case.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    let mut out = match first {
        Some(first) if !text.starts_with("http") => first + chars.as_str(),
        _ => text.to_owned(),
    };
    if !out.is_empty() && !out.ends_with(['.', '!', '?', '…']) {
        out.push('.');
    }
    out
}

/// A number with thin groups, `6 962`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A size for people, `1.4 MB`.
pub fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.0} kB", b / 1e3),
        b => format!("{b} bytes"),
    }
}
