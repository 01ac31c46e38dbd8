//! What stores packets. A discipline holds the frames, keeps the counts and carries out what its AQM wishes.
//!
//! A queue *tells* what it does to packets, in the order in which it does it ([`Deed`]); whoever owns the queue passes a closure that hears
//! it. Asked for the next packet it answers with one, with a time at which to ask again, or that it is empty ([`Take`]).

pub mod cbq;
pub mod dual;
pub mod fifo;
pub mod flow_queues;
pub mod outside;
pub mod token_bucket;

use ecnlab_units::{Dialect, Ecn, Level, Rate, Rng, Span, Time};

pub use cbq::Cbq;
pub use dual::DualPi2;
pub use fifo::Fifo;
pub use flow_queues::FlowQueues;
pub use outside::{KernelQueue, Outside};
pub use token_bucket::TokenBucket;

use crate::aqm::{Cause, Glimpse};

/// A packet as a queue handles it: a handle of the simulator, or a real buffer.
pub trait Frame {
    /// Size on the wire in bytes.
    fn size(&self) -> u32;
    /// The ECN field as it is now.
    fn ecn(&self) -> Ecn;
    /// Writes another ECN field into it.
    fn set_ecn(&mut self, ecn: Ecn);
    /// Which flow it belongs to; the two directions of a connection are two flows. A number is not used again for another flow as long as
    /// a queue may remember it: fair queues and AQMs with a memory of flows tell flows by nothing else.
    fn flow(&self) -> u64;
    /// The round-trip time known for this packet's flow; zero if unknown.
    fn rtt(&self) -> Span;

    /// What the codepoints of its ECN field mean.
    #[inline]
    fn dialect(&self) -> Dialect {
        Dialect::Classic
    }

    /// Whether a mark of this level would change the packet: it can carry the level, and carries none as loud yet.
    #[inline]
    fn takes(&self, level: Level) -> bool {
        self.dialect().mark(self.ecn(), level) != self.ecn()
    }

    /// Writes a congestion signal that the packet [takes](Frame::takes) into the ECN field.
    #[inline]
    fn mark(&mut self, level: Level) {
        self.set_ecn(self.dialect().mark(self.ecn(), level));
    }

    /// What an AQM may see of it.
    #[inline]
    fn glimpse(&self) -> Glimpse {
        Glimpse { size: self.size(), ecn: self.ecn(), flow: self.flow(), rtt: self.rtt() }
    }
}

/// How much may wait; the packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

/// What a queue did to a packet, told as it happens.
#[derive(Debug, PartialEq, Eq)]
pub enum Deed<'a, F> {
    /// The arriving packet waits now.
    Stored(&'a F),
    /// A packet was marked; it is shown as it is now.
    Marked(&'a F, Cause),
    /// A packet is out of the queue and will not be sent.
    Dropped(F, Cause),
}

/// What a queue answers when it is asked for the next packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Take<F> {
    /// A packet.
    Packet {
        /// The packet, which the queue no longer has.
        frame: F,
        /// How long it waited.
        waited: Span,
        /// Which of the queue's bands it comes from.
        band: u8,
    },
    /// Packets wait, and none may leave before this time, which is later than that of the question.
    Later(Time),
    /// Nothing waits.
    Empty,
}

/// What stores packets before a link.
pub trait Discipline<F: Frame> {
    /// Takes an arriving packet: asks the AQM, then stores, marks or drops. A buffer is never overfilled, whatever the AQM wishes.
    fn offer(&mut self, frame: F, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>));

    /// The next packet to send.
    fn take(&mut self, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F>;

    /// When it wants to be woken next. Only [`Discipline::expire`] changes it, so nobody needs to ask after every packet.
    fn deadline(&self) -> Option<Time>;

    /// Its deadline has come. A caller that is late passes the deadline itself as `now`, and asks again until none is due.
    fn expire(&mut self, now: Time, rng: &mut Rng);

    /// The link has another rate from now on.
    fn retune(&mut self, rate: Rate);

    /// Packets waiting.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// Shows every waiting packet; those of one flow in the order in which they will leave.
    fn frames(&self, show: &mut dyn FnMut(&F));

    /// How many bands packets are served in; the discipline's entry in the registry names them where there are several.
    fn bands(&self) -> u8 {
        1
    }

    /// What a band has counted.
    fn counters(&self, band: u8) -> &Counters;

    /// What each band has counted.
    fn counters_by_band(&self) -> Vec<Counters> {
        (0..self.bands()).map(|band| *self.counters(band)).collect()
    }

    /// What all bands have counted.
    fn total(&self) -> Counters {
        (0..self.bands()).fold(Counters::default(), |total, band| total.plus(self.counters(band)))
    }

    /// The AQM's own average queue length in packets, if there is one AQM and it keeps one.
    fn average(&self) -> Option<f64>;

    /// Shows the gauges by name.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64));

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

        /// Asks whichever discipline it is.
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
    /// Packets that wait somewhere else.
    Outside(Outside),
}

