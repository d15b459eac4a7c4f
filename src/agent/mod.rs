//! IBA-Agent and its rivals: stages over a [`crate::run::Env`]. Never names a hidden type.
//!
//! [`mind`] is the seam between the order of the tools ([`pipeline`], or [`fc`] where the model
//! picks them) and who carries them out: a language model ([`llm_mind`]) or rules ([`embedded`]).
//! [`stages`] records each tool, [`memo`] shares those whose result is known.

pub mod embedded;
pub mod facets;
pub mod fc;
pub mod fit;
pub mod inputs;
pub mod llm_mind;
pub mod memo;
pub mod mind;
pub mod pipeline;
pub mod preview;
pub mod redundancy;
pub mod select;
pub mod stages;
pub mod system;
pub mod trace;
pub mod trace_view;
