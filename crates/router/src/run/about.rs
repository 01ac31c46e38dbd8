//! What a run with real hosts tells of itself: on what it was, with what settings, how late it was, and what kernels have counted.

use ecnlab_units::Span;
use serde_json::{Map, Value as Json, json};

use super::RunOptions;
use crate::address::Family;
use crate::drive::{Counts, Pace};
use crate::hosts::{HostCounts, Hosts, KernelCounts};
use crate::lateness::Lateness;
use crate::mapping::HostSettings;
use crate::sys::settings;

/// Such a record.
#[derive(Clone, Debug)]
pub struct About {
    tier: &'static str,
    family: Family,
    pace: Pace,
    /// The kernel's release and its build, as it tells them itself.
    kernel: [String; 2],
    groups: Vec<(String, HostSettings)>,
    /// Whether the router was in the real-time class.
    pub is_real_time: bool,
    pub lateness_budget: Span,
    /// How late packets were given to their hosts.
    pub lateness: Lateness,
    pub counts: Counts,
    pub connections: HostCounts,
    /// Of each group what the kernels of the near and of the far host have counted.
    pub kernels: Vec<[KernelCounts; 2]>,
}

impl About {
    pub(super) fn of(options: &RunOptions, settings: &[HostSettings], names: &[String]) -> About {
        About {
            tier: options.kernel.tier,
            family: options.family,
            pace: options.pace,
            kernel: ["kernel.osrelease", "kernel.version"].map(|name| settings::get(name).unwrap_or_default()),
            groups: names.iter().cloned().zip(settings.iter().cloned()).collect(),
            is_real_time: false,
            lateness_budget: Span::ZERO,
            lateness: Lateness::default(),
            counts: Counts::default(),
            connections: HostCounts::default(),
            kernels: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, hosts: &Hosts, counts: Counts, lateness: Lateness) {
        self.lateness = lateness;
        (self.counts, self.connections, self.kernels) = (counts, hosts.counts(), hosts.kernels().to_vec());
    }

    /// The kernel's release.
    pub fn kernel(&self) -> &str {
        &self.kernel[0]
    }

    /// As it stands in results.
    pub fn json(&self) -> Json {
        let HostCounts { asked, opened, gave_up, broken, with_ecn, with_accurate_ecn } = self.connections;
        json!({
            "tier": self.tier,
            "kernel": self.kernel[0],
            "kernel_build": self.kernel[1],
            "family": if self.family == Family::V4 { "IPv4" } else { "IPv6" },
            "time": if self.pace == Pace::Real { "real" } else { "virtual" },
            "real_time_class": self.is_real_time,
            "lateness_s": self.lateness.json(),
            "lateness_budget_s": self.lateness_budget.seconds(),
            "device_drops": self.counts.overrun,
            "packets": self.counts.json(),
            "turns": self.counts.turns,
            "connections": {
                "asked": asked,
                "opened": opened,
                "gave_up": gave_up,
                "broken": broken,
                "with_ecn": with_ecn,
                "with_accurate_ecn": with_accurate_ecn,
            },
            "groups": self.groups.iter().zip(&self.kernels).map(|((name, host), kernels)| group(name, host, kernels)).collect::<Vec<_>>(),
        })
    }
}

fn group(name: &str, host: &HostSettings, kernels: &[KernelCounts; 2]) -> Json {
    let sysctls: Map<String, Json> = host.sysctls.iter().map(|set| (set.name.to_owned(), json!(set.value))).collect();
    let route = &host.route;
    json!({
        "name": name,
        "congestion_control": host.tcp.as_ref().map(|tcp| tcp.congestion),
        "tcp_ecn": host.ecn,
        "mtu": host.mtu,
        "route": {
            "initcwnd": route.initcwnd,
            "rto_min_s": route.rto_min.map(Span::seconds),
            "quickack": route.quickack,
        },
        "window_clamp": host.tcp.as_ref().and_then(|tcp| tcp.window_clamp),
        "nodelay": host.tcp.as_ref().map(|tcp| tcp.nodelay),
        "sysctls": sysctls,
        "opening_host": kernels[0].json(),
        "answering_host": kernels[1].json(),
    })
}
