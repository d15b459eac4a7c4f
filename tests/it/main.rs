//! Native integration tests, one module an area.
