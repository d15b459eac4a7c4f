//! Finding and reading JSON in what a model wrote.
