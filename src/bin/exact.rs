//! The engine worker with the general ONNX engine: float32, and any graph.

#[cfg(target_arch = "wasm32")]
fn main() {
    if let Err(error) = iba_lab::browser::worker_host::serve() {
        wasm_bindgen::throw_val(error);
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("exact is a browser program: build it for wasm32-unknown-unknown");
}
