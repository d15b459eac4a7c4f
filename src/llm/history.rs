//! Keeps a history in a shape that every provider accepts.
