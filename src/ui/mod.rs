//! The pages.

pub mod charts;
pub mod pages;
pub mod parts;
