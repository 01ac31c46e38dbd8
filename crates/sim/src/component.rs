//! Components: anything that has a deadline, such as a link's far end, a transmitter or a timer.
//!
//! The calendar queue returns the component of an expired deadline. Each kind numbers its components separately, so that another link or
//! flow, even one added during the run, renumbers nothing.

use std::ops::RangeInclusive;

/// A component's kind and its index among those of its kind, in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComponentId(u32);

/// Kind of a component. Its index is that of its queue, flow, application or link among those of the run.
///
/// Kinds are listed in tie-break order ([`deadlines`](crate::calendar_queue)): at one instant the measured interval begins and links change
/// first, and flows start before applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ComponentKind {
    /// Sampling, bins and the beginning of the measured interval.
    RunTimer,
    /// A scheduled change of a link.
    LinkChange,
    /// The timer of a measured queue's discipline or AQM.
    QueueTimer,
    /// Packets that an impairment of a link delays.
    DelayedPackets,
    /// A link's far end: the first packet on the wire arrives.
    Link,
    /// A measured queue's transmitter has finished a packet.
    Transmitter,
    /// A flow's start, later its sender's timer.
    FlowTimer,
    SinkTimer,
    /// An application's start, later its timer.
    App,
}

/// Bits of the index.
const INDEX_BITS: u32 = 28;

impl ComponentId {
    /// # Panics
    /// If the index does not fit, at 268 million of one kind.
    #[inline]
    pub const fn new(kind: ComponentKind, index: u32) -> ComponentId {
        assert!(index < 1 << INDEX_BITS, "at most 2^28 components of one kind");
        ComponentId((kind as u32) << INDEX_BITS | index)
    }

    #[inline(always)]
    pub fn kind(self) -> ComponentKind {
        match self.0 >> INDEX_BITS {
            0 => ComponentKind::RunTimer,
            1 => ComponentKind::LinkChange,
            2 => ComponentKind::QueueTimer,
            3 => ComponentKind::DelayedPackets,
            4 => ComponentKind::Link,
            5 => ComponentKind::Transmitter,
            6 => ComponentKind::FlowTimer,
            7 => ComponentKind::SinkTimer,
            _ => ComponentKind::App,
        }
    }

    /// Whether it is of this kind and its index in this range, in one comparison.
    #[inline(always)]
    pub const fn is_kind_with_index_in(self, kind: ComponentKind, indices: RangeInclusive<u32>) -> bool {
        let first = (kind as u32) << INDEX_BITS | *indices.start();
        self.0.wrapping_sub(first) <= *indices.end() - *indices.start()
    }

    #[inline(always)]
    pub fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    /// Kind and index as one number, for the fingerprint of a run.
    #[inline(always)]
    pub fn as_u32(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_keeps_its_kind_and_its_index() {
        for kind in [
            ComponentKind::RunTimer,
            ComponentKind::LinkChange,
            ComponentKind::QueueTimer,
            ComponentKind::DelayedPackets,
            ComponentKind::Link,
            ComponentKind::Transmitter,
            ComponentKind::FlowTimer,
            ComponentKind::SinkTimer,
            ComponentKind::App,
        ] {
            let component = ComponentId::new(kind, 1_000_000);
            assert_eq!((kind, 1_000_000), (component.kind(), component.index()));
        }
    }
}
