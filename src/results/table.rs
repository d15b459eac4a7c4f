//! The domain table in the layout of the paper: one row for each system, model and judge.
