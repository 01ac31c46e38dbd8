//! Passes the digest of the guest program's sources to the compiler: the package refuses a guest program of other sources.

use std::path::Path;

#[path = "../scenario/digest.rs"]
#[allow(dead_code, reason = "what the simulator's results depend on is asked elsewhere")]
mod digest;

fn main() -> std::io::Result<()> {
    for path in ["../uml_guest/src", "../uml_guest/Cargo.toml", "../../Cargo.lock", "../scenario/digest.rs", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rustc-env=ECNLAB_GUEST={}", digest::digest(Path::new(".."), &["uml_guest"])?);
    Ok(())
}
