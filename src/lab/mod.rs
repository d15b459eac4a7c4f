//! Commands of the native tool `lab`.
