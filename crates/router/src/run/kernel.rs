//! What the kernel of this machine has on offer.

use crate::mapping::Kernel;
use crate::sys::socket::{Set, Socket};

/// Congestion controls that a scenario may lead to.
const CONTROLS: &[&str] = &["reno", "cubic", "vegas", "dctcp", "abe"];

/// What the kernel gives to the calling thread, on a tier of this name. It is asked for each congestion control, which loads it where the
/// thread may load modules.
pub fn kernel(tier: &'static str) -> Kernel {
    let has = |name: &str| Socket::stream(false).and_then(|socket| socket.set(Set::CongestionControl(name))).is_ok();
    let controls = CONTROLS.iter().filter(|name| has(name)).map(|&name| name.to_owned()).collect();
    let is_boxed = tier == "boxed";
    Kernel { tier, controls, runs_python: !is_boxed, has_queues: is_boxed, ..Kernel::default() }
}
