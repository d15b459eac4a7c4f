//! Native integration tests, one module an area.

mod agent;
mod bad_input;
mod chart;
mod dataset;
mod engine;
mod engine_retrieval;
mod engine_search;
mod hidden;
mod judge;
mod judge_panel;
mod llm_cases;
mod llm_dialects;
mod llm_properties;
mod llm_tool;
mod lost;
mod lost_similarity;
mod results;
mod results_inspect;
mod results_records;
mod score;
mod support;
mod tidy;
