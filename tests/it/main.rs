//! Native integration tests, one module an area.

mod chart;
mod results;
mod results_inspect;
mod results_records;
