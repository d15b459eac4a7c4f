//! IBA Lab: see, run and measure implicit behavioural alignment in the browser.
//!
//! Code map, in reading order. Pure modules speak bytes, text and numbers and are tested
//! natively; `browser` and `ui` exist only on `wasm32`.
//!
//! | module | what it holds | what it never does |
//! | --- | --- | --- |
//! | [`bench`] | records of a benchmark; manifest and shard bytes to records | I/O |
//! | [`llm`] | neutral chat types, providers, streams, retries, limits, prices, keys | open a connection |
//! | [`prompts`] | the prompt texts and their hashes | see hidden fields |
//! | [`embed`] | text to chunks to unit vectors | know about personas or tasks |
//! | [`encoder`] | tokens to vectors: the BERT family in int8, by hand-written lanes | know what made the tokens |
//! | [`search`] | nearest vectors: exact scan and HNSW | see text |
//! | [`agent`] | IBA-Agent and its rivals as stages over an [`run::Env`] | name a hidden type |
//! | [`judge`] | verdicts for hidden requirements | see how an output was made |
//! | [`score`] | means over requirements, instances, domains; agreement and spread | |
//! | [`run`] | one instance from task to verdicts; `trait Env` | touch the browser |
//! | [`results`] | result files: Inspect `EvalLog` version 2 | need the network |
//! | [`markdown`] | Markdown as an inert tree | let text act |
//! | [`chart`] | geometry of figures: numbers in, points out | know a document |
//! | [`worker`] | messages between page and engine worker; the engine | |
//! | [`route`], [`settings`] | views and their addresses; the visitor's choices | hold a key |
//! | [`words`] | sentences, numbers and sizes for people | |
//! | `browser`, `ui` | the thin edge: fetch, storage, files, workers; the pages | decide |
//! | `lab` | the native tool's commands | exist on `wasm32` |
//!
//! Invariants: what an agent may see ([`bench::visible`]) and what only a judge may see
//! ([`bench::hidden`]) are different types, and `agent` never imports the second. A key leaves
//! only through a provider's `encode`. Pure modules do no I/O and so have no I/O errors.

pub mod agent;
pub mod bench;
pub mod chart;
pub mod embed;
#[cfg(feature = "engine")]
pub mod encoder;
pub mod judge;
pub mod llm;
pub mod markdown;
pub mod prompts;
pub mod results;
pub mod route;
pub mod run;
pub mod score;
pub mod search;
pub mod settings;
pub mod words;
pub mod worker;

#[cfg(target_arch = "wasm32")]
pub mod browser;
#[cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
pub mod lab;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub mod ui;
