//! Passes the digest of the router's sources to the compiler: it is part of the key of every result in front of real hosts.

use std::path::Path;

#[path = "../scenario/digest.rs"]
#[allow(dead_code, reason = "what the simulator's results depend on is asked elsewhere")]
mod digest;

fn main() -> std::io::Result<()> {
    for path in ["src", "Cargo.toml", "../wire/src", "../wire/Cargo.toml", "../../Cargo.lock", "../scenario/digest.rs", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rustc-env=ECNLAB_EMULATOR={}", digest::digest(Path::new(".."), &["emulator", "wire"])?);
    Ok(())
}
