//! IBA-Agent and its rivals: stages over a [`crate::run::Env`]. Never names a hidden type.
//!
//! [`mind`] is the seam between the fixed order of the tools ([`pipeline`]) and who carries them
//! out: a language model ([`llm_mind`]) or rules ([`embedded`]).

pub mod embedded;
pub mod facets;
pub mod llm_mind;
pub mod mind;
pub mod pipeline;
pub mod redundancy;
pub mod select;
pub mod trace;
pub mod trace_view;
