//! Datasets: from a source folder ([`source`], checked by [`validate`]) to files that the site
//! loads ([`build`]), and back ([`open`]).
//!
//! Everything that looks random is drawn from a hash of the seed and the names of what it is for
//! ([`draw`]), so one source and one seed always give the same bytes, and adding an exchange moves
//! no other one further than it must.

pub mod build;
pub mod calendar;
pub mod casual;
pub mod clash;
pub mod describe;
pub mod draw;
pub mod embed;
pub mod graph;
pub mod history;
pub mod leak;
pub mod open;
pub mod pack;
pub mod source;
pub mod synth;
pub mod validate;
