//! Choice of the packet that a drop removes: the arriving, the oldest or a random one.

use ecnlab_units::{Rng, words};

use super::{Arrival, DropTarget};

words! {
    /// Packet that a drop removes.
    pub enum DropPosition { Tail = "tail", Front = "front", Random = "random" }
}

impl DropPosition {
    /// The target of a drop as this packet arrives.
    pub(crate) fn drop_target(self, arrival: &Arrival, rng: &mut Rng) -> DropTarget {
        match self {
            DropPosition::Tail => DropTarget::Arriving,
            DropPosition::Front => DropTarget::Front,
            DropPosition::Random => DropTarget::QueuedAt(rng.below(u64::from(arrival.backlog.packets) + 1) as u32),
        }
    }
}
