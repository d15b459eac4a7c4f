//! Tables as CSV that spreadsheets open without running it.
