//! Native integration tests, one module an area.

mod bad_input;
mod chart;
mod dataset;
mod engine;
mod engine_search;
mod results;
mod results_inspect;
mod results_records;
mod agent;
mod hidden;
mod judge;
mod score;
mod support;
