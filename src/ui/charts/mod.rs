//! Figures as SVG, each with a table beside it that says the same.

mod picture;
mod radar;
mod save;

pub use picture::Picture;
pub use radar::RadarChart;
