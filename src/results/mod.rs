//! Result files: Inspect `EvalLog` version 2, written and read. Needs no network.
