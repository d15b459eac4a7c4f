//! Has the linker keep its relocations in the page's program: `./dev split` needs them to cut the
//! program into parts that load when they are needed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name| std::env::var(name).unwrap_or_default();
    // Unoptimised builds (`cargo check`, lints) are never split.
    if var("CARGO_CFG_TARGET_ARCH") == "wasm32" && var("OPT_LEVEL") != "0" {
        println!("cargo::rustc-link-arg-bin=app=--emit-relocs");
    }
}
