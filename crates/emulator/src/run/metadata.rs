//! Metadata of a run with real hosts: kernel, settings, lateness, and counters of the kernels.

use ecnlab_units::Span;
use serde_json::{Map, Value as Json, json};

use crate::address::AddressFamily;
use crate::event_loop::{ForwardingCounters, TimeMode};
use crate::host_settings::HostSettings;
use crate::hosts::{ConnectionCounters, KernelCounters};
use crate::lateness::LatenessHistogram;

/// Metadata of a run.
#[derive(Clone, Debug)]
pub struct RunMetadata {
    pub backend: &'static str,
    pub family: AddressFamily,
    pub time_mode: TimeMode,
    /// Release and build of the kernel, as it reports them.
    pub kernel_release_and_build: [String; 2],
    pub groups: Vec<(String, HostSettings)>,
    /// Whether the router was in the real-time class.
    pub is_real_time: bool,
    pub lateness_budget: Span,
    /// Lateness of packets delivered to hosts.
    pub lateness: LatenessHistogram,
    pub counters: ForwardingCounters,
    pub connections: ConnectionCounters,
    /// Counters of the near and the far host's kernel, for each group.
    pub kernel_counters: Vec<[KernelCounters; 2]>,
    /// Packets of the near and the far host whose ECT(0) became ECT(1), for each group.
    pub rewritten_to_ect1: Vec<[u64; 2]>,
}

impl RunMetadata {
    /// The kernel's release.
    pub fn kernel_release(&self) -> &str {
        &self.kernel_release_and_build[0]
    }

    /// The metadata for results.
    pub fn json(&self) -> Json {
        let groups = self.groups.iter().zip(&self.kernel_counters).zip(&self.rewritten_to_ect1);
        let ConnectionCounters { asked, opened, gave_up, broken, with_ecn, with_accurate_ecn } = self.connections;
        json!({
            "backend": self.backend,
            "kernel": self.kernel_release_and_build[0],
            "kernel_build": self.kernel_release_and_build[1],
            "family": if self.family == AddressFamily::V4 { "IPv4" } else { "IPv6" },
            "time": if self.time_mode == TimeMode::Real { "real" } else { "virtual" },
            "real_time_class": self.is_real_time,
            "lateness_s": self.lateness.json(),
            "lateness_budget_s": self.lateness_budget.seconds(),
            "device_drops": self.counters.tun_tx_drops,
            "packets": self.counters.json(),
            "turns": self.counters.iterations,
            "connections": {
                "asked": asked,
                "opened": opened,
                "gave_up": gave_up,
                "broken": broken,
                "with_ecn": with_ecn,
                "with_accurate_ecn": with_accurate_ecn,
            },
            "groups": groups.map(|(((name, host), kernels), rewritten)| group_json(name, host, kernels, *rewritten)).collect::<Vec<_>>(),
        })
    }
}

fn group_json(name: &str, host: &HostSettings, kernels: &[KernelCounters; 2], rewritten: [u64; 2]) -> Json {
    let sysctls: Map<String, Json> = host.sysctls.iter().map(|set| (set.name.to_owned(), json!(set.value))).collect();
    let route = &host.route;
    json!({
        "name": name,
        "congestion_control": host.tcp.as_ref().map(|tcp| tcp.congestion.as_str()),
        "tcp_ecn": host.ecn,
        "mtu": host.mtu,
        "rewritten_to_ect1": host.rewrites_ect1.then(|| json!({ "opening_host": rewritten[0], "answering_host": rewritten[1] })),
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
