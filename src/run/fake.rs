//! A scripted [`super::Env`] for tests, here and in `tests/it`.
