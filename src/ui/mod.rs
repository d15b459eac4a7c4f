//! The pages. [`app`] frames them and owns what they share ([`state`], [`data`], [`runner`]); each
//! page shows and asks; [`parts`] know nothing of the application.

mod amend;
pub mod app;
pub mod batch_bar;
pub mod charts;
pub mod data;
pub mod desk;
pub mod files;
pub mod histories;
pub mod import;
pub mod keyboard;
pub mod keys;
pub mod late;
pub mod models;
pub mod pages;
pub mod parts;
pub mod runner;
mod sources;
pub mod state;
pub mod topbar;
