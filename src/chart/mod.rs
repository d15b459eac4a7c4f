//! Geometry of figures: numbers in, points out. Knows no document.

pub mod bars;
pub mod lines;
pub mod palette;
pub mod radar;
pub mod rows;
pub mod scale;
pub mod svg;

/// A place in a figure; x to the right, y down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}
