//! Geometry of figures: numbers in, points out. Knows no document.
