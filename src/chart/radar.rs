//! A radar: axes from a centre, one polygon for each series.
