//! Views and their addresses: everything after `#`, so that any static host under any subpath works.
