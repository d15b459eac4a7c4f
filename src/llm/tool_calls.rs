//! Tool calls put together from their fragments.
