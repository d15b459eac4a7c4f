//! How long a server asks to wait.
