//! What the kernel of this machine has on offer.

use crate::mapping::KernelFeatures;
use crate::sys::socket::{Socket, SocketOption};
use crate::sys::sysctl;

/// Congestion controls that a scenario may lead to.
const CONGESTION_CONTROLS: &[&str] = &["reno", "cubic", "vegas", "dctcp", "abe"];

/// What the kernel gives to hosts on a backend of this name. It is asked for each congestion control, which loads it where the calling thread may
/// load modules; those that are there are there for hosts too where users may not choose them, since hosts are a root's.
///
/// Whether they can agree on Accurate ECN only a namespace of one's own tells, so the caller has to know it, or to let the run find out.
pub fn probe_kernel(backend: &'static str, has_accurate_ecn: bool) -> KernelFeatures {
    let available = sysctl::get("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let can_set = |name: &str| Socket::stream(false).and_then(|socket| socket.set(SocketOption::CongestionControl(name))).is_ok();
    let is_available = |name: &str| available.split(' ').any(|known| known == name) || can_set(name);
    let controls = CONGESTION_CONTROLS.iter().filter(|name| is_available(name)).map(|&name| name.to_owned()).collect();
    let is_uml = backend == "uml";
    KernelFeatures { backend, controls, runs_python: !is_uml, has_queues: is_uml, has_accurate_ecn, ..KernelFeatures::default() }
}
