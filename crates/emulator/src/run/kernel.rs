//! Features of this machine's kernel.

use crate::mapping::KernelFeatures;
use crate::sys::socket::{Socket, SocketOption};
use crate::sys::sysctl;

/// Congestion controls of Linux that are often modules, and Prague.
const MODULE_CONTROLS: &[&str] = &[
    "cubic",
    "vegas",
    "dctcp",
    "abe",
    "bbr",
    "prague",
    "bic",
    "cdg",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "veno",
    "westwood",
    "yeah",
];

/// Features of the kernel for hosts on a backend of this name: its available congestion controls. On this machine those that are often
/// modules are requested too, which loads a module if the thread may load modules. Hosts belong to root, so they may use loaded ones that
/// users may not select.
///
/// Only a separate namespace shows whether hosts can agree on Accurate ECN. The caller must know it, or the run determines it.
pub fn probe_kernel(backend: &'static str, has_accurate_ecn: bool) -> KernelFeatures {
    let available = sysctl::get("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let is_uml = backend == "uml";
    let mut controls: Vec<String> = available.split_ascii_whitespace().map(str::to_owned).collect();
    let can_set = |name: &str| Socket::stream(false).and_then(|socket| socket.set(SocketOption::CongestionControl(name))).is_ok();
    for name in MODULE_CONTROLS.iter().filter(|_| !is_uml) {
        if !controls.iter().any(|known| known == name) && can_set(name) {
            controls.push((*name).to_owned());
        }
    }
    KernelFeatures { backend, controls, runs_python: !is_uml, has_queues: is_uml, has_accurate_ecn, ..KernelFeatures::default() }
}
