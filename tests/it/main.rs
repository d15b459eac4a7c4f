//! Native integration tests, one module an area.

mod agent;
mod bad_input;
mod chart;
mod dataset;
mod files;
mod function_calling;
mod given;
mod hidden;
mod judge;
mod judge_panel;
mod llm_cases;
mod llm_dialects;
mod llm_fuzz;
mod llm_properties;
mod llm_tool;
mod lost;
mod malformed;
mod qa;
mod results;
mod results_inspect;
mod results_records;
mod score;
mod sharing;
mod support;
mod systems;
mod tidy;
