//! Features of this machine's kernel.

use crate::mapping::KernelFeatures;
use crate::sys::socket::{Socket, SocketOption};
use crate::sys::sysctl;

/// Congestion controls that a scenario may select.
const CONGESTION_CONTROLS: &[&str] = &["reno", "cubic", "vegas", "dctcp", "abe"];

/// Features of the kernel for hosts on a backend of this name. Each congestion control is requested, which loads its module if the thread
/// may load modules. Hosts belong to root, so they may use loaded ones that users may not select.
///
/// Only a separate namespace shows whether hosts can agree on Accurate ECN. The caller must know it, or the run determines it.
pub fn probe_kernel(backend: &'static str, has_accurate_ecn: bool) -> KernelFeatures {
    let available = sysctl::get("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let can_set = |name: &str| Socket::stream(false).and_then(|socket| socket.set(SocketOption::CongestionControl(name))).is_ok();
    let is_available = |name: &str| available.split(' ').any(|known| known == name) || can_set(name);
    let controls = CONGESTION_CONTROLS.iter().filter(|name| is_available(name)).map(|&name| name.to_owned()).collect();
    let is_uml = backend == "uml";
    KernelFeatures { backend, controls, runs_python: !is_uml, has_queues: is_uml, has_accurate_ecn, ..KernelFeatures::default() }
}
