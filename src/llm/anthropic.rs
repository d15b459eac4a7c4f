//! Anthropic's own dialect: Messages.
