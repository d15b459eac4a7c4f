//! Means over requirements, instances and domains (paper, evaluation; `method.json`).
