//! Counters of the router, in addition to those of the engine.

use ecnlab_wire::Malformed;
use serde_json::{Map, Value as Json, json};

/// Packets, from the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardingCounters {
    /// Sent by hosts.
    pub read_from_hosts: u64,
    /// Delivered to hosts.
    pub delivered: u64,
    /// Dropped because they belong to no flow.
    pub unclassified: u64,
    /// Dropped because of inconsistent headers, by [`Malformed`].
    pub malformed: [u64; Malformed::ALL.len()],
    /// Refused by a host's kernel.
    pub refused_by_host: u64,
    /// Dropped by a device because the router was late; known at the end.
    pub tun_tx_drops: u64,
    /// Iterations of the loop.
    pub iterations: u64,
}

impl ForwardingCounters {
    pub fn count_malformed(&mut self, malformed: Malformed) {
        self.malformed[malformed as usize] += 1;
    }

    /// The counters of packets for results; drops of devices have a separate key.
    pub fn json(&self) -> Json {
        let malformed: Map<String, Json> =
            Malformed::ALL.iter().zip(self.malformed).map(|(why, count)| (why.word().to_owned(), json!(count))).collect();
        json!({ "read": self.read_from_hosts, "written": self.delivered, "stray": self.unclassified, "refused": self.refused_by_host, "malformed": malformed })
    }
}
