//! Queueing disciplines: they store packets, count them, and apply the verdicts of their AQM.
//!
//! A queue emits a [`QueueEvent`] for each thing that it does to a packet, in order, to a closure of its owner. A dequeue returns a packet, a
//! time at which to retry, or that the queue is empty ([`DequeueOutcome`]).

pub mod cbq;
pub mod dual;
pub mod entry;
pub mod fifo;
pub mod flow_queues;
pub mod kernel_mirror;
pub mod token_bucket;

use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics, Rate, Rng, Span, Time};

pub use cbq::Cbq;
pub use dual::DualPi2;
pub use fifo::Fifo;
pub use flow_queues::FlowQueues;
pub use kernel_mirror::{KernelQdisc, KernelQueueMirror};
pub use token_bucket::TokenBucket;

use crate::aqm::{GaugeReport, PacketInfo, SignalCause};

/// A packet in a queue: a handle of the simulator, or a real buffer.
pub trait QueueItem {
    /// Size on the wire in bytes.
    fn size(&self) -> u32;
    /// The ECN field as it is now.
    fn ecn(&self) -> Ecn;
    /// Writes another ECN field into it.
    fn set_ecn(&mut self, ecn: Ecn);
    /// Number of its flow; the two directions of a connection are two flows. A number is not used for another flow as long as a queue may
    /// remember it, since fair queues and AQMs with flow state distinguish flows by this number alone.
    fn flow_key(&self) -> u64;
    /// The round-trip time known for this packet's flow; zero if unknown.
    fn rtt(&self) -> Span;

    /// Meaning of the codepoints of its ECN field.
    #[inline]
    fn ecn_semantics(&self) -> EcnSemantics {
        EcnSemantics::Classic
    }

    /// Whether a mark of this level would change the packet: it can carry the level, and carries a lower one or none.
    #[inline]
    fn can_be_marked(&self, level: CongestionLevel) -> bool {
        self.ecn_semantics().apply_mark(self.ecn(), level) != self.ecn()
    }

    /// Writes a mark that the packet [can carry](QueueItem::can_be_marked) into the ECN field.
    #[inline]
    fn mark(&mut self, level: CongestionLevel) {
        self.set_ecn(self.ecn_semantics().apply_mark(self.ecn(), level));
    }

    /// Information on it for an AQM.
    #[inline]
    fn info(&self) -> PacketInfo {
        PacketInfo { size: self.size(), ecn: self.ecn(), flow: self.flow_key(), rtt: self.rtt() }
    }
}

