//! Prompt texts (`*.md` beside this file), one typed render function each, and a hash of each.
