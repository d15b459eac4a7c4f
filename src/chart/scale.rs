//! Linear scales and round ticks.
