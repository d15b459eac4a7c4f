//! Prompt texts (`*.md` beside this file), one typed render function each, and a hash of each.

/// A prompt template as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptInfo {
    /// For example `salience`.
    pub id: &'static str,
    /// What it is for, in a few words.
    pub title: &'static str,
    /// Of the template, lower-case hex.
    pub sha256: String,
    pub text: &'static str,
}

/// Every template this program sends, in the order of use.
pub fn all() -> Vec<PromptInfo> {
    todo!()
}
