//! The library's own functions come before those of the process that loads it: `calls` depends on that.
//!
//! The digest of these sources is passed to the compiler, as for the package, which compares both.

use std::path::Path;

#[path = "../scenario/digest.rs"]
#[allow(dead_code, reason = "what the simulator's results depend on is asked elsewhere")]
mod digest;

fn main() -> std::io::Result<()> {
    for path in ["src", "Cargo.toml", "../../Cargo.lock", "../scenario/digest.rs", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo:rustc-env=ECNLAB_GUEST={}", digest::digest(Path::new(".."), &["uml_guest"])?);
    Ok(())
}
