//! The engine worker.

fn main() {}
