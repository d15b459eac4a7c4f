//! The browser's edge: fetch, storage, files, clock, workers. Thin: decisions are made elsewhere.
