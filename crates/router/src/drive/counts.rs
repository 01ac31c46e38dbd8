//! What a router counts beside what the engine does.

use serde_json::{Map, Value as Json, json};

use crate::packet::Malformed;

/// Packets, from the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// That hosts have sent.
    pub read: u64,
    /// That hosts were given.
    pub written: u64,
    /// That belong to no flow, dropped.
    pub stray: u64,
    /// With headers that contradict themselves, dropped, by [`Malformed`].
    pub malformed: [u64; Malformed::ALL.len()],
    /// That a host's kernel would not take.
    pub refused: u64,
    /// That a device has dropped because the router came too late for them; known at the end.
    pub overrun: u64,
    /// Turns of the loop.
    pub turns: u64,
}

impl Counts {
    pub(super) fn count(&mut self, malformed: Malformed) {
        self.malformed[malformed as usize] += 1;
    }

    /// Those of packets, as they stand in results; what devices have dropped stands beside them.
    pub fn json(&self) -> Json {
        let malformed: Map<String, Json> =
            Malformed::ALL.iter().zip(self.malformed).map(|(why, count)| (why.name().to_owned(), json!(count))).collect();
        json!({ "read": self.read, "written": self.written, "stray": self.stray, "refused": self.refused, "malformed": malformed })
    }

    pub fn all_malformed(&self) -> u64 {
        self.malformed.iter().sum()
    }
}
