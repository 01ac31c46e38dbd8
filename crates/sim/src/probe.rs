//! What may watch a run. A probe is a type parameter of the engine: what it does not implement costs nothing.

use ecnlab_queue::Cause;
use ecnlab_transport::{Ack, Segment, Window};
use ecnlab_units::Time;

/// Why a queue touched a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Marked(Cause),
    Dropped(Cause),
    /// By a script at the link's entry.
    ScriptMarked,
    ScriptDropped,
    /// Lost before the queue, at random or by its number.
    Lost,
    /// Dropped before the queue for its ECN bits.
    EcnRefused,
}

/// Told of what happens, in the order in which it happens.
pub trait Probe {
    fn sent(&mut self, _now: Time, _flow: u32, _segment: &Segment) {}
    fn received(&mut self, _now: Time, _flow: u32, _segment: &Segment) {}
    fn ack_sent(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    fn ack_received(&mut self, _now: Time, _flow: u32, _ack: &Ack) {}
    /// A data packet was marked or dropped at a link.
    fn touched(&mut self, _now: Time, _link: u32, _flow: u32, _segment: &Segment, _deed: Deed) {}
    /// An acknowledgement was dropped at a link.
    fn ack_dropped(&mut self, _now: Time, _link: u32, _flow: u32, _next: u64) {}
    fn window(&mut self, _now: Time, _flow: u32, _window: &Window) {}
    fn queue_sample(&mut self, _now: Time, _queue: u32, _packets: u32, _average: Option<f64>) {}
    /// `alpha` is DCTCP's, where there is one.
    fn window_sample(&mut self, _now: Time, _flow: u32, _window: &Window, _alpha: Option<f64>) {}
    /// A one-second bin of a group has ended.
    fn rates(&mut self, _start: Time, _group: u32, _bin: &Bin) {}
    /// A flow delivered nothing from one time to another, for longer than its threshold.
    fn lockout(&mut self, _flow: u32, _from: Time, _to: Time) {}
}

/// What a group did in a one-second bin: bytes and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    pub throughput: u64,
    pub goodput: u64,
    pub goodput_first: u64,
    pub marks: u64,
    pub drops: u64,
}

/// Codes of the causes that are not a queue's, after those of [`Cause`].
const LOST: u8 = 3;
const ECN_REFUSED: u8 = 4;

/// Watches nothing.
pub struct Off;

impl Probe for Off {}

/// Records columns.
#[derive(Default)]
pub struct Recorder {
    pub events: bool,
    pub queue: QueueSeries,
    pub window: WindowSeries,
    pub rates: RateSeries,
    pub deeds: DeedSeries,
    pub lockouts: LockoutSeries,
    /// The queue's index of each link, for `deeds`.
    pub queue_of_link: Vec<u32>,
}

#[derive(Default)]
pub struct QueueSeries {
    pub time_s: Vec<f64>,
    pub queue: Vec<u32>,
    pub length_packets: Vec<u32>,
    pub average_packets: Vec<f64>,
}

#[derive(Default)]
pub struct WindowSeries {
    pub time_s: Vec<f64>,
    pub flow: Vec<u32>,
    pub cwnd_packets: Vec<f64>,
    pub ssthresh_packets: Vec<f64>,
    pub alpha: Vec<f64>,
}

#[derive(Default)]
pub struct RateSeries {
    pub time_s: Vec<f64>,
    pub group: Vec<u32>,
    pub throughput_bps: Vec<f64>,
    pub goodput_bps: Vec<f64>,
    pub goodput_first_bps: Vec<f64>,
    pub marks: Vec<u64>,
    pub drops: Vec<u64>,
}

#[derive(Default)]
pub struct DeedSeries {
    pub time_s: Vec<f64>,
    pub queue: Vec<u32>,
    pub flow: Vec<u32>,
    /// 0 is a mark, 1 a drop.
    pub kind: Vec<u8>,
    pub cause: Vec<u8>,
}

#[derive(Default)]
pub struct LockoutSeries {
    pub flow: Vec<u32>,
    pub start_s: Vec<f64>,
    pub end_s: Vec<f64>,
}

impl Probe for Recorder {
    fn touched(&mut self, now: Time, link: u32, flow: u32, _segment: &Segment, deed: Deed) {
        let (kind, cause) = match deed {
            Deed::Marked(cause) => (0, cause as u8),
            Deed::Dropped(cause) => (1, cause as u8),
            Deed::Lost => (1, LOST),
            Deed::EcnRefused => (1, ECN_REFUSED),
            Deed::ScriptMarked | Deed::ScriptDropped => return,
        };
        let queue = self.queue_of_link.get(link as usize).copied().unwrap_or(u32::MAX);
        if !self.events || queue == u32::MAX {
            return;
        }
        self.deeds.time_s.push(now.seconds());
        self.deeds.queue.push(queue);
        self.deeds.flow.push(flow);
        self.deeds.kind.push(kind);
        self.deeds.cause.push(cause);
    }

    fn queue_sample(&mut self, now: Time, queue: u32, packets: u32, average: Option<f64>) {
        self.queue.time_s.push(now.seconds());
        self.queue.queue.push(queue);
        self.queue.length_packets.push(packets);
        self.queue.average_packets.push(average.unwrap_or(f64::NAN));
    }

    fn window_sample(&mut self, now: Time, flow: u32, window: &Window, alpha: Option<f64>) {
        self.window.time_s.push(now.seconds());
        self.window.flow.push(flow);
        self.window.cwnd_packets.push(window.cwnd);
        self.window.ssthresh_packets.push(window.ssthresh);
        self.window.alpha.push(alpha.unwrap_or(f64::NAN));
    }

    fn rates(&mut self, start: Time, group: u32, bin: &Bin) {
        self.rates.time_s.push(start.seconds());
        self.rates.group.push(group);
        self.rates.throughput_bps.push(bin.throughput as f64 * 8.0);
        self.rates.goodput_bps.push(bin.goodput as f64 * 8.0);
        self.rates.goodput_first_bps.push(bin.goodput_first as f64 * 8.0);
        self.rates.marks.push(bin.marks);
        self.rates.drops.push(bin.drops);
    }

    fn lockout(&mut self, flow: u32, from: Time, to: Time) {
        if self.events {
            self.lockouts.flow.push(flow);
            self.lockouts.start_s.push(from.seconds());
            self.lockouts.end_s.push(to.seconds());
        }
    }
}
