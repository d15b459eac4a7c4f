//! The embedded baseline: rules in place of a language model. Deterministic, needs no key, and
//! is named for what it is wherever a number of it stands.

/// Rules for every step; no language model.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddedMind;
