//! Figures as SVG, each with a table beside it that says the same.

mod radar;
mod save;

pub use radar::RadarChart;
