//! Native integration tests, one module an area.
mod bad_input;
mod dataset;
