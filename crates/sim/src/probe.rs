//! Observers of a run. A probe is a type parameter of the simulation: hooks that it does not implement have no cost.

use std::fmt;

use ecnlab_queue::SignalCause;
use ecnlab_transport::{Ack, CongestionWindow, Segment, SenderEndpoint};
use ecnlab_units::{Span, Time};

use crate::measures::Histogram;
use crate::network::{FlowSpec, LinkSpec};
use crate::packet::{Packet, PacketId};
use crate::queue_log::MeasuredQueueEvent;

/// A recording that has reached its size limit.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingLimitReached {
    /// Time at which it was reached.
    pub at: Time,
    pub duration: Time,
    pub max_bytes: u64,
    /// The table with the most bytes.
    pub table: &'static str,
}

impl fmt::Display for RecordingLimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: f64| bytes / (1u64 << 30) as f64;
        let bound = self.max_bytes as f64;
        let (at, duration) = (self.at.seconds(), self.duration.seconds());
        write!(
            f,
            "the recording has reached its bound of {:.1} GiB at {at:.3} s, and the whole run of {duration} s would take about {:.1} GiB, most of \
             it for {}: record less ([record] with a longer interval, or without it), or shorten the duration",
            gib(bound),
            gib(bound * duration / at),
            self.table,
        )
    }
}

impl std::error::Error for RecordingLimitReached {}

/// A mark or drop of a data packet at a link.
#[derive(Clone, Copy, Debug)]
pub struct SignalEvent<'a> {
    pub link: u32,
    /// The link's measured queue, if it has one.
    pub queue: Option<u32>,
    pub flow: u32,
    pub segment: &'a Segment,
    pub signal: MarkOrDropWithCause,
}

/// Drop of an ACK at a link.
#[derive(Clone, Copy, Debug)]
pub struct AckDrop {
    pub link: u32,
    /// The link's measured queue, if it has one.
    pub queue: Option<u32>,
    pub flow: u32,
    /// The next segment that the ACK expected.
    pub ack_seq: u64,
    pub signal: MarkOrDropWithCause,
}

/// Mark of an ACK at a link.
#[derive(Clone, Copy, Debug)]
pub struct AckMark {
    /// The link's measured queue, if it has one.
    pub queue: Option<u32>,
    pub flow: u32,
    pub signal: MarkOrDropWithCause,
}

/// A mark or a drop, and its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkOrDropWithCause {
    /// Marked by the queue.
    Marked(SignalCause),
    Dropped(SignalCause),
    /// Marked before the queue, by an impairment.
    PathMarked,
    /// Lost before the queue, by an impairment.
    Lost,
    /// Dropped before the queue for its ECN bits.
    DroppedForEcn,
}

/// Quantity of a histogram of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayOrSojourn {
    /// One-way delays of a group's packets.
    Delay { group: u32 },
    /// Sojourn times in a queue, or in one of its several bands, by its index among the bands of all queues.
    Sojourn { queue: u32, band: Option<u32> },
}

/// Context of a packet's creation.
#[derive(Clone, Copy)]
pub struct PacketCreationContext<'a> {
    /// Its flow's sender, whose send buffer maps the packet's number to data.
    pub endpoint: &'a SenderEndpoint,
    /// The ACK that the packet is or carries.
    pub ack: Option<&'a Ack>,
    /// The other direction of its connection if ACKs are piggybacked on data.
    pub reverse_flow: Option<ReverseFlow<'a>>,
}

/// The other direction of a connection.
#[derive(Clone, Copy)]
pub struct ReverseFlow<'a> {
    pub flow: u32,
    pub endpoint: &'a SenderEndpoint,
    /// The next segment that its sink expects.
    pub rcv_next: u64,
}

/// Observer of a run, called in the order of events.
pub trait Probe {
    /// Whether the hooks of links and packets are called, those from [`Probe::on_link_added`] to [`Probe::on_link_exit`]. They have no cost
    /// if not.
    const OBSERVES_PACKETS: bool = false;

    fn on_link_added(&mut self, _link: u32, _spec: &LinkSpec) {}
    fn on_flow_added(&mut self, _flow: u32, _spec: &FlowSpec) {}
    /// A packet enters the network.
    fn on_packet_created(&mut self, _now: Time, _id: PacketId, _packet: &Packet, _context: &PacketCreationContext) {}
    /// A link creates a copy of a packet.
    fn on_packet_duplicated(&mut self, _copy: PacketId, _of: PacketId) {}
    /// A packet enters a link, before its impairments and buffer.
    fn on_link_entry(&mut self, _now: Time, _link: u32, _id: PacketId, _packet: &Packet) {}
    /// The transmission of a packet begins: now or, in a pipe, which computes it in advance, later.
    fn on_transmission_start(&mut self, _now: Time, _begins: Time, _link: u32, _id: PacketId, _packet: &Packet) {}
    /// A link drops a packet.
    fn on_packet_drop(&mut self, _now: Time, _link: u32, _id: PacketId, _packet: &Packet) {}
    /// A packet reaches the far end of a link.
    fn on_link_exit(&mut self, _now: Time, _link: u32, _id: PacketId, _packet: &Packet) {}