/// Action of a queue on a packet, emitted as it happens.
#[derive(Debug, PartialEq, Eq)]
pub enum QueueEvent<'a, F> {
    /// The arriving packet waits now.
    Stored(&'a F),
    /// A packet was marked; it is shown as it is now.
    Marked(&'a F, SignalCause),
    /// A packet is out of the queue and will not be sent.
    Dropped(F, SignalCause),
}

/// Outcome of a dequeue.
#[derive(Debug, PartialEq, Eq)]
pub enum DequeueOutcome<F> {
    /// A packet.
    Packet {
        /// The packet, which the queue no longer has.
        packet: F,
        /// Its sojourn time.
        sojourn: Span,
        /// Band of the queue that it was in.
        band: u8,
    },
    /// Packets wait, and none may leave before this time, which is in the future.
    RetryAt(Time),
    /// Nothing waits.
    Empty,
}

/// A queueing discipline: a store of packets before a link.
pub trait Discipline<F: QueueItem> {
    /// Enqueues an arriving packet: calls the AQM, then stores, marks or drops. A full buffer drops regardless of the verdict.
    fn enqueue(&mut self, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>));

    /// Dequeues the next packet to send.
    fn dequeue(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F>;

    /// Time at which its timer fires, if it is set. Only [`Discipline::on_timer`] changes it, so it need not be read after every packet.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Its timer fires. A caller that is late passes the timer's own time as `now`, and repeats until no timer is due.
    fn on_timer(&mut self, _now: Time, _rng: &mut Rng) {}

    /// The link's rate has changed.
    fn set_link_rate(&mut self, _rate: Rate) {}

    /// Packets waiting.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// Visits every waiting packet; those of one flow in the order in which they will leave.
    fn for_each_packet(&self, visit: &mut dyn FnMut(&F));

    /// Number of bands that packets are served in; the discipline's entry in the registry names them where there are several.
    fn band_count(&self) -> u8 {
        1
    }

    /// Packets waiting in a band; where packets move between bands, in the one that they are in now.
    fn band_len(&self, band: u8) -> usize {
        debug_assert_eq!((0, 1), (band, self.band_count()));
        self.len()
    }

    /// Counters of a band.
    fn band_counters(&self, band: u8) -> &QueueCounters;

    /// Counters of each band.
    fn counters_by_band(&self) -> Vec<QueueCounters> {
        (0..self.band_count()).map(|band| *self.band_counters(band)).collect()
    }

    /// Sum of the counters of all bands.
    fn total_counters(&self) -> QueueCounters {
        (0..self.band_count()).fold(QueueCounters::default(), |total, band| total.sum_with(self.band_counters(band)))
    }

    /// The AQM's own average queue length in packets, if there is one AQM and it keeps one.
    fn average_queue_length(&self) -> Option<f64> {
        None
    }

    /// Reports the gauges by name.
    fn report_gauges(&self, _report: GaugeReport) {}

    /// # Panics
    /// If a packet or a byte was lost or made: arrived = departed + dropped + waiting.
    fn assert_conservation(&self);
}

macro_rules! queues {
    ($($(#[$doc:meta])* $Variant:ident($Type:ident)),+ $(,)?) => {
        /// A queue: one of the disciplines.
        pub enum Queue<F> {
            $($(#[$doc])* $Variant($Type<F>)),+
        }

        /// Calls the discipline, whichever it is.
        macro_rules! each {
            ($queue:expr, $it:ident => $ask:expr) => {
                match $queue {
                    $(Queue::$Variant($it) => $ask),+
                }
            };
        }

        $(impl<F> From<$Type<F>> for Queue<F> {
            fn from(queue: $Type<F>) -> Queue<F> {
                Queue::$Variant(queue)
            }
        })+
    };
}

queues! {
    /// A low-latency and a classic queue with coupled signals.
    Dual(DualPi2),
    /// One buffer, first in, first out.
    Fifo(Fifo),
    /// Another queue, held to a rate by an average of its idle times.
    Cbq(Cbq),
    /// Another queue, shaped by tokens.
    TokenBucket(TokenBucket),
    /// A FIFO for each flow, in turns.
    FlowQueues(FlowQueues),
    /// Packets that wait in a kernel.
    KernelMirror(KernelQueueMirror),
}

/// Calls a FIFO inline, since nearly every queue is one, and any other discipline out of line: shapers contain queues, so these calls recurse.
macro_rules! fifo_or {
    ($queue:expr, $fifo:ident => $ask:expr, $otherwise:expr) => {
        if let Queue::Fifo($fifo) = $queue { $ask } else { $otherwise }
    };
}

impl<F: QueueItem> Queue<F> {
    #[inline(never)]
    fn enqueue_by_variant(&mut self, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        each!(self, queue => queue.enqueue(packet, now, rng, on_event));
    }

    #[inline(never)]
    fn dequeue_by_variant(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        each!(self, queue => queue.dequeue(now, rng, on_event))
    }

    #[inline(never)]
    fn len_by_variant(&self) -> usize {
        each!(self, queue => queue.len())
    }

    #[inline(never)]
    fn dispatch_average_queue_length(&self) -> Option<f64> {
        each!(self, queue => queue.average_queue_length())
    }
}

impl<F: QueueItem> Discipline<F> for Queue<F> {
    #[inline]
    fn enqueue(&mut self, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        fifo_or!(self, fifo => fifo.enqueue(packet, now, rng, on_event), self.enqueue_by_variant(packet, now, rng, on_event));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        fifo_or!(self, fifo => fifo.dequeue(now, rng, on_event), self.dequeue_by_variant(now, rng, on_event))
    }

    fn next_timer(&self) -> Option<Time> {
        each!(self, queue => queue.next_timer())
    }

    fn on_timer(&mut self, now: Time, rng: &mut Rng) {
        each!(self, queue => queue.on_timer(now, rng));
    }

    fn set_link_rate(&mut self, rate: Rate) {
        each!(self, queue => queue.set_link_rate(rate));
    }

    #[inline]
    fn len(&self) -> usize {
        fifo_or!(self, fifo => fifo.len(), self.len_by_variant())
    }

    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }

    fn for_each_packet(&self, visit: &mut dyn FnMut(&F)) {
        each!(self, queue => queue.for_each_packet(visit));
    }

    fn band_count(&self) -> u8 {
        each!(self, queue => queue.band_count())
    }

    fn band_len(&self, band: u8) -> usize {
        each!(self, queue => queue.band_len(band))
    }

    fn band_counters(&self, band: u8) -> &QueueCounters {
        each!(self, queue => queue.band_counters(band))
    }

    #[inline]
    fn average_queue_length(&self) -> Option<f64> {
        fifo_or!(self, fifo => fifo.average_queue_length(), self.dispatch_average_queue_length())
    }

    fn report_gauges(&self, report: GaugeReport) {
        each!(self, queue => queue.report_gauges(report));
    }

    fn assert_conservation(&self) {
        each!(self, queue => queue.assert_conservation());
    }
}

/// Counters of a queue, in packets and bytes; `arrived = departed + dropped + waiting` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Packets that came.
    pub arrived: PacketCounter,
    /// Packets that were dequeued to be sent.
    pub departed: PacketCounter,
    /// Packets that were dropped.
    pub dropped: CountsByCause<PacketCounter>,
    /// Marks written, in packets.
    pub marked: CountsByCause<u64>,
}

/// Counter of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounter {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Counts by signal cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountsByCause<T>([T; SignalCause::ALL.len()]);

impl PacketCounter {
    /// Counts one packet of this size.
    pub fn count_packet(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

impl std::ops::AddAssign for PacketCounter {
    fn add_assign(&mut self, other: PacketCounter) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl<T> CountsByCause<T> {
    /// The count of each cause.
    pub fn from_fn(count: impl Fn(SignalCause) -> T) -> CountsByCause<T> {
        CountsByCause(std::array::from_fn(|cause| count(SignalCause::ALL[cause])))
    }

    /// The counts, in the order of the causes.
    pub fn counts(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> std::ops::Index<SignalCause> for CountsByCause<T> {
    type Output = T;
    fn index(&self, cause: SignalCause) -> &T {
        &self.0[cause as usize]
    }
}

impl<T> std::ops::IndexMut<SignalCause> for CountsByCause<T> {
    fn index_mut(&mut self, cause: SignalCause) -> &mut T {
        &mut self.0[cause as usize]
    }
}

impl QueueCounters {
    /// Sum of these counters and others.
    pub fn sum_with(&self, other: &QueueCounters) -> QueueCounters {
        let mut sum = *self;
        sum.arrived += other.arrived;
        sum.departed += other.departed;
        for &cause in SignalCause::ALL {
            sum.dropped[cause] += other.dropped[cause];
            sum.marked[cause] += other.marked[cause];
        }
        sum
    }

    /// Packets dropped for any cause.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped.counts().map(|dropped| dropped.packets).sum()
    }

    /// Packets marked for any cause.
    pub fn marked_packets(&self) -> u64 {
        self.marked.counts().sum()
    }

    /// # Panics
    /// If this much cannot wait after these counts.
    pub fn assert_conservation(&self, packets: usize, bytes: u64) {
        let dropped_bytes: u64 = self.dropped.counts().map(|dropped| dropped.bytes).sum();
        let accounted = self.departed.packets + self.dropped_packets() + packets as u64;
        assert_eq!(self.arrived.packets, accounted, "packets arrived = departed + dropped + waiting");
        assert_eq!(self.arrived.bytes, self.departed.bytes + dropped_bytes + bytes, "bytes arrived = departed + dropped + waiting");
    }
}
