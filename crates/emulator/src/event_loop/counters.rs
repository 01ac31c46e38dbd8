//! What a router counts beside what the engine does.

use ecnlab_wire::Malformed;
use serde_json::{Map, Value as Json, json};

/// Packets, from the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardingCounters {
    /// That hosts have sent.
    pub read_from_hosts: u64,
    /// That hosts were given.
    pub delivered: u64,
    /// That belong to no flow, dropped.
    pub unclassified: u64,
    /// With headers that contradict themselves, dropped, by [`Malformed`].
    pub malformed: [u64; Malformed::ALL.len()],
    /// That a host's kernel would not take.
    pub refused_by_host: u64,
    /// That a device has dropped because the router came too late for them; known at the end.
    pub tun_tx_drops: u64,
    /// Iterations of the loop.
    pub iterations: u64,
}

impl ForwardingCounters {
    pub(super) fn count_malformed(&mut self, malformed: Malformed) {
        self.malformed[malformed as usize] += 1;
    }

    /// Those of packets, as they stand in results; what devices have dropped stands beside them.
    pub fn json(&self) -> Json {
        let malformed: Map<String, Json> =
            Malformed::ALL.iter().zip(self.malformed).map(|(why, count)| (why.name().to_owned(), json!(count))).collect();
        json!({ "read": self.read_from_hosts, "written": self.delivered, "stray": self.unclassified, "refused": self.refused_by_host, "malformed": malformed })
    }

    pub fn total_malformed(&self) -> u64 {
        self.malformed.iter().sum()
    }
}