    /// Whether it must be called in the order of events. If not, the fast path may call it earlier for flows and later for queues, each flow
    /// and each queue in order and with the times of the events. Then only windows and queues are sampled in order of time.
    fn needs_event_order(&self) -> bool {
        true
    }

    /// Whether [`Probe::on_queue_event`] is called.
    fn observes_queue_events(&self) -> bool {
        false
    }

    /// An event of a measured queue, departures included.
    fn on_queue_event(&mut self, _now: Time, _queue: u32, _event: MeasuredQueueEvent) {}

    /// A packet left a band of a measured queue after this sojourn time, to be sent.
    fn on_departure(&mut self, _queue: u32, _sojourn: Span, _band: u8) {}

    /// Interval of [`Probe::on_queue_sample`]; `None` for no samples.
    fn queue_sample_interval(&self) -> Option<Span> {
        None
    }

    /// Interval of [`Probe::on_window_sample`]; `None` for no samples.
    fn window_sample_interval(&self) -> Option<Span> {
        None
    }

    /// Length of the bins of [`Probe::on_rate_bin`], which no measure depends on; one second if `None`.
    fn rate_bin(&self) -> Option<Span> {
        None
    }

    /// The limit that it has reached, after which continuing the run is useless. The owner of the simulation checks it between two slices.
    fn recording_limit_reached(&self) -> Option<RecordingLimitReached> {
        None
    }

    fn on_segment_sent(&mut self, _now: Time, _flow: u32, _segment: &Segment) {}
    fn on_segment_received(&mut self, _now: Time, _flow: u32, _segment: &Segment) {}
    fn on_ack_sent(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    /// An ACK is piggybacked on the last segment of the other direction ([`Probe::on_segment_sent`]).
    fn on_ack_piggybacked(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    fn on_ack_received(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    fn on_data_mark_or_drop(&mut self, _now: Time, _signal: &SignalEvent) {}
    fn on_ack_drop(&mut self, _now: Time, _drop: &AckDrop) {}
    fn on_ack_mark(&mut self, _now: Time, _mark: &AckMark) {}
    fn on_window_update(&mut self, _now: Time, _flow: u32, _window: &CongestionWindow) {}
    /// An ACK gave an RTT sample.
    fn on_rtt_sample(&mut self, _now: Time, _group: u32, _rtt: Span) {}
    fn on_queue_sample(&mut self, _now: Time, _queue: u32, _packets: u32, _average: Option<f64>) {}
    /// A band of a queue with several bands, its index among the bands of all queues, and the packets that wait in it; called after the
    /// queue's [`Probe::on_queue_sample`].
    fn on_band_sample(&mut self, _now: Time, _queue: u32, _band: u8, _place: u32, _packets: u32) {}
    /// A gauge of a queue's discipline or AQM, by name; called after its [`Probe::on_queue_sample`].
    fn on_gauge_sample(&mut self, _now: Time, _queue: u32, _gauge: &'static str, _value: f64) {}
    /// `alpha` is DCTCP's marked fraction, if the sender has one.
    fn on_window_sample(&mut self, _now: Time, _flow: u32, _window: &CongestionWindow, _alpha: Option<f64>) {}
    /// The measured interval begins.
    fn on_measurement_start(&mut self, _now: Time) {}
    /// A bin of a group has ended.
    fn on_rate_bin(&mut self, _now: Time, _group: u32, _bin: &GroupRateBin) {}
    /// The end of a transfer of `bytes` of application data that a user of a group's flow has waited for since `began`.
    fn on_transfer_end(&mut self, _now: Time, _group: u32, _began: Time, _bytes: u64) {}
    /// A flow delivered nothing in this interval, which exceeds its lockout threshold.
    fn on_lockout(&mut self, _flow: u32, _from: Time, _to: Time) {}
    /// Distribution of times over the measured interval; called at the end of the run.
    fn on_distribution(&mut self, _of: DelayOrSojourn, _times: &Histogram<8>) {}
}

/// Bytes and packets of a group in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRateBin {
    pub start: Time,
    /// Bytes that reached the sink: all, new in order, and on first transmissions.
    pub bytes: [u64; 3],
    pub marks: u64,
    pub drops: u64,
}

impl GroupRateBin {
    /// An empty bin.
    pub fn starting_at(start: Time) -> GroupRateBin {
        GroupRateBin { start, bytes: [0; 3], marks: 0, drops: 0 }
    }
}

/// A probe that observes nothing.
pub struct NoProbe;

impl Probe for NoProbe {
    fn needs_event_order(&self) -> bool {
        false
    }
}
