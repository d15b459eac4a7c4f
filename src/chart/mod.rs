//! Geometry of figures: numbers in, points out. Knows no document.

pub mod palette;
pub mod radar;
pub mod scale;
