//! Nearest vectors: an exact scan, which is the oracle, and HNSW. Sees vectors, never text.
