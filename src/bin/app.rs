//! The page.

#[cfg(target_arch = "wasm32")]
fn main() {
    iba_lab::ui::app::start();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This program is the web page: build it with ./dev build.");
}
