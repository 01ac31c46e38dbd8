//! Active queue management algorithms, one file each, and the types that they share.
//!
//! An AQM has a hook for arrivals, one for departures if it requires that ([`AqmRequirements`]), and one timer. Its hooks get information on
//! the packet and the queue, and return a verdict. The discipline, which stores the packets, applies the verdict. So an AQM can neither lose a
//! packet nor overfill a buffer, and it does not know whether packets are simulated.

pub mod aecn;
pub mod amecn;
pub mod ared;
pub mod blue;
pub mod codel;
pub mod control;
pub mod drop_policy;
pub mod droptail;
pub mod dsred;
pub mod entry;
pub mod feng_red;
pub mod fred;
pub mod linux_red;
pub mod mark_front;
pub mod mecn;
pub mod pd_red;
pub mod pi;
pub mod pi2;
pub mod pie;
pub mod red;
pub mod rem;
pub mod sred;
pub mod step;

use ecnlab_units::{CongestionLevel, Ecn, Rate, Rng, Span, Time, words};

/// Information on a packet that an AQM gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInfo {
    /// Size on the wire in bytes.
    pub size: u32,
    /// The ECN field as it is now.
    pub ecn: Ecn,
    /// Number of its flow: equal for packets of one flow, different for those of two.
    pub flow: u64,
    /// The round-trip time that the packet carries or the router measured; zero if unknown.
    pub rtt: Span,
}

/// Packets and bytes that wait; the packet in transmission is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
}

/// Context of an arrival: the packet, and the queue before it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When it arrives.
    pub now: Time,
    /// The packet.
    pub packet: PacketInfo,
    /// Backlog before this arrival.
    pub backlog: Backlog,
    /// Sojourn time of the head packet so far; zero if none waits.
    pub head_sojourn: Span,
    /// Backlog of each group of this AQM; empty if it has no groups.
    pub groups: &'a [Backlog],
    /// Whether this packet would exceed the buffer.
    pub would_overflow: bool,
}

/// Context of a departure: the packet, and the queue behind it.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When it would leave.
    pub now: Time,
    /// The packet.
    pub packet: PacketInfo,
    /// Its sojourn time.
    pub sojourn: Span,
    /// Backlog behind it.
    pub backlog: Backlog,
    /// The same over all queues that share the buffer, where there are several.
    pub shared_backlog: Backlog,
}

/// Context of a timer: the queue when it fires.
#[derive(Clone, Copy, Debug)]
pub struct TimerContext {
    /// Time for which the timer was set. A caller that is late passes this time too, and repeats until no timer is due.
    pub now: Time,
    /// Backlog at this time.
    pub backlog: Backlog,
    /// Sojourn time of the head packet so far; zero if none waits.
    pub head_sojourn: Span,
}

/// Verdict on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueVerdict {
    /// Store it as it is.
    Pass,
    /// Write the level on the target. An arriving packet that is not ECN-capable is dropped instead. One that already has the level, or
    /// whose ECN semantics lack it, is stored unchanged and counts as unmarked.
    Signal {
        /// Congestion level of the mark.
        level: CongestionLevel,
        /// Packet that is marked.
        target: MarkTarget,
        /// Cause of the signal.
        cause: SignalCause,
    },
    /// Drop a packet.
    Drop {
        /// Packet that is dropped.
        target: DropTarget,
        /// Cause of the signal.
        cause: SignalCause,
    },
}

/// Gauge that is an AQM's own average queue length in packets.
pub const AVERAGE_GAUGE_NAME: &str = "average";

/// Verdict on a packet that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DequeueVerdict {
    /// Let it leave as it is.
    Pass,
    /// Write the level on it, or drop it if it is not ECN-capable.
    Signal {
        /// Congestion level of the mark.
        level: CongestionLevel,
        /// Cause of the signal.
        cause: SignalCause,
    },
    /// Drop it.
    Drop {
        /// Cause of the signal.
        cause: SignalCause,
    },
}

/// Packet that a mark is written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkTarget {
    /// The arriving packet.
    Arriving,
    /// The first waiting packet of the group that the mark would change, the arriving one last.
    FirstUnmarkedOf(u8),
}

/// Packet that a drop removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropTarget {
    /// The arriving packet.
    Arriving,
    /// The packet that waits longest.
    Front,
    /// The n-th waiting packet, the arriving one counted last and meant by every number beyond.
    QueuedAt(u32),
}

words! {
    /// Cause of a mark or a drop.
    pub enum SignalCause {
        /// By the AQM, while the queue is within what it tolerates.
        Early = "early",
        /// Because the queue is beyond what the AQM tolerates.
        Forced = "forced",
        /// Because the buffer is full.
        Overflow = "overflow",
    }
}

/// Requirements of an AQM on the discipline; read once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AqmRequirements {
    /// Number of packet groups; the discipline keeps the backlog of each, and a list of its packets that can still be marked.
    pub groups: usize,
    /// Whether [`Aqm::on_dequeue`] is called.
    pub dequeue_hook: bool,
}

