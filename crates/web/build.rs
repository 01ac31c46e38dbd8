//! A bound of the module's memory: a run that needs more ends with a trap instead of taking the browser's memory.

/// 1 GiB, in bytes. Recordings are bounded far below it.
const MAX_MEMORY_BYTES: u64 = 1 << 30;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32") {
        println!("cargo:rustc-link-arg-cdylib=--max-memory={MAX_MEMORY_BYTES}");
    }
}
