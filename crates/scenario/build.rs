//! Passes the digest of the engine's sources to the compiler; it is part of every result's key.
//!
//! All paths are relative to the crate's folder, so that a moved or copied checkout reads its own sources.

use std::path::Path;

mod digest;

fn main() -> std::io::Result<()> {
    let crates = Path::new("..");
    for name in digest::CRATES {
        println!("cargo:rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo:rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    println!("cargo:rerun-if-changed={}", crates.join("../Cargo.lock").display());
    println!("cargo:rerun-if-changed=digest.rs");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=ECNLAB_BUILD={}", digest::digest(crates, digest::CRATES)?);
    Ok(())
}