/// Called with the name and the value of each gauge.
pub type GaugeReport<'r> = &'r mut dyn FnMut(&'static str, f64);

/// An active queue management algorithm.
pub trait Aqm: Send {
    /// Its requirements on the discipline.
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements::default()
    }

    /// The group of a packet, below [`AqmRequirements::groups`].
    fn packet_group_index(&self, _packet: &PacketInfo) -> u8 {
        0
    }

    /// A packet arrives and is not stored yet. At a full buffer every verdict except a drop becomes a drop of the arriving packet.
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict;

    /// A packet is about to leave. If the verdict drops it, the hook is called for the next one at once.
    fn on_dequeue(&mut self, _departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        DequeueVerdict::Pass
    }

    /// The discipline has dropped a stored packet, since the buffer that several queues share is full.
    fn on_overflow_drop(&mut self, _packet: &PacketInfo, _now: Time) {}

    /// A stored packet is moved to another buffer of the discipline, whose AQM gets [`Aqm::on_moved_in`]. Nothing is dropped.
    fn on_moved_out(&mut self, _packet: &PacketInfo, _now: Time) {}

    /// A packet is moved into this buffer from another one of the discipline, whose AQM gave the verdict at its arrival. It waits here from now on.
    fn on_moved_in(&mut self, _packet: &PacketInfo, _now: Time) {}

    /// The link finds nothing to send; called once for each idle period.
    fn on_queue_empty(&mut self, _now: Time) {}

    /// Time at which its timer fires, if it is set. Only [`Aqm::on_timer`] may change it.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Its timer fires. The hook sets it to a later time, or leaves it off.
    fn on_timer(&mut self, _expiry: &TimerContext, _rng: &mut Rng) {}

    /// The link's rate has changed.
    fn set_link_rate(&mut self, _rate: Rate) {}

    /// Whether every verdict concerns the arriving packet: no waiting packet is marked or dropped, and [`Aqm::on_dequeue`] lets each leave. Then
    /// the departure of a packet is known when it is stored, and the hooks for departures may be called late, with the time of each
    /// departure and in the order of all hooks.
    fn signals_arriving_packets_only(&self) -> bool {
        false
    }

    /// Its own average queue length in packets, if it keeps one; every arrival is measured with it.
    fn average_queue_length(&self) -> Option<f64> {
        None
    }

    /// Reports the values that its entry in the registry declares as gauges, by name. The gauge [`AVERAGE_GAUGE_NAME`] is
    /// [`Aqm::average_queue_length`].
    fn report_gauges(&self, _report: GaugeReport) {}
}

impl Backlog {
    /// No packets.
    pub const EMPTY: Backlog = Backlog { packets: 0, bytes: 0 };
}

impl std::ops::Add for Backlog {
    type Output = Backlog;
    fn add(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl std::ops::Sub for Backlog {
    type Output = Backlog;
    fn sub(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}

impl EnqueueVerdict {
    /// The strongest mark on the arriving packet.
    pub const fn mark_arriving(cause: SignalCause) -> EnqueueVerdict {
        EnqueueVerdict::Signal { level: CongestionLevel::Congested, target: MarkTarget::Arriving, cause }
    }

    /// The drop of the arriving packet.
    pub const fn drop_arriving(cause: SignalCause) -> EnqueueVerdict {
        EnqueueVerdict::Drop { target: DropTarget::Arriving, cause }
    }
}

impl Arrival<'_> {
    /// A signal to this packet: a mark where `ecn` is on and the packet can carry one, else its drop.
    pub fn mark_or_drop(&self, ecn: bool, cause: SignalCause) -> EnqueueVerdict {
        if ecn && self.packet.ecn.is_capable() { EnqueueVerdict::mark_arriving(cause) } else { EnqueueVerdict::drop_arriving(cause) }
    }
}

/// Inputs of the tests of AQMs, over which each test writes what differs.
#[cfg(test)]
mod test_inputs {
    use super::*;

    impl PacketInfo {
        /// A packet of 1000 bytes that is ECN-capable and of which nothing else is known.
        pub const EXAMPLE_ECT0: PacketInfo = PacketInfo { size: 1000, ecn: Ecn::Ect0, flow: 0, rtt: Span::ZERO };
    }

    impl Backlog {
        /// So many packets of 1000 bytes.
        pub fn of_1000_byte_packets(packets: u32) -> Backlog {
            Backlog { packets, bytes: u64::from(packets) * 1000 }
        }
    }

    impl Arrival<'_> {
        /// A plain packet that arrives at an empty queue at time zero.
        pub const PLAIN: Arrival<'static> = Arrival {
            now: Time::ZERO,
            packet: PacketInfo::EXAMPLE_ECT0,
            backlog: Backlog::EMPTY,
            head_sojourn: Span::ZERO,
            groups: &[],
            would_overflow: false,
        };
    }

    impl Departure {
        /// A plain packet that leaves an empty queue behind, without having waited, at time zero.
        pub const PLAIN: Departure = Departure {
            now: Time::ZERO,
            packet: PacketInfo::EXAMPLE_ECT0,
            sojourn: Span::ZERO,
            backlog: Backlog::EMPTY,
            shared_backlog: Backlog::EMPTY,
        };
    }
}
