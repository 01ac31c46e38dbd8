//! What may watch a run. A probe is a type parameter of the simulation: what it does not implement costs nothing.

use ecnlab_queue::Cause;
use ecnlab_transport::{Ack, Endpoint, Segment, Window};
use ecnlab_units::{Span, Time};

use crate::arrivals::QueueDeed;
use crate::measures::Histogram;
use crate::network::{FlowSpec, LinkSpec};
use crate::packet::{Packet, PacketId};
use crate::record::RecordingFull;

/// A data packet was marked or dropped at a link.
#[derive(Clone, Copy, Debug)]
pub struct Touch<'a> {
    pub link: u32,
    /// The link's measured queue, if it has one.
    pub queue: Option<u32>,
    pub flow: u32,
    pub segment: &'a Segment,
    pub what: MarkOrDrop,
}

/// An acknowledgement was dropped at a link.
#[derive(Clone, Copy, Debug)]
pub struct AckDrop {
    pub link: u32,
    /// The link's measured queue, if it has one.
    pub queue: Option<u32>,
    pub flow: u32,
    /// The next segment that it expected.
    pub next: u64,
    pub what: MarkOrDrop,
}

/// An acknowledgement was marked at a link.
#[derive(Clone, Copy, Debug)]
pub struct AckMark {
    /// The link's measured queue, if it has one.
    pub queue: Option<u32>,
    pub flow: u32,
    pub what: MarkOrDrop,
}

/// A mark or a drop, and what it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkOrDrop {
    /// By the queue.
    Marked(Cause),
    Dropped(Cause),
    /// Marked before the queue, by an impairment.
    PathMarked,
    /// Lost before the queue, by an impairment.
    Lost,
    /// Dropped before the queue for its ECN bits.
    EcnRefused,
}

/// Which times a histogram counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimesOf {
    /// One-way delays of a group's packets.
    Delay { group: u32 },
    /// Sojourn times in a queue, or in one of its bands where it has several: the band's place among those of all queues.
    Sojourn { queue: u32, band: Option<u32> },
}

/// Where a packet comes from that is made.
#[derive(Clone, Copy)]
pub struct Made<'a> {
    /// Its flow's sender, whose plan says which data the packet's number stands for.
    pub endpoint: &'a Endpoint,
    /// The acknowledgement that it is, or that rides on it.
    pub ack: Option<&'a Ack>,
    /// The other direction of its connection, where acknowledgements ride on data.
    pub twin: Option<Twin<'a>>,
}

/// The other direction of a connection.
#[derive(Clone, Copy)]
pub struct Twin<'a> {
    pub flow: u32,
    pub endpoint: &'a Endpoint,
    /// The next segment that its sink expects.
    pub next: u64,
}

/// Told of what happens, in the order in which it happens.
pub trait Probe {
    /// Whether it wants the hooks of links and packets, those from [`Probe::link_added`] to [`Probe::arrived`]. They cost nothing where it does not.
    const LINKS: bool = false;
    /// Whether it wants [`Probe::queue_did`], of all that measured queues do.
    const QUEUES: bool = false;

    fn link_added(&mut self, _link: u32, _spec: &LinkSpec) {}
    fn flow_added(&mut self, _flow: u32, _spec: &FlowSpec) {}
    /// A packet comes into the network.
    fn made(&mut self, _now: Time, _id: PacketId, _packet: &Packet, _made: &Made) {}
    /// A link makes a copy of it.
    fn copied(&mut self, _copy: PacketId, _of: PacketId) {}
    /// It comes to a link, before anything that the link does to it.
    fn entered(&mut self, _now: Time, _link: u32, _id: PacketId, _packet: &Packet) {}
    /// Its transmission begins: now or, as a pipe knows ahead, later.
    fn began(&mut self, _now: Time, _begins: Time, _link: u32, _id: PacketId, _packet: &Packet) {}
    /// A link drops it.
    fn dropped(&mut self, _now: Time, _link: u32, _id: PacketId, _packet: &Packet) {}
    /// It reaches the far end of a link.
    fn arrived(&mut self, _now: Time, _link: u32, _id: PacketId, _packet: &Packet) {}

    /// A measured queue did something, or something was done to it.
    fn queue_did(&mut self, _now: Time, _queue: u32, _deed: QueueDeed) {}

    /// How often it wants [`Probe::queue_sample`], if at all.
    fn queue_interval(&self) -> Option<Span> {
        None
    }

    /// How often it wants [`Probe::window_sample`], if at all.
    fn window_interval(&self) -> Option<Span> {
        None
    }

    /// That it can store no more, so that there is no use in going on. Whoever runs the simulation in slices asks between two of them.
    fn full(&self) -> Option<RecordingFull> {
        None
    }

    fn sent(&mut self, _now: Time, _flow: u32, _segment: &Segment) {}
    fn received(&mut self, _now: Time, _flow: u32, _segment: &Segment) {}
    fn ack_sent(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    /// An acknowledgement rides on the data of the other direction that was told of last ([`Probe::sent`]).
    fn ack_rides(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    fn ack_received(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    fn touched(&mut self, _now: Time, _touch: &Touch) {}
    fn ack_dropped(&mut self, _now: Time, _drop: &AckDrop) {}
    fn ack_marked(&mut self, _now: Time, _mark: &AckMark) {}
    fn window(&mut self, _now: Time, _flow: u32, _window: &Window) {}
    /// An acknowledgement gave a sample of the round-trip time.
    fn round_trip(&mut self, _now: Time, _group: u32, _rtt: Span) {}
    fn queue_sample(&mut self, _now: Time, _queue: u32, _packets: u32, _average: Option<f64>) {}
    /// A band of a queue that has several, and its place among the bands of all queues; called after the queue's [`Probe::queue_sample`].
    fn band_sample(&mut self, _now: Time, _queue: u32, _band: u8, _place: u32) {}
    /// What a queue's discipline or AQM shows of itself, by name; told after its [`Probe::queue_sample`].
    fn gauge_sample(&mut self, _now: Time, _queue: u32, _gauge: &'static str, _value: f64) {}
    /// `alpha` is DCTCP's, where there is one.
    fn window_sample(&mut self, _now: Time, _flow: u32, _window: &Window, _alpha: Option<f64>) {}
    /// The measured interval begins.
    fn measuring_begins(&mut self, _now: Time) {}
    /// A one-second bin of a group has ended.
    fn rates(&mut self, _now: Time, _group: u32, _bin: &Bin) {}
    /// Something that a user of a group's flow waited for since it began has ended: `bytes` of application data.
    fn transfer(&mut self, _now: Time, _group: u32, _began: Time, _bytes: u64) {}
    /// A flow delivered nothing from one time to another, for longer than its threshold.
    fn lockout(&mut self, _flow: u32, _from: Time, _to: Time) {}
    /// How times were distributed over the measured interval; told when the run ends.
    fn distribution(&mut self, _of: TimesOf, _times: &Histogram<8>) {}
}

/// What a group did in a one-second bin: bytes and packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    pub start: Time,
    pub throughput: u64,
    pub goodput: u64,
    pub goodput_first: u64,
    pub marks: u64,
    pub drops: u64,
}

impl Bin {
    /// A bin in which nothing has happened yet.
    pub fn at(start: Time) -> Bin {
        Bin { start, throughput: 0, goodput: 0, goodput_first: 0, marks: 0, drops: 0 }
    }
}

/// Watches nothing.
pub struct Off;

impl Probe for Off {}
