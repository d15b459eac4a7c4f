//! IBA-Agent and its rivals: stages over a [`crate::run::Env`]. Never names a hidden type.

pub mod trace;