/// Asks a FIFO in place, since nearly every queue is one, and any other discipline by a call: shapers hold queues, so these calls recurse.
macro_rules! fifo_or {
    ($queue:expr, $fifo:ident => $ask:expr, $otherwise:expr) => {
        if let Queue::Fifo($fifo) = $queue { $ask } else { $otherwise }
    };
}

impl<F: Frame> Queue<F> {
    #[inline(never)]
    fn offer_any(&mut self, frame: F, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        each!(self, queue => queue.offer(frame, now, rng, tell));
    }

    #[inline(never)]
    fn take_any(&mut self, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        each!(self, queue => queue.take(now, rng, tell))
    }

    #[inline(never)]
    fn len_any(&self) -> usize {
        each!(self, queue => queue.len())
    }

    #[inline(never)]
    fn average_any(&self) -> Option<f64> {
        each!(self, queue => queue.average())
    }
}

impl<F: Frame> Discipline<F> for Queue<F> {
    #[inline]
    fn offer(&mut self, frame: F, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        fifo_or!(self, fifo => fifo.offer(frame, now, rng, tell), self.offer_any(frame, now, rng, tell));
    }

    #[inline]
    fn take(&mut self, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        fifo_or!(self, fifo => fifo.take(now, rng, tell), self.take_any(now, rng, tell))
    }

    fn deadline(&self) -> Option<Time> {
        each!(self, queue => queue.deadline())
    }

    fn expire(&mut self, now: Time, rng: &mut Rng) {
        each!(self, queue => queue.expire(now, rng));
    }

    fn retune(&mut self, rate: Rate) {
        each!(self, queue => queue.retune(rate));
    }

    #[inline]
    fn len(&self) -> usize {
        fifo_or!(self, fifo => fifo.len(), self.len_any())
    }

    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }

    fn frames(&self, show: &mut dyn FnMut(&F)) {
        each!(self, queue => queue.frames(show));
    }

    fn bands(&self) -> u8 {
        each!(self, queue => queue.bands())
    }

    fn counters(&self, band: u8) -> &Counters {
        each!(self, queue => queue.counters(band))
    }

    #[inline]
    fn average(&self) -> Option<f64> {
        fifo_or!(self, fifo => fifo.average(), self.average_any())
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        each!(self, queue => queue.gauges(show));
    }

    fn assert_conservation(&self) {
        each!(self, queue => queue.assert_conservation());
    }
}

/// What a queue has seen, in packets and bytes; `arrived = departed + dropped + waiting` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came.
    pub arrived: Tally,
    /// Packets that were taken out to be sent.
    pub departed: Tally,
    /// Packets that were dropped.
    pub dropped: ByCause<Tally>,
    /// Marks written, in packets.
    pub marked: ByCause<u64>,
}

/// A count of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One count for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByCause<T>([T; Cause::ALL.len()]);

impl Tally {
    /// Counts one more, of this size.
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl<T> ByCause<T> {
    /// The count of each cause.
    pub fn of(count: impl Fn(Cause) -> T) -> ByCause<T> {
        ByCause(std::array::from_fn(|cause| count(Cause::ALL[cause])))
    }

    /// The counts, in the order of the causes.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> std::ops::Index<Cause> for ByCause<T> {
    type Output = T;
    fn index(&self, cause: Cause) -> &T {
        &self.0[cause as usize]
    }
}

impl<T> std::ops::IndexMut<Cause> for ByCause<T> {
    fn index_mut(&mut self, cause: Cause) -> &mut T {
        &mut self.0[cause as usize]
    }
}

impl Counters {
    /// The sum of these counts and others.
    pub fn plus(&self, other: &Counters) -> Counters {
        let mut sum = *self;
        sum.arrived += other.arrived;
        sum.departed += other.departed;
        for &cause in Cause::ALL {
            sum.dropped[cause] += other.dropped[cause];
            sum.marked[cause] += other.marked[cause];
        }
        sum
    }

    /// Packets dropped for any cause.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped.iter().map(|dropped| dropped.packets).sum()
    }

    /// Packets marked for any cause.
    pub fn marked_packets(&self) -> u64 {
        self.marked.iter().sum()
    }

    /// # Panics
    /// If this much cannot wait after these counts.
    pub fn assert_conservation(&self, packets: usize, bytes: u64) {
        let dropped_bytes: u64 = self.dropped.iter().map(|dropped| dropped.bytes).sum();
        let accounted = self.departed.packets + self.dropped_packets() + packets as u64;
        assert_eq!(self.arrived.packets, accounted, "packets arrived = departed + dropped + waiting");
        assert_eq!(self.arrived.bytes, self.departed.bytes + dropped_bytes + bytes, "bytes arrived = departed + dropped + waiting");
    }
}
