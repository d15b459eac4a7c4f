//! The visitor's choices. Keys are held apart and never serialised.
