//! One module a view.

pub mod instance;
pub mod results;
