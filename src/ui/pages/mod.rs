//! One module a view.

pub mod instance;
