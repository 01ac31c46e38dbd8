//! Results in front of real hosts are keyed by the sources of this crate.

use std::path::Path;

#[path = "../../scenario/digest.rs"]
#[allow(dead_code, reason = "what the simulator's results depend on is asked elsewhere")]
mod digest;

#[test]
fn what_is_compiled_in_is_the_digest_of_these_sources() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert_eq!(ecnlab_emulator::SOURCE_DIGEST, digest::digest(&crates, &["emulator", "wire"]).unwrap());
}
