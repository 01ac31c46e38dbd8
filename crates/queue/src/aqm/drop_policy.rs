//! Choice of the packet that a drop removes: the arriving, the oldest or a random one.

use ecnlab_units::{Rng, words};

use super::{Arrival, DropTarget};

words! {
    /// Packet that a drop removes.
    pub enum DropPolicy { Tail = "tail", Front = "front", Random = "random" }
}

impl DropPolicy {
    /// The target of a drop as this packet arrives.
    pub(crate) fn drop_target(self, arrival: &Arrival, rng: &mut Rng) -> DropTarget {
        match self {
            DropPolicy::Tail => DropTarget::Arriving,
            DropPolicy::Front => DropTarget::Front,
            DropPolicy::Random => DropTarget::QueuedAt(rng.below(u64::from(arrival.backlog.packets) + 1) as u32),
        }
    }
}
