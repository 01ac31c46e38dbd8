//! What the kernel of this machine has on offer.

use crate::mapping::Kernel;
use crate::sys::settings;
use crate::sys::socket::{Set, Socket};

/// Congestion controls that a scenario may lead to.
const CONTROLS: &[&str] = &["reno", "cubic", "vegas", "dctcp", "abe"];

/// What the kernel gives to hosts on a tier of this name. It is asked for each congestion control, which loads it where the calling thread may
/// load modules; those that are there are there for hosts too where users may not choose them, since hosts are a root's.
///
/// Whether they can agree on Accurate ECN only a namespace of one's own tells, so the caller has to know it, or to let the run find out.
pub fn kernel(tier: &'static str, has_accurate_ecn: bool) -> Kernel {
    let there = settings::get("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let takes = |name: &str| Socket::stream(false).and_then(|socket| socket.set(Set::CongestionControl(name))).is_ok();
    let has = |name: &str| there.split(' ').any(|known| known == name) || takes(name);
    let controls = CONTROLS.iter().filter(|name| has(name)).map(|&name| name.to_owned()).collect();
    let is_boxed = tier == "boxed";
    Kernel { tier, controls, runs_python: !is_boxed, has_queues: is_boxed, has_accurate_ecn, ..Kernel::default() }
}
