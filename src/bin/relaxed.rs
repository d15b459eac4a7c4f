//! The engine worker for browsers with relaxed SIMD.

#[cfg(target_arch = "wasm32")]
fn main() {
    if let Err(error) = iba_lab::browser::worker_host::serve() {
        wasm_bindgen::throw_val(error);
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("relaxed is a browser program: build it for wasm32-unknown-unknown");
}
