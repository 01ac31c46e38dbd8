//! One file per active queue management algorithm, and the words in which they speak.
//!
//! An AQM is asked at each arrival, and at each departure if it says so ([`Needs`]); it may have one deadline. It sees glimpses of packets
//! and the state of the queue, and answers with a wish. The discipline that holds the packets carries the wish out, so an AQM can neither
//! lose a packet nor overfill a buffer, and it does not know whether packets are simulated.

pub mod aecn;
pub mod amecn;
pub mod ared;
pub mod blue;
pub mod codel;
pub mod droptail;
pub mod dsred;
pub mod feng_red;
pub mod fred;
pub mod law;
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

use ecnlab_units::{Ecn, Level, Rate, Rng, Span, Time, words};

/// What an AQM may see of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glimpse {
    /// Size on the wire in bytes.
    pub size: u32,
    /// The ECN field as it is now.
    pub ecn: Ecn,
    /// Which flow it belongs to: packets of one flow have the same number, those of two flows differ.
    pub flow: u64,
    /// The round-trip time that the packet carries or the router measured; zero if unknown.
    pub rtt: Span,
}

/// How much waits, the packet in transmission not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
}

/// A packet that arrives, and the queue that it meets.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When it arrives.
    pub now: Time,
    /// The packet.
    pub packet: Glimpse,
    /// What waits before this arrival.
    pub backlog: Backlog,
    /// How long the next packet to leave has waited; zero if none waits.
    pub head_waited: Span,
    /// What waits in each group of this AQM, empty if it keeps none.
    pub groups: &'a [Backlog],
    /// Whether this packet would exceed the buffer.
    pub full: bool,
}

/// A packet that is about to leave, and the queue that it leaves behind.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When it would leave.
    pub now: Time,
    /// The packet.
    pub packet: Glimpse,
    /// How long it has waited.
    pub waited: Span,
    /// What waits behind it.
    pub backlog: Backlog,
    /// The same over all queues that share the buffer, where there are several.
    pub total: Backlog,
}

/// The queue when an AQM's deadline has come.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// The time of the deadline: a caller that is late passes the deadline all the same, and asks again until none is due.
    pub now: Time,
    /// What waits.
    pub backlog: Backlog,
    /// How long the next packet to leave has waited; zero if none waits.
    pub head_waited: Span,
}

/// What an AQM wants done about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Store it as it is.
    Pass,
    /// Write the level on the target. Where that is an arriving packet that is not ECN-capable, it is dropped instead; one that carries
    /// the level already, or whose network does not know it, is stored as it is and counts as unmarked.
    Signal {
        /// How loud.
        level: Level,
        /// Which packet carries it.
        target: Target,
        /// Why.
        cause: Cause,
    },
    /// Drop a packet.
    Drop {
        /// Which one.
        victim: Victim,
        /// Why.
        cause: Cause,
    },
}

/// What an AQM wants done about a packet that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Let it leave as it is.
    Pass,
    /// Write the level on it, or drop it if it is not ECN-capable.
    Signal {
        /// How loud.
        level: Level,
        /// Why.
        cause: Cause,
    },
    /// Drop it.
    Drop {
        /// Why.
        cause: Cause,
    },
}

/// The packet that a signal is written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The arriving packet.
    Arriving,
    /// The first waiting packet of the group that the mark would change, the arriving one last.
    FrontUnmarked(u8),
}

/// The packet that a drop takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The arriving packet.
    Arriving,
    /// The packet that waits longest.
    Front,
    /// The n-th waiting packet, the arriving one counted last and meant by every number beyond.
    Waiting(u32),
}

words! {
    /// Why a packet was marked or dropped.
    pub enum Cause {
        /// By the AQM's law, before the queue is beyond what it tolerates.
        Early = "early",
        /// Because the queue is beyond what the AQM tolerates.
        Forced = "forced",
        /// Because the buffer is full.
        Overflow = "overflow",
    }
}

/// What an AQM asks of the discipline that holds it; it is asked for once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// How many groups of packets are counted, each with a list of its packets that could still be marked.
    pub groups: usize,
    /// Whether [`Aqm::depart`] is to be asked.
    pub departures: bool,
}

/// An active queue management algorithm.
pub trait Aqm: Send {
    /// What it asks of the discipline.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The group of a packet, below [`Needs::groups`].
    fn group(&self, _packet: &Glimpse) -> u8 {
        0
    }

    /// Judges an arriving packet, before it is stored. At a full buffer every wish but a drop becomes a drop of the arriving packet.
    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish;

    /// Judges the packet that is about to leave. If it is dropped, the next one is judged at once.
    fn depart(&mut self, _departure: &Departure, _rng: &mut Rng) -> Fate {
        Fate::Pass
    }

    /// Told that a packet that was stored has been dropped by the discipline, because the buffer that several queues share is full.
    fn lost(&mut self, _packet: &Glimpse, _now: Time) {}

    /// A stored packet is moved to another buffer of the discipline, whose AQM gets [`Aqm::on_moved_in`]. Nothing is dropped.
    fn on_moved_out(&mut self, _packet: &Glimpse, _now: Time) {}

    /// A packet is moved into this buffer from another one of the discipline, where it was judged at its arrival. It waits from now on.
    fn on_moved_in(&mut self, _packet: &Glimpse, _now: Time) {}

    /// Told when the link finds nothing to send, once for each idle spell.
    fn idle(&mut self, _now: Time) {}

    /// When it wants to be woken next. Only [`Aqm::expire`] may change it.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// Its deadline has come. It sets a later one or none.
    fn expire(&mut self, _expiry: &Expiry, _rng: &mut Rng) {}

    /// The link has another rate from now on.
    fn retune(&mut self, _rate: Rate) {}

    /// Its own average queue length in packets, if it keeps one; every arrival is measured with it.
    fn average(&self) -> Option<f64> {
        None
    }

    /// Shows the values that its entry in the registry declares as gauges, by name.
    fn gauges(&self, _show: &mut dyn FnMut(&'static str, f64)) {}
}

impl Glimpse {
    /// A packet of 1000 bytes that is ECN-capable and of which nothing else is known: for tests and examples.
    pub const PLAIN: Glimpse = Glimpse { size: 1000, ecn: Ecn::Ect0, flow: 0, rtt: Span::ZERO };
}

impl Backlog {
    /// Nothing waits.
    pub const NONE: Backlog = Backlog { packets: 0, bytes: 0 };

    /// So many packets of 1000 bytes: for tests and examples.
    pub fn of(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 1000 }
    }
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

impl Arrival<'_> {
    /// A plain packet that arrives at an empty queue at time zero: for tests and examples, with what differs written over it.
    pub const PLAIN: Arrival<'static> =
        Arrival { now: Time::ZERO, packet: Glimpse::PLAIN, backlog: Backlog::NONE, head_waited: Span::ZERO, groups: &[], full: false };

    /// A signal to this packet: a mark where `ecn` is on and the packet can carry one, else its drop.
    pub fn signal(&self, ecn: bool, cause: Cause) -> Wish {
        if ecn && self.packet.ecn.is_capable() {
            Wish::Signal { level: Level::Congested, target: Target::Arriving, cause }
        } else {
            Wish::Drop { victim: Victim::Arriving, cause }
        }
    }
}

impl Departure {
    /// A plain packet that leaves an empty queue behind, without having waited, at time zero: for tests and examples.
    pub const PLAIN: Departure =
        Departure { now: Time::ZERO, packet: Glimpse::PLAIN, waited: Span::ZERO, backlog: Backlog::NONE, total: Backlog::NONE };
}
