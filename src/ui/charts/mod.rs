//! Figures as SVG, each with a table beside it that says the same.
