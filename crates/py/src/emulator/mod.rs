//! Backends with kernel hosts, and shells. They need Linux; elsewhere `no_emulator.rs` replaces this module.

pub mod live;
pub mod shell;

use ecnlab_emulator::address::AddressFamily;
use ecnlab_emulator::mapping::{self, KernelFeatures};
use ecnlab_emulator::run;
use ecnlab_scenario::{Problem, Scenario};

/// Digest of the sources on which results with kernel hosts depend.
pub const EMULATOR_SOURCES_DIGEST: Option<&str> = Some(ecnlab_emulator::SOURCE_DIGEST);
/// Digest of the sources of the guest program.
pub const GUEST_SOURCES_DIGEST: Option<&str> = Some(env!("ECNLAB_GUEST"));

/// Parts of a scenario that a backend with kernel hosts or a shell does not support; None for an unknown backend.
pub fn refusals(scenario: &Scenario, backend: &str, controls: Option<Vec<String>>, ip: u32, accurate_ecn: bool) -> Option<Vec<Problem>> {
    let kernel = match backend {
        "shell" => return Some(mapping::shell_problems(scenario)),
        "live" => run::probe_kernel("live", accurate_ecn),
        "uml" => KernelFeatures {
            backend: "uml",
            controls: controls.unwrap_or_default(),
            has_queues: true,
            has_accurate_ecn: accurate_ecn,
            ..KernelFeatures::default()
        },
        _ => return None,
    };
    let kernel = KernelFeatures { family: AddressFamily::from_ip_version_or_v4(ip), ..kernel };
    Some(mapping::map_to_host_settings(scenario, &kernel).err().unwrap_or_default())
}
