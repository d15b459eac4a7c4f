//! Where this page stands: its base address, its origin, whether the device is online.

use super::error::{BrowserError, tried};

/// The page's window; this code never runs in a worker.
pub(super) fn window() -> web_sys::Window {
    web_sys::window().expect("the page has a window")
}

/// The page's document.
pub(super) fn document() -> web_sys::Document {
    window().document().expect("a window shows a document")
}

/// An absolute address from one relative to the page, as `<base>` has it.
pub fn resolve(relative: &str) -> Result<String, BrowserError> {
    let base = document()
        .base_uri()
        .map_err(tried("reading the page's address"))?;
    join(&base.unwrap_or_default(), relative)
}

/// An absolute address from one relative to another.
pub fn join(base: &str, relative: &str) -> Result<String, BrowserError> {
    let url = web_sys::Url::new_with_base(relative, base);
    Ok(url
        .map_err(tried(format!("resolving the address “{relative}”")))?
        .href())
}

/// Scheme, host and port, for hints about a server's list of allowed origins.
pub fn origin() -> String {
    window().location().origin().unwrap_or_default()
}

/// Processor cores, at least one.
pub(super) fn cores() -> usize {
    (window().navigator().hardware_concurrency() as usize).max(1)
}

/// `false` only when the device surely has no network.
pub fn is_online() -> bool {
    window().navigator().on_line()
}
